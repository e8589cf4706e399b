package wire

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"kvlab/kvs"
	"kvlab/kvs/engine"
)

// BenchmarkCall is one call over loopback, of 95 % Gets of 128-byte values that
// are all there; in clear, and under TLS.
func BenchmarkCall(b *testing.B) {
	ids := map[string]Options{"binary+tls": encryptedOptions(b)}
	for _, codec := range Codecs {
		ids[codec] = Options{Hello: Hello{Node: "node0", Codec: codec}}
	}
	for _, name := range slices.Sorted(maps.Keys(ids)) {
		options := ids[name]
		for _, size := range []int{1, 64, 1024, 8192} {
			b.Run(fmt.Sprintf("codec=%s/batch=%d", name, size), func(b *testing.B) {
				client := startServer(b, options, engine.NewSyncMap()).dial(b, options)
				var load, batch kvs.Batch
				value := make([]byte, 128)
				for i := range size {
					key := fmt.Appendf(nil, "user%d", i)
					load.Append(kvs.Put, key, value)
					if i%20 == 19 {
						batch.Append(kvs.Put, key, value)
					} else {
						batch.Get(key)
					}
				}
				if _, err := call(client, &load); err != nil {
					b.Fatal(err)
				}
				one := kvs.Call{Batch: &batch, Reply: new(kvs.Reply)}
				b.ReportAllocs()
				for b.Loop() {
					client.Send(&one)
					if err := client.Wait(&one); err != nil {
						b.Fatal(err)
					}
					one.Reply.Free()
				}
				b.ReportMetric(float64(size)*float64(b.N)/b.Elapsed().Seconds(), "ops/s")
			})
		}
	}
}

// BenchmarkTransactions is a call over loopback of transactions of one server, each of a
// read-modify-write and two Gets.
func BenchmarkTransactions(b *testing.B) {
	for _, size := range []int{1, 64} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			options := Options{Hello: Hello{Node: "node0", Codec: "binary", Features: Features{Transactions: true}}}
			client := startServer(b, options, engine.NewSyncMap()).dial(b, options)
			var batch kvs.Batch
			batch.Begin(kvs.Head{Owner: 1})
			for i := range size {
				batch.Part(&kvs.Part{Step: kvs.Run, Number: uint64(i), Ops: 3})
				batch.Append(kvs.ReadModifyWrite, fmt.Appendf(nil, "user%d", 3*i), make([]byte, 128))
				batch.Get(fmt.Appendf(nil, "user%d", 3*i+1))
				batch.Get(fmt.Appendf(nil, "user%d", 3*i+2))
			}
			one := kvs.Call{Batch: &batch, Reply: new(kvs.Reply)}
			for b.Loop() {
				client.Send(&one)
				if err := client.Wait(&one); err != nil {
					b.Fatal(err)
				}
				one.Reply.Free()
			}
			b.ReportMetric(float64(size)*float64(b.N)/b.Elapsed().Seconds(), "transactions/s")
		})
	}
}
