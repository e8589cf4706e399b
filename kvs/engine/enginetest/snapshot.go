package enginetest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"kvlab/kvs"
)

// snapshotKeys are more keys than a node of a tree holds.
const snapshotKeys = 700

// snapshotKey holds the keys in order.
var snapshotKey = func() (keys [snapshotKeys]string) {
	for i := range keys {
		keys[i] = fmt.Sprintf("key%04d", i)
	}
	return keys
}()

// testSnapshot has a writer go over all keys in order, again and again: in each round it
// stores the round's number under every key, or in one of three deletes it. Whatever the
// moment, the keys of a snapshot up to some key are as one round leaves them, and the
// others as the round before.
func testSnapshot(t *testing.T, e kvs.Engine) {
	const rounds, scans = 60, 200
	var writing atomic.Bool
	writing.Store(true)
	var group sync.WaitGroup
	group.Go(func() {
		defer writing.Store(false)
		for round := range rounds {
			writeRound(t, e, round)
		}
	})
	for id := range 2 {
		group.Go(func() {
			for i := 0; writing.Load() || i < scans; i++ {
				from := (i*37 + id) % snapshotKeys
				got := apply(t, e, put(fmt.Sprintf("other%d", i%50), "v"), scan(snapshotKey[from], snapshotKeys-from))[1]
				if err := checkSnapshot(got.value, from, rounds); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
}

// writeRound applies a writer's round in batches of seven operations.
func writeRound(t *testing.T, e kvs.Engine, round int) {
	var ops []op
	for i := range snapshotKeys {
		o := put(snapshotKey[i], fmt.Sprint(round))
		if round%3 == 2 {
			o = remove(o.key)
		}
		if ops = append(ops, o); len(ops) == 7 || i == snapshotKeys-1 {
			apply(t, e, ops...)
			ops = ops[:0]
		}
	}
}

// checkSnapshot returns an error unless the pairs are those of one moment. They begin
// with the key of number from; keys of other writers follow the last.
func checkSnapshot(pairs string, from, rounds int) error {
	values := map[string]string{} // of a missing key: ""
	last := ""
	for cursor := kvs.PairsOf([]byte(pairs)); cursor.More(); {
		key, value, err := cursor.Next()
		if err != nil || string(key) <= last || string(key) < snapshotKey[from] {
			return fmt.Errorf("a scan from %s has %q after %q, error %v", snapshotKey[from], key, last, err)
		}
		last = string(key)
		values[last] = string(value)
	}
	after := func(round int) string {
		if round%3 == 2 || round < 0 {
			return ""
		}
		return fmt.Sprint(round)
	}
	for round := range rounds {
		at, before, now := from, after(round-1), after(round)
		for at < snapshotKeys && values[snapshotKey[at]] == now {
			at++
		}
		for at < snapshotKeys && values[snapshotKey[at]] == before {
			at++
		}
		if at == snapshotKeys {
			return nil
		}
	}
	return fmt.Errorf("a scan from %s saw no state that was: %v", snapshotKey[from], values)
}
