package kvs

import (
	"fmt"
	"testing"
)

// nothing is an engine that does nothing, so that what is left is the service's.
type nothing struct{}

func (nothing) Apply([]Op, *Reply) {}
func (nothing) Len() int           { return 0 }

// gets is a batch of n Gets on different keys.
func gets(n int) *Batch {
	b := new(Batch)
	for i := range n {
		b.Get(fmt.Appendf(nil, "key%d", i))
	}
	return b
}

// A sample has one operation in 32, however the operations fall into batches.
func TestSampleShare(t *testing.T) {
	for _, size := range []int{1, 7, 32, 100, 256, 1000} {
		service := NewService(nothing{})
		session := service.Open("client")
		var reply Reply
		batch := gets(size)
		calls := 32 * sampleEvery
		for range calls {
			if err := session.BatchPutGet(batch, &reply); err != nil {
				t.Fatal(err)
			}
		}
		sum := 0
		for _, n := range service.Sample().Groups() {
			sum += int(n)
		}
		if want := calls * size / sampleEvery; sum != want {
			t.Errorf("batches of %d: %d operations sampled of %d, want %d", size, sum, calls*size, want)
		}
	}
}

// BenchmarkSample is what sampling costs an operation, alone.
func BenchmarkSample(b *testing.B) {
	ops := make([]Op, chunk)
	for i := range ops {
		ops[i] = Op{Kind: Get, Key: fmt.Appendf(nil, "%d", i*3907)}
	}
	sample := new(Sample)
	for b.Loop() {
		p := picker{sample: sample}
		p.pick(ops)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/chunk, "ns/operation")
}
