package enginetest

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"kvlab/kvs"
)

// Bench measures one engine over a small matrix, with values of 128 bytes
// and uniform keys; with 10^7 records only large batches of many goroutines. ns/op,
// B/op and allocs/op are of one operation.
func Bench(b *testing.B, open func() kvs.Engine) {
	const few = 1_000_000
	for _, records := range []int{10_000, few, 10_000_000} {
		load := sync.OnceValue(func() kvs.Engine { return Load(open(), records) })
		for _, reads := range []float64{0.95, 0.5} {
			for _, batch := range []int{1, 256} {
				for _, goroutines := range []int{1, 8} {
					if records > few && batch*goroutines < 256*8 {
						continue // the whole matrix would take a quarter of an hour
					}
					name := fmt.Sprintf("reads=%g/records=%d/batch=%d/goroutines=%d", reads, records, batch, goroutines)
					b.Run(name, func(b *testing.B) {
						work(b, load(), streams(records, reads, goroutines), batch)
					})
				}
			}
		}
	}
}

// BenchScan measures YCSB-E's operations, 95 % scans of 1 to 100 pairs and 5 % Inserts, on
// an empty engine that scans. ns/op is of one operation, ns/pair is the time of all by the
// pairs that were read.
func BenchScan(b *testing.B, e kvs.Engine) {
	const records, batch = 1_000_000, 256
	Load(e, records)
	for _, goroutines := range []int{1, 8} {
		b.Run(fmt.Sprintf("goroutines=%d", goroutines), func(b *testing.B) {
			work(b, e, scanStreams(records, goroutines), batch)
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(0.95*50.5), "ns/pair")
		})
	}
}

// scanStreams draws the operations of each goroutine. An Insert's key follows that of a
// record, so that Inserts go to all parts of the store.
func scanStreams(records, goroutines int) [][]kvs.Op {
	random := rand.New(rand.NewPCG(1, 0))
	value := make([]byte, valueSize)
	all := make([][]kvs.Op, goroutines)
	for i := range all {
		all[i] = make([]kvs.Op, 1<<16/goroutines)
		for j := range all[i] {
			o := kvs.Op{Kind: kvs.Scan, Key: Key(random.IntN(records)), Value: []byte{byte(1 + random.IntN(100))}}
			if random.Float64() >= 0.95 {
				o.Kind, o.Key, o.Value = kvs.Insert, fmt.Appendf(o.Key, "-%d-%d", i, j), value
			}
			all[i][j] = o
		}
	}
	return all
}

const valueSize = 128

// Key returns the key of a record.
func Key(id int) []byte { return fmt.Appendf(nil, "user%d", id) }

// Load stores all records in e.
func Load(e kvs.Engine, records int) kvs.Engine {
	value := make([]byte, valueSize)
	var reply kvs.Reply
	ops := make([]kvs.Op, 0, 256)
	for id := range records {
		ops = append(ops, kvs.Op{Kind: kvs.Put, Key: Key(id), Value: value})
		if len(ops) == cap(ops) || id == records-1 {
			reply.Reset()
			e.Apply(ops, &reply)
			ops = ops[:0]
		}
	}
	reply.Free()
	return e
}

// streams draws the operations of each goroutine before the clock runs: many
// enough that they do not all stay in a cache.
func streams(records int, reads float64, goroutines int) [][]kvs.Op {
	random := rand.New(rand.NewPCG(1, 0))
	value := make([]byte, valueSize)
	all := make([][]kvs.Op, goroutines)
	for i := range all {
		all[i] = make([]kvs.Op, max(1<<17, records/8)/goroutines)
		for j := range all[i] {
			o := kvs.Op{Kind: kvs.Get, Key: Key(random.IntN(records))}
			if random.Float64() >= reads {
				o.Kind, o.Value = kvs.Put, value
			}
			all[i][j] = o
		}
	}
	return all
}

// work has the goroutines share b.N operations.
func work(b *testing.B, e kvs.Engine, streams [][]kvs.Op, batch int) {
	b.ReportAllocs()
	b.ResetTimer()
	var group sync.WaitGroup
	for i, ops := range streams {
		share := b.N * (i + 1) / len(streams)
		share -= b.N * i / len(streams)
		group.Go(func() {
			var reply kvs.Reply
			for at := 0; share > 0; share -= batch {
				if at+batch > len(ops) {
					at = 0
				}
				reply.Reset()
				e.Apply(ops[at:at+min(batch, share)], &reply)
				at += batch
			}
			reply.Free()
		})
	}
	group.Wait()
}
