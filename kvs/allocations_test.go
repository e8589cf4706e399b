package kvs_test

import (
	"testing"

	"kvlab/internal/kvstest"
	"kvlab/kvs"
)

// Batches and replies whose memory is there are written and read without an allocation.
func TestAllocations(t *testing.T) {
	var b kvs.Batch
	var r, other kvs.Reply
	var ops [256]kvs.Op
	var held [256]kvs.Version
	var compact kvs.CompactOps
	key, value := []byte("user1234567"), make([]byte, 128)
	get, put := kvs.Op{Kind: kvs.Get, Key: []byte("1234567")}, kvs.Op{Kind: kvs.Put, Key: key, Value: value}
	random, versions, found := outcomes(kvstest.NewRandom(t), 500)
	for name, run := range map[string]func(){
		"batch": func() {
			b.Reset()
			for range 1000 {
				b.Get(key)
				b.Append(kvs.Put, key, value)
			}
			for cursor := b.Ops(); ; {
				if n, _ := cursor.Next(ops[:]); n < len(ops) {
					return
				}
			}
		},
		"compact batch": func() {
			b.Reset()
			for range 1000 {
				b.AppendCompact(&get, 1000)
				b.AppendCompact(&put, 0)
			}
			for compact.Read(&b); ; {
				if n, err := compact.Next(ops[:], held[:]); err != nil || n < len(ops) {
					return
				}
			}
		},
		"scans": func() {
			r.Reset()
			for range 10 {
				start := r.BeginPairs()
				for range 100 {
					r.Pair(key, value)
				}
				r.EndPairs(start)
			}
			cursor := r.Results()
			for range r.Len() {
				result, _ := cursor.Next()
				for pairs := kvs.PairsOf(result.Value); pairs.More(); {
					_, _, _ = pairs.Next()
				}
			}
		},
		"reply with versions": func() {
			answerBoth(&other, &r, random, versions, found, false)
			results, _, _ := r.Versions()
			for _, op := range random {
				if _, _, err := results.NextVersion(op.Kind); err != nil {
					t.Fatal(err)
				}
			}
		},
	} {
		run()
		if n := testing.AllocsPerRun(20, run); n >= 1 { // a collection may empty the pool
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
