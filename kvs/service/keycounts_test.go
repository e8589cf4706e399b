package service

import (
	"fmt"
	"sync"
	"testing"

	"kvlab/kvs"
	"kvlab/kvs/route"
)

// The counts of the selected keys are complete, and a key is selected by its hash alone,
// for any number of keys.
func TestKeyCounts(t *testing.T) {
	for _, keys := range []int{10, maxKeys, 5 * maxKeys} {
		var counts keyCounts
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				for round := range 3 {
					for i := 0; i < keys; i += 8 {
						var hashes []uint64
						for j := i; j < min(i+8, keys); j++ {
							if j%3 >= round {
								hashes = append(hashes, route.Hash(fmt.Appendf(nil, "%d", j)))
							}
						}
						counts.add(hashes)
					}
				}
			})
		}
		group.Wait()
		report := counts.report()
		got, err := report.Counts()
		if err != nil {
			t.Fatal(err)
		}
		if n := len(got); n > maxKeys || n < min(keys, maxKeys/3) || (report.Bits == 0) != (keys <= maxKeys) {
			t.Errorf("%d keys: %d are counted, by %d bits", keys, n, report.Bits)
		}
		for i := range keys {
			number, counted := report.Number(route.Thin(route.Hash(fmt.Appendf(nil, "%d", i))))
			want := uint64(0)
			if counted {
				want = uint64(4 * (1 + i%3))
			}
			if counted && got[number] != want {
				t.Fatalf("%d keys: key %d has %d operations, want %d", keys, i, got[number], want)
			}
			delete(got, number)
		}
		if len(got) > 0 {
			t.Errorf("%d keys: counts of others: %v", keys, got)
		}
	}
}

// Pairs are those of one batch; of batches of two equal operations, all are equal.
func TestSamplePairs(t *testing.T) {
	s := New(nothing{})
	conn := s.Open("client")
	var reply kvs.Reply
	pairOfOne := new(kvs.Batch)
	pairOfOne.Get([]byte("a"))
	pairOfOne.Get([]byte("a"))
	for range 6000 {
		for _, b := range []*kvs.Batch{gets(1), pairOfOne, gets(40)} {
			if err := conn.BatchPutGet(b, &reply); err != nil {
				t.Fatal(err)
			}
		}
	}
	all, equal := s.Sample().Pairs()
	// One pair in 32 of those of two, and 39 of each forty.
	if equal < 90 || equal > 300 || all < 40*equal*39/41/2 || all > 80*equal {
		t.Errorf("%d pairs, %d equal", all, equal)
	}
}

// A part of a scan is not sampled, and neither it nor an insert is one of a pair.
func TestSampleOfKinds(t *testing.T) {
	s := New(nothing{})
	conn := s.Open("client")
	var reply kvs.Reply
	b, value := new(kvs.Batch), []byte("value")
	for range 16 {
		b.Scan(kvs.Scan, []byte("a"), 10)
		b.Scan(kvs.ScanPart, []byte("b"), 10)
		b.Append(kvs.Insert, []byte("c"), value)
		b.Append(kvs.Insert, []byte("d"), value)
	}
	for range 3000 {
		if err := conn.BatchPutGet(b, &reply); err != nil {
			t.Fatal(err)
		}
	}
	sample := s.Sample()
	all, equal := sample.Pairs()
	of := func(key string) uint64 { return sample.cells[route.Cell(route.Hash([]byte(key)))].Load() }
	if all != 0 || equal != 0 || of("a") == 0 || of("b") != 0 || of("c") == 0 || of("d") == 0 {
		t.Errorf("%d pairs, %d equal; %d scans, %d parts, %d and %d inserts", all, equal, of("a"), of("b"), of("c"), of("d"))
	}
}
