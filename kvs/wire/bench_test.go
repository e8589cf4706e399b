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
