package redis

import (
	"fmt"
	"strings"
	"testing"

	"kvlab/kvs"
)

// BenchmarkCodec measures both directions of a call of 512 Gets with keys of 16 bytes and
// values of 128.
func BenchmarkCodec(b *testing.B) {
	var batch kvs.Batch
	for i := range 512 {
		batch.Get(fmt.Appendf(nil, "key:%012d", i))
	}
	ops := make([]kvs.Op, 512)
	cursor := batch.Ops()
	if _, err := cursor.Next(ops); err != nil {
		b.Fatal(err)
	}
	var out []byte
	b.Run("append", func(b *testing.B) {
		for b.Loop() {
			out, _, _ = codec{}.Append(out[:0], ops)
		}
		b.ReportMetric(float64(b.Elapsed())/float64(b.N)/512, "ns/get")
	})
	in := []byte(strings.Repeat("$128\r\n"+strings.Repeat("v", 128)+"\r\n", 512))
	var reply kvs.Reply
	b.Run("parse", func(b *testing.B) {
		for b.Loop() {
			reply.Reset()
			if size, n, err := (codec{}).Parse(in, ops, &reply); size != len(in) || n != 512 || err != nil {
				b.Fatal(size, n, err)
			}
		}
		b.ReportMetric(float64(b.Elapsed())/float64(b.N)/512, "ns/get")
	})
}
