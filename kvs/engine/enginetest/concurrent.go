package enginetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"kvlab/internal/kvstest"
	"kvlab/kvs"
	"kvlab/kvs/route"
	"kvlab/kvs/value"
	"kvlab/metrics"
)

const (
	goroutines = 6
	sharedKeys = 20
	ownKeys    = 300 // of each goroutine, beside the shared ones
)

// describe returns a value that names its key and its writer, of a length that depends on
// the version.
func describe(key string, writer, version int) string {
	b := make([]byte, value.HeaderLen+version%160)
	value.Fixed.Put(b, route.Hash([]byte(key)), metrics.MakeWriteID(writer, 0, uint32(version)))
	return string(b)
}

// checkDescribed returns an error unless v is a whole value that describe made for key.
func checkDescribed(key, v string) error {
	checker := value.Checker{Key: value.Fixed, Size: max(len(v), value.HeaderLen), Clients: goroutines, Workers: 1, Every: 1}
	_, err := checker.Check([]byte(v), route.Hash([]byte(key)))
	return err
}

func sharedKey(i int) string { return fmt.Sprintf("shared%d", i) }

// testConcurrent has goroutines write, read and delete the same keys, in batches of kinds,
// and insert separate keys and delete half of them: no value is torn or of another key, a
// goroutine's separate keys read back as written, and Len is exact at the end.
func testConcurrent(t *testing.T, kinds []kvs.Kind, e kvs.Engine) {
	seeds := kvstest.NewRandom(t)
	var group sync.WaitGroup
	for id := range goroutines {
		random := rand.New(rand.NewPCG(seeds.Uint64(), 0))
		group.Go(func() {
			for version := range ownKeys {
				if !concurrentRound(t, e, random, kinds, id, version) {
					return
				}
			}
		})
	}
	group.Wait()
	want := goroutines * ownKeys / 2
	for i := range sharedKeys {
		if got := apply(t, e, get(sharedKey(i)))[0]; got.found {
			want++
		}
	}
	if e.Len() != want {
		t.Errorf("Len %d, want %d", e.Len(), want)
	}
}

func concurrentRound(t *testing.T, e kvs.Engine, random *rand.Rand, kinds []kvs.Kind, id, version int) bool {
	own := fmt.Sprintf("own%d-%d", id, version)
	ops := []op{insert(own, own), get(own), remove(own), get(own)}
	want := []outcome{stored, found(own), stored, missing}
	if version%2 == 0 {
		ops, want = append(ops, put(own, own)), append(want, stored)
	}
	owned := len(ops)
	for range random.IntN(60) {
		key := sharedKey(random.IntN(sharedKeys))
		ops = append(ops, op{randomKind(random, kinds), key, describe(key, id, version)})
	}
	got := apply(t, e, ops...)
	if !slices.Equal(got[:owned], want) {
		t.Errorf("goroutine %d: operations on its own key give %v, want %v", id, got[:owned], want)
		return false
	}
	for i, o := range ops[owned:] {
		if r := got[owned+i]; r.found {
			if err := checkDescribed(o.key, r.value); err != nil {
				t.Errorf("goroutine %d, version %d: %s of %s: %v", id, version, o.kind, o.key, err)
				return false
			}
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
			written := fmt.Sprintf("%d-%d", id, i)
			if n := times[found(written)]; n != 1 {
				t.Fatalf("the value %s was read %d times, want once", written, n)
			}
		}
	}
}
