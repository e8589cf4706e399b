package peers_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"kvlab/metrics"
)

// steady is how kvlab is loaded beside Redis at its limit: an open loop with
// Redis's rate, with batches of what is due.
const steady = "-batch auto -workers 16"

// latencyHead stands before the rows in docs/performance.md.
const latencyHead = `The latency below is measured at the rate at which single requests saturate Redis. kvlab carries that rate in an open loop. Each p99
is relative to Redis's p99, which a closed loop measures from send to reply; below 1 is shorter. From due to reply is the harder
measure: if the machine stops for 50 ms, it delays 64 requests of the closed loop, and all that became due meanwhile in the open one.

| ` + "`--client-args` | `redis-benchmark -t get`" + ` | pairs of runs | p99 from due to reply | p99 from send to reply |
|---|---|---|---|---|
`

// latencyAgainstRedis finds the rate at which single requests saturate Redis, and
// its p99 there, and has kvlab carry the same rate in an open loop. Redis's p99
// is of a closed loop, from send to reply; kvlab's is from the moment when an
// operation was due, and so the harder one. That from send to reply is reported
// beside it.
func latencyAgainstRedis(b *testing.B, port, out string) (rows []string) {
	b.Run("latency", func(b *testing.B) {
		var rate, redis, op, call []float64
		for b.Loop() {
			r, p99 := redisLatency(b, port)
			run := kvlabAt(b, out, r)
			rate, redis = append(rate, r), append(redis, p99)
			op = append(op, p99Ms(b, run, metrics.OpLatency))
			call = append(call, p99Ms(b, run, metrics.CallLatency))
		}
		b.ReportMetric(median(redis), "redis-p99-ms")
		b.ReportMetric(median(op), "kvlab-op-p99-ms")
		b.ReportMetric(median(call), "kvlab-call-p99-ms")
		b.ReportMetric(0, "ns/op") // the time of a pair says nothing
		rows = append(rows, fmt.Sprintf("| `%s -rate %s` | `-P 1 -c 64` | %d | **%.2f x** | **%.2f x** |\n",
			steady, people(median(rate)), len(rate), median(op)/median(redis), median(call)/median(redis)))
	})
	return rows
}

// redisLatency is one run of redis-benchmark with single requests: GET/s, and the
// p99 in milliseconds.
func redisLatency(tb testing.TB, port string) (rate, p99 float64) {
	tb.Helper()
	args := append([]string{"-p", port, "-t", "get", "-d", "128", "-r", strconv.Itoa(redisRecords()), "--csv"}, pipelined(1)...)
	text, err := exec.Command("redis-benchmark", args...).Output()
	if err != nil {
		tb.Fatalf("redis-benchmark: %v\n%s", err, text)
	}
	lines, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	if err != nil || len(lines) != 2 || len(lines[0]) != len(lines[1]) {
		tb.Fatalf("redis-benchmark: %v\n%s", err, text)
	}
	columns := map[string]string{}
	for i, name := range lines[0] {
		columns[name] = lines[1][i]
	}
	return parse(tb, columns["rps"]), parse(tb, columns["p99_latency_ms"])
}

// kvlabAt is one run of kvlab at a rate, which it must have achieved.
func kvlabAt(tb testing.TB, out string, rate float64) metrics.Run {
	tb.Helper()
	load := strings.Fields(fmt.Sprintf("%s -rate %.0f", steady, rate))
	text, err := exec.Command("./run-cluster.sh", append(append(lengths(), "--local", "--no-ceiling", "--out", out), load...)...).CombinedOutput()
	if err != nil {
		tb.Fatalf("run-cluster.sh: %v\n%s", err, text)
	}
	return latestRun(tb, out)
}

// latestRun reads the record of the last run into out.
func latestRun(tb testing.TB, out string) (run metrics.Run) {
	tb.Helper()
	file, err := os.ReadFile(filepath.Join(out, "latest", "run.json"))
	if err != nil {
		tb.Fatal(err)
	}
	if err := json.Unmarshal(file, &run); err != nil {
		tb.Fatal(err)
	}
	return run
}

// p99Ms returns a run's p99 in milliseconds.
func p99Ms(tb testing.TB, run metrics.Run, latency string) float64 {
	tb.Helper()
	q := run.Latency[latency]
	if q.P99 == nil {
		tb.Fatalf("%s latency: %s", latency, q)
	}
	return *q.P99 / 1e3
}
