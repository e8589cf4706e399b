package peers_test

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kvlab/internal/redistest"
	"kvlab/workload"
)

var update = flag.Bool("update", false, "the benchmarks of the whole write their tables into README.md and docs")

// redisRecords returns the peer's load: as many records as kvlab's default, of as
// many bytes; few in a short run.
func redisRecords() int {
	if testing.Short() {
		return 10_000
	}
	return 1_000_000
}

// depths are the numbers of requests that a client has in flight: a single one, redis-benchmark's
// usual pipeline, and the depth at which Redis is fastest.
var depths = []int{1, 16, 512}

// BenchmarkAgainstRedis runs redis-benchmark and kvlab in turn, b.N times each, on one machine
// with as many records. Both have 64 clients, each with the same number of requests in flight,
// and only read, uniformly. It reports the ratio of their rates with its interval of 95 %.
// -benchtime 5x makes five pairs.
func BenchmarkAgainstRedis(b *testing.B) {
	redistest.Need(b, "redis-server", "redis-benchmark", "redis-cli")
	port := redistest.Start(b).Port
	fillRedis(b, port)
	out := b.TempDir()
	rows := "| N | pairs of runs | `--batch N` over `-P N` |\n|---|---|---|\n"
	for _, depth := range depths {
		b.Run(fmt.Sprintf("batch-%d", depth), func(b *testing.B) {
			var redis, kvlab []float64
			for b.Loop() {
				redis = append(redis, redisGets(b, port, pipelined(depth)))
				kvlab = append(kvlab, kvlabOps(b, out, "--workload", workload.YCSBC, "--distribution", workload.Uniform, "--batch", strconv.Itoa(depth)))
			}
			b.ReportMetric(median(redis), "redis-GET/s")
			b.ReportMetric(median(kvlab), "kvlab-ops/s")
			if ratio := reportRatio(b, redis, kvlab); ratio.Known {
				low, high := ratio.RatioInterval(0.95)
				rows += fmt.Sprintf("| %d | %d | **%.1fx** [%.1f, %.1f] |\n", depth, len(redis), ratio.Ratio(), low, high)
			}
		})
	}
	latency := latencyAgainstRedis(b, port, out)
	if *update && len(latency) > 0 {
		writeTable(b, "latency against redis", latencyHead+strings.Join(latency, ""))
	}
	if *update && strings.Count(rows, "\n") == 2+len(depths) {
		writeTable(b, "against redis", rows)
	}
}

// pipelined returns redis-benchmark's arguments for 64 clients with so many requests in flight
// each, and requests for some seconds.
func pipelined(depth int) []string {
	return []string{"-P", strconv.Itoa(depth), "-c", "64", "-n", strconv.Itoa(min(300_000*depth, 6_000_000))}
}

// people writes a rate as a person would.
func people(rate float64) string {
	if rate < 1e6 {
		return fmt.Sprintf("%.0fk", rate/1e3)
	}
	return fmt.Sprintf("%.2fM", rate/1e6)
}

// fillRedis stores the keys that redis-benchmark asks for.
func fillRedis(tb testing.TB, port string) {
	tb.Helper()
	var load bytes.Buffer
	w := bufio.NewWriter(&load)
	value := make([]byte, 128)
	for id := range redisRecords() {
		rand.Read(value)
		fmt.Fprintf(w, "*3\r\n$3\r\nSET\r\n$16\r\nkey:%012d\r\n$128\r\n%s\r\n", id, value)
	}
	w.Flush()
	pipe := exec.Command("redis-cli", "-p", port, "--pipe")
	pipe.Stdin = &load
	if out, err := pipe.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("errors: 0")) {
		tb.Fatalf("load redis: %v\n%s", err, out)
	}
	out, err := exec.Command("redis-cli", "-p", port, "dbsize").Output()
	if n := strings.TrimSpace(string(out)); err != nil || n != strconv.Itoa(redisRecords()) {
		tb.Fatalf("redis holds %s keys of %d: %v", n, redisRecords(), err)
	}
}

// redisGets is one run of redis-benchmark, in GET/s.
func redisGets(tb testing.TB, port string, args []string) float64 {
	tb.Helper()
	args = append([]string{"-p", port, "-t", "get", "-d", "128", "-r", strconv.Itoa(redisRecords()), "--csv"}, args...)
	if testing.Short() { // the last argument is the number of requests
		args[len(args)-1] = "50000"
	}
	out, err := exec.Command("redis-benchmark", args...).CombinedOutput()
	m := regexp.MustCompile(`(?m)^"GET","([0-9.]+)"`).FindSubmatch(out)
	if err != nil || m == nil {
		tb.Fatalf("redis-benchmark: %v\n%s", err, out)
	}
	return parse(tb, string(m[1]))
}

// kvlabOps makes one run of kvlab with its defaults and args, and returns its verified ops/s.
func kvlabOps(tb testing.TB, out string, args ...string) float64 {
	tb.Helper()
	command := append(append(lengths(), "--local", "--no-ceiling", "--out", out), args...)
	text, err := exec.Command("./run-cluster.sh", command...).CombinedOutput()
	m := regexp.MustCompile(`(?m)^total ([0-9.]+) op/s$`).FindSubmatch(text)
	if err != nil || m == nil || !bytes.Contains(text, []byte("\nverdict VALID\n")) {
		tb.Fatalf("run-cluster.sh: %v\n%s", err, text)
	}
	return parse(tb, string(m[1]))
}

// window returns a run's measured window in seconds.
func window() string {
	if testing.Short() {
		return "1"
	}
	return "5"
}

// lengths returns a run's arguments that say how long it is. A short one has few workers, so
// that a busy machine's rounds fit its window.
func lengths() []string {
	if testing.Short() {
		return []string{"--secs", window(), "--warmup", "0.5", "--records", strconv.Itoa(redisRecords()), "--workers", "4"}
	}
	return []string{"--secs", window()}
}

func parse(tb testing.TB, s string) float64 {
	tb.Helper()
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

func median(x []float64) float64 {
	s := slices.Sorted(slices.Values(x))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// writeTable puts a table between the lines that bear its name, on every page that has them.
func writeTable(tb testing.TB, name, table string) {
	tb.Helper()
	begin, end := "<!-- "+name+": begin -->\n", "<!-- "+name+": end -->"
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		tb.Fatal(err)
	}
	written := false
	for _, page := range append(pages, "README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			tb.Fatal(err)
		}
		head, rest, ok1 := strings.Cut(string(text), begin)
		_, tail, ok2 := strings.Cut(rest, end)
		if !ok1 || !ok2 {
			continue
		}
		if err := os.WriteFile(page, []byte(head+begin+table+end+tail), 0o644); err != nil {
			tb.Fatal(err)
		}
		written = true
	}
	if !written {
		tb.Fatalf("neither README.md nor a page of docs has the lines %q and %q", begin, end)
	}
}
