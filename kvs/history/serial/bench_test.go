package serial

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"kvlab/metrics"
)

// large returns the history of a right store: transactions of 3 operations on some keys, one
// in two a read-modify-write, by 64 workers whose transactions overlap.
func large(transactions, keys int, versions bool) *History {
	const workers = 64
	random := rand.New(rand.NewPCG(1, 0))
	h := &History{}
	for key := range keys {
		h.Keys = append(h.Keys, fmt.Sprint(key))
	}
	for w := range workers {
		h.Spans = append(h.Spans, metrics.WorkerSpan{Worker: w, Last: 1 << 30})
	}
	value, version := make([]metrics.WriteID, keys), make([]uint64, keys)
	ids := make([]metrics.WriteID, workers)
	for i := range transactions {
		w := i % workers
		a := Attempt{Worker: uint16(w), Number: uint32(i), CallNs: int64(i-random.IntN(workers/2)) * 1000, ReturnNs: int64(i+random.IntN(workers/2)) * 1000}
		for range 3 {
			key := uint32(float64(keys) * random.Float64() * random.Float64() * random.Float64())
			o := Op{Key: key, Reads: true, Read: value[key]}
			if random.IntN(2) == 0 {
				if ids[w] == 0 {
					ids[w] = metrics.MakeWriteID(0, w, 0)
				}
				ids[w] = ids[w].Next()
				o.Wrote, value[key] = ids[w], ids[w]
				version[key]++
			}
			if versions {
				o.Version = version[key]
			}
			a.Ops = append(a.Ops, o)
		}
		h.Attempts = append(h.Attempts, a)
	}
	return h
}

// BenchmarkCheck checks 200,000 transactions on 64 keys, as the workload pool records them,
// and on 10,000.
func BenchmarkCheck(b *testing.B) {
	for _, versions := range []bool{true, false} {
		for _, keys := range []int{64, 10_000} {
			h := large(200_000, keys, versions)
			b.Run(fmt.Sprintf("versions=%t/keys=%d", versions, keys), func(b *testing.B) {
				b.ReportAllocs()
				for range b.N {
					if f := Check(h); f != nil {
						b.Fatal(f.Why)
					}
				}
			})
		}
	}
	b.Run("stale", func(b *testing.B) {
		h := large(200_000, 64, true)
		a := &h.Attempts[len(h.Attempts)-1]
		a.Ops = []Op{{Key: 3, Reads: true, Read: h.Attempts[100].Ops[0].Read, Version: 1}}
		for i := range h.Attempts { // of the key's first write
			for _, o := range h.Attempts[i].Ops {
				if o.Key == 3 && o.Version == 1 && o.Wrote != 0 {
					a.Ops[0].Read = o.Wrote
				}
			}
		}
		b.ReportAllocs()
		for range b.N {
			if f := Check(h); f == nil || f.Anomaly != Stale {
				b.Fatal(f)
			}
		}
	})
}
