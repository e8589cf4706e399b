package peers_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"kvlab/internal/redistest"
	"kvlab/kvs/driver"
	"kvlab/kvs/driver/redis"
	"kvlab/kvs/loadgen"
	"kvlab/metrics"
	"kvlab/metrics/stats"
	"kvlab/workload"
)

// The keys of redis-benchmark are "key:" and a number of 12 digits. With this prefix those of
// kvlab's records from 100000 on are the same, and the others shorter.
const redisPrefix = "key:000000"

// besideDriver are redis-benchmark's arguments, with requests for a second or two. Other
// work on the machine changes less within such a time than within longer ones.
var besideDriver = []string{"-P", "512", "-c", "50", "-n", "2000000"}

// BenchmarkDriverAgainstRedisBenchmark has redis-benchmark and kvlab's driver read the same
// records of the same redis-server in turn, b.N times each, with 50 connections and 512
// requests in each. -benchtime 25x makes 25 pairs. kvlab draws YCSB-C's operations and checks
// every value; redis-benchmark repeats its requests with other digits and checks nothing. It
// reports the ratio of their rates, from the first request to the last reply, with its
// interval of 95 %. redis-benchmark has one thread, and so kvlab has one processor.
func BenchmarkDriverAgainstRedisBenchmark(b *testing.B) {
	redistest.Need(b, "redis-server", "redis-benchmark", "redis-cli")
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	server := redistest.Start(b)
	fillRedis(b, server.Port)
	client := newDriverClient(b, server.Addr)
	var peers, owns []float64
	peer := func() { peers = append(peers, redisGets(b, server.Port, besideDriver)) }
	own := func() { owns = append(owns, driverGets(b, client)) }
	for b.Loop() {
		peer()
		own()
		peer, own = own, peer // what is first in a pair is second in the next
	}
	if s := client.Summary(); s.Total.Misses > 0 || s.Verification.Failures > 0 || s.Verification.Unchecked > 0 || s.Total.Gets != s.Verification.Checked {
		b.Fatalf("kvlab read %+v, and verified %+v", s.Total, s.Verification)
	}
	b.ReportMetric(median(peers), "redis-benchmark-GET/s")
	b.ReportMetric(median(owns), "kvlab-GET/s")
	ratio := reportRatio(b, peers, owns)
	low, high := ratio.RatioInterval(0.95)
	if !ratio.Known {
		return // too few pairs for an interval
	}
	if *update {
		writeTable(b, "redis driver", fmt.Sprintf("| YCSB-C, uniform, pairs of runs: %d | GET/s |\n|---|---|\n| `redis-benchmark -t get -P 512 -c 50` | %s |\n"+
			"| `-target redis://... -workers 50 -batch 512`, every value checked | %s |\n| ratio | **%.2f** (%.2f to %.2f) |\n",
			len(peers), people(median(peers)), people(median(owns)), ratio.Ratio(), low, high))
	}
}

// newDriverClient returns a client of YCSB-C that has stored its records.
func newDriverClient(tb testing.TB, addr string) *loadgen.Generator {
	tb.Helper()
	c := loadgen.DefaultConfig()
	c.Transport, c.Foreign, c.Hosts = redis.Row.Name, []driver.Row{redis.Row}, []string{addr}
	c.Workload.Workload, c.Workload.Distribution, c.Workload.Records = workload.YCSBC, workload.Uniform, uint64(redisRecords())
	c.KeyPrefix, c.Workers, c.Batch, c.WarmUp, c.Window = redisPrefix, 50, 512, 0, 1500*time.Millisecond
	g, err := loadgen.New(c)
	if err == nil {
		err = g.Connect(tb.Context())
	}
	if err == nil {
		err = g.Store(tb.Context())
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { g.Close() })
	return g
}

// driverGets returns one window of the client, in verified GET/s.
func driverGets(tb testing.TB, g *loadgen.Generator) float64 {
	tb.Helper()
	before, begun := g.Counts(), time.Now()
	if err := g.Measure(tb.Context(), func(metrics.Phase) error { return nil }); err != nil {
		tb.Fatal(err)
	}
	return float64(g.Counts().Gets-before.Gets) / time.Since(begun).Seconds()
}

// reportRatio reports the ratio of two series of rates, with its interval of 95 % if there is
// one.
func reportRatio(b *testing.B, peers, owns []float64) stats.Comparison {
	ratio := stats.Compare(peers, owns, stats.Paired)
	b.ReportMetric(0, "ns/op") // the time of a pair says nothing
	b.ReportMetric(ratio.Ratio(), "ratio")
	if low, high := ratio.RatioInterval(0.95); ratio.Known {
		b.ReportMetric(low, "ratio-low")
		b.ReportMetric(high, "ratio-high")
	}
	return ratio
}
