package service

import (
	"fmt"
	"math"
	"testing"

	"kvlab/kvs"
	"kvlab/kvs/route"
)

// nothing is an engine that does nothing, so that what is left is the service's.
type nothing struct{}

func (nothing) Apply([]kvs.Op, *kvs.Reply) {}
func (nothing) Len() int                   { return 0 }

// gets returns a batch of n Gets on different keys.
func gets(n int) *kvs.Batch {
	b := new(kvs.Batch)
	for i := range n {
		b.Get(fmt.Appendf(nil, "key%d", i))
	}
	return b
}

// A sample has one operation in 32, however the operations fall into batches, and every
// operation of a batch alike.
func TestSampleShare(t *testing.T) {
	for _, size := range []int{1, 7, 32, 100, 256, 1000} {
		service := New(nothing{})
		session := service.Open("client")
		var reply kvs.Reply
		batch := gets(size)
		calls := 200_000 / size
		for range calls {
			if err := session.BatchPutGet(batch, &reply); err != nil {
				t.Fatal(err)
			}
		}
		sample := service.Sample()
		sum := 0.0
		for _, n := range sample.Groups() {
			sum += float64(n)
		}
		// The sample has whole or cut pieces of 32 operations: the deviation is at most
		// that of independent choices, of which ten standard deviations are never seen.
		off := func(n, mean float64) bool { return math.Abs(n-mean) > 10*math.Sqrt(mean) }
		if want := float64(calls*size) / sampleEvery; off(sum, want) {
			t.Errorf("batches of %d: %v operations sampled of %d, want %v", size, sum, calls*size, want)
		}
		keys := sample.Keys()
		counts, err := keys.Counts()
		if err != nil {
			t.Fatal(err)
		}
		for i := range size {
			number, _ := keys.Number(route.Thin(route.Hash(fmt.Appendf(nil, "key%d", i))))
			if want := float64(calls) / sampleEvery; off(float64(counts[number]), want) {
				t.Errorf("batches of %d: operation %d was sampled %d times, want %v", size, i, counts[number], want)
			}
		}
	}
}

// A cell lies in its group, and the busiest cells are those of the keys that were
// asked for most.
func TestSampleBusiest(t *testing.T) {
	for i := range 10_000 {
		hash := route.Hash(fmt.Appendf(nil, "%d", i))
		if cell := route.Cell(hash); cell < 0 || cell >= route.Cells || cell*route.Groups/route.Cells != route.Group(hash) {
			t.Fatalf("key %d is in cell %d and group %d", i, cell, route.Group(hash))
		}
	}
	sample := new(Sample)
	want := make(map[int]uint64)
	for i := range uint64(100) {
		key := fmt.Appendf(nil, "%d", i)
		for range i {
			sample.add(&kvs.Op{Kind: kvs.Get, Key: key})
		}
		want[route.Cell(route.Hash(key))] += i
	}
	busiest := sample.Busiest(20)
	if len(busiest) != 20 {
		t.Fatalf("%d cells", len(busiest))
	}
	for i, c := range busiest {
		if c.Ops != want[c.Cell] || i > 0 && c.Ops > busiest[i-1].Ops {
			t.Errorf("cell %d: %d operations, want %d", c.Cell, c.Ops, want[c.Cell])
		}
		delete(want, c.Cell)
	}
	for cell, ops := range want {
		if ops > busiest[19].Ops {
			t.Errorf("cell %d with %d operations is missing", cell, ops)
		}
	}
	if got := len(sample.Busiest(1000)); got != len(want)+19 && got != len(want)+20 { // key 0 may be without an operation
		t.Errorf("%d cells in all of %d", got, len(want)+20)
	}
}
