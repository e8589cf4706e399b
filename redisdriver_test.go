package kvlab_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"kvlab/kvs/driver/redistest"
	"kvlab/metrics/stats"
)

// The keys of redis-benchmark are "key:" and a number of 12 digits. With this prefix those of
// kvlab's records from 100000 on are the same, and the others shorter.
const redisPrefix = "key:000000"

// BenchmarkRedisDriver has redis-benchmark and kvlab's driver read the same records of the
// same redis-server in turn, b.N times each, with 50 connections and 512 requests in each.
// -benchtime 9x makes nine pairs. kvlab draws YCSB-C's operations and checks every value;
// redis-benchmark repeats its requests with other digits and checks nothing. It reports the
// ratio of their rates with its interval of 95 %, and the processor time that Redis takes
// for an operation of each, which other work on the machine hardly changes.
func BenchmarkRedisDriver(b *testing.B) {
	redistest.Need(b, "redis-server", "redis-benchmark", "redis-cli")
	port := redistest.Start(b).Port
	fillRedis(b, port)
	client := filepath.Join(b.TempDir(), "kvsclient")
	if out, err := exec.Command("go", "build", "-o", client, "./kvs/client/kvsclient").CombinedOutput(); err != nil {
		b.Fatalf("go build: %v\n%s", err, out)
	}
	var redis, kvlab, redisTime, kvlabTime []float64
	for b.Loop() {
		before := redisCPU(b, port)
		redis = append(redis, redisGets(b, port, deep))
		between := redisCPU(b, port)
		rate, ops := driverGets(b, client, port)
		kvlab = append(kvlab, rate)
		redisTime = append(redisTime, (between-before)*1e6/deepRequests)
		kvlabTime = append(kvlabTime, (redisCPU(b, port)-between)*1e6/ops)
	}
	b.ReportMetric(median(redis), "redis-benchmark-GET/s")
	b.ReportMetric(median(kvlab), "kvlab-GET/s")
	b.ReportMetric(median(redisTime), "redis-benchmark-server-us/op")
	b.ReportMetric(median(kvlabTime), "kvlab-server-us/op")
	b.ReportMetric(0, "ns/op") // the time of a pair says nothing
	ratio, ok := stats.RatioOf(redis, kvlab, true, 0.95)
	b.ReportMetric(ratio.Value, "ratio")
	if !ok {
		return // too few pairs for an interval
	}
	b.ReportMetric(ratio.Low, "ratio-low")
	b.ReportMetric(ratio.High, "ratio-high")
	if *update {
		writeTable(b, "redis driver", fmt.Sprintf("| YCSB-C, uniform, pairs of runs: %d | GET/s |\n|---|---|\n| `redis-benchmark -t get %s` | %s |\n"+
			"| `kvsclient -target redis://... -workers 50 -batch 512`, every value checked | %s |\n| ratio | **%.2f** (%.2f to %.2f) |\n",
			len(redis), "-P 512 -c 50", people(median(redis)), people(median(kvlab)), ratio.Value, ratio.Low, ratio.High))
	}
}

// driverGets is one run of kvsclient, in verified GET/s, and the operations that it sent,
// those of its load among them.
func driverGets(tb testing.TB, client, port string) (rate, ops float64) {
	tb.Helper()
	text, err := exec.Command(client, "-target", "redis://127.0.0.1:"+port, "-workload", "YCSB-C", "-distribution", "uniform",
		"-workers", "50", "-batch", "512", "-records", strconv.Itoa(redisRecords), "-value-size", "128", "-key-prefix", redisPrefix,
		"-secs", window()).CombinedOutput()
	total := regexp.MustCompile(`(?m)^operations in all: ([0-9]+) get, ([0-9]+) put, .* 0 missed$`).FindSubmatch(text)
	checked := regexp.MustCompile(`(?m)^verified [0-9]+ values, .* 0 wrong`).Match(text)
	throughput := regexp.MustCompile(`(?m)^throughput ([0-9.]+) ops/s$`).FindSubmatch(text)
	if err != nil || total == nil || !checked || throughput == nil {
		tb.Fatalf("kvsclient: %v\n%s", err, text)
	}
	return parse(tb, string(throughput[1])), parse(tb, string(total[1])) + parse(tb, string(total[2]))
}
