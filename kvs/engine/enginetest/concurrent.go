package enginetest

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"kvlab/kvs"
)

const (
	goroutines = 6
	sharedKeys = 20
	ownKeys    = 300 // of each goroutine, beside the shared ones
)

// describe returns a value that says of itself whose it is: one word of key,
// writer and version, as often as the version says.
func describe(key, writer, version int) string {
	word := uint64(key)<<48 | uint64(writer)<<32 | uint64(version)
	var b []byte
	for range 1 + version%23 {
		b = binary.BigEndian.AppendUint64(b, word)
	}
	return string(b)
}

// checkDescribed returns an error unless value is one that describe has made
// for key, whole and unmixed.
func checkDescribed(key int, value string) error {
	if len(value) < 8 {
		return fmt.Errorf("a value of %d bytes", len(value))
	}
	word := binary.BigEndian.Uint64([]byte(value))
	of, writer, version := int(word>>48), int(word>>32&0xffff), int(uint32(word))
	switch {
	case of != key:
		return fmt.Errorf("the value of key %d", of)
	case value != describe(key, writer, version):
		return fmt.Errorf("a torn value: %x", value)
	}
	return nil
}

func sharedKey(i int) string { return fmt.Sprintf("shared%d", i) }

// testConcurrent has goroutines write and read the same keys, in batches of
// all kinds, and each insert keys of its own in between: no value is torn or of
// another key, one's own keys read back as written, and Len is exact at the end.
func testConcurrent(t *testing.T, e kvs.Engine) {
	seeds := newRandom(t)
	var group sync.WaitGroup
	for id := range goroutines {
		random := rand.New(rand.NewPCG(seeds.Uint64(), 0))
		group.Go(func() {
			for version := range ownKeys {
				if !concurrentRound(t, e, random, id, version) {
					return
				}
			}
		})
	}
	group.Wait()
	want := goroutines * ownKeys
	for i := range sharedKeys {
		if got := apply(t, e, get(sharedKey(i)))[0]; got.found {
			want++
		}
	}
	if e.Len() != want {
		t.Errorf("Len %d, want %d", e.Len(), want)
	}
}

func concurrentRound(t *testing.T, e kvs.Engine, random *rand.Rand, id, version int) bool {
	own := fmt.Sprintf("own%d-%d", id, version)
	ops := []op{put(own, own), get(own)}
	keys := []int{-1, -1}
	for range random.IntN(60) {
		key := random.IntN(sharedKeys)
		o := op{kind: kvs.Kind(random.IntN(kvs.Kinds)), key: sharedKey(key)}
		if o.kind.Writes() {
			o.value = describe(key, id, version)
		}
		ops, keys = append(ops, o), append(keys, key)
	}
	got := apply(t, e, ops...)
	if got[1] != found(own) {
		t.Errorf("goroutine %d: its own key reads %v", id, got[1])
		return false
	}
	for i, key := range keys {
		if !got[i].found || key < 0 {
			continue
		}
		if err := checkDescribed(key, got[i].value); err != nil {
			t.Errorf("goroutine %d, version %d: %s of key %d: %v", id, version, ops[i].kind, key, err)
			return false
		}
	}
	return true
}

// testExchange has goroutines ReadModifyWrite one key with unique values. In a chain of
// atomic exchanges every value is read exactly once, except the last, which remains; the
// first exchange reads nothing.
func testExchange(t *testing.T, e kvs.Engine) {
	const exchanges = 500
	read := make([][]outcome, goroutines)
	var group sync.WaitGroup
	for id := range goroutines {
		group.Go(func() {
			for i := range exchanges {
				read[id] = append(read[id], apply(t, e, modify("k", fmt.Sprintf("%d-%d", id, i)))...)
			}
		})
	}
	group.Wait()
	times := map[outcome]int{apply(t, e, get("k"))[0]: 1}
	for _, outcomes := range read {
		for _, o := range outcomes {
			times[o]++
		}
	}
	if times[missing] != 1 {
		t.Errorf("%d exchanges found nothing, want the first alone", times[missing])
	}
	for id := range goroutines {
		for i := range exchanges {
			value := fmt.Sprintf("%d-%d", id, i)
			if n := times[found(value)]; n != 1 {
				t.Fatalf("the value %s was read %d times, want once", value, n)
			}
		}
	}
}
