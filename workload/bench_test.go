package workload

import (
	"fmt"
	"testing"
)

func BenchmarkFill(b *testing.B) {
	for _, d := range distributions {
		for _, scramble := range []bool{false, true} {
			if scramble && (d.selects.sequential || d.name == Scrambled) {
				continue
			}
			b.Run(fmt.Sprintf("dist=%s/scramble=%t", d.name, scramble), func(b *testing.B) {
				c := DefaultConfig()
				c.Distribution, c.Scramble = d.name, scramble
				benchmarkFill(b, c)
			})
		}
	}
}

func benchmarkFill(b *testing.B, c Config) {
	b.Helper()
	p, err := New(c)
	if err != nil {
		b.Fatal(err)
	}
	s := p.Source(at(0, 0))
	ops := make([]Op, 8192)
	b.ReportAllocs()
	for b.Loop() {
		s.Fill(ops)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(s.Drawn()), "ns/operation")
}

func BenchmarkNew(b *testing.B) {
	for _, z := range []string{ZipfianYCSB, ZipfianExact} {
		for _, n := range []uint64{1_000_000, 50_000_000} {
			b.Run(fmt.Sprintf("form=%s/records=%d", z, n), func(b *testing.B) {
				c := DefaultConfig()
				c.Zipfian, c.Records = z, n
				b.ReportAllocs()
				for b.Loop() {
					if _, err := New(c); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
