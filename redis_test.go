package kvlab_test

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "BenchmarkAgainstRedis writes its table into README.md")

// The peer's load: the same number of records and the same value size as
// kvlab's defaults, and the pipeline depth at which Redis is at its best.
const (
	redisRecords  = 1_000_000
	redisPipeline = "512"
	redisRequests = "6000000"
)

// BenchmarkAgainstRedis runs redis-benchmark and kvlab in turn, b.N times each,
// beside the same loaded redis-server on the same machine, and reports the
// medians and their ratio. -benchtime 5x makes five pairs.
func BenchmarkAgainstRedis(b *testing.B) {
	need(b, "redis-server", "redis-benchmark", "redis-cli")
	port := startRedis(b)
	var redis, kvlab []float64
	out := b.TempDir()
	for b.Loop() {
		redis = append(redis, redisGets(b, port))
		kvlab = append(kvlab, kvlabOps(b, out))
	}
	ratio := median(kvlab) / median(redis)
	b.ReportMetric(median(redis), "redis-GET/s")
	b.ReportMetric(median(kvlab), "kvlab-ops/s")
	b.ReportMetric(ratio, "kvlab/redis")
	b.ReportMetric(0, "ns/op") // the time of a pair says nothing
	if *update {
		writeComparison(b, redis, kvlab)
	}
}

// need skips unless the programs are there; in CI they must be.
func need(tb testing.TB, programs ...string) {
	tb.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err == nil {
			continue
		}
		if os.Getenv("KVLAB_CI") == "1" {
			tb.Fatalf("%s is missing, and KVLAB_CI=1 wants every test to run", p)
		}
		tb.Skipf("%s is missing: install redis-server and redis-tools to compare with Redis", p)
	}
}

// startRedis starts a redis-server without persistence, fills it with the keys
// that redis-benchmark asks for, and ends it with the test.
func startRedis(tb testing.TB) (port string) {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	_, port, _ = net.SplitHostPort(l.Addr().String())
	l.Close()
	server := exec.Command("redis-server", "--bind", "127.0.0.1", "--port", port, "--save", "", "--appendonly", "no", "--dir", tb.TempDir())
	if err := server.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		server.Process.Kill()
		server.Wait()
	})
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if conn, err := net.Dial("tcp", "127.0.0.1:"+port); err == nil {
			conn.Close()
			break
		}
		if time.Now().After(deadline) {
			tb.Fatalf("redis-server does not listen on port %s", port)
		}
	}
	fillRedis(tb, port)
	return port
}

func fillRedis(tb testing.TB, port string) {
	tb.Helper()
	var load bytes.Buffer
	w := bufio.NewWriter(&load)
	value := make([]byte, 128)
	for id := range redisRecords {
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
	if n := strings.TrimSpace(string(out)); err != nil || n != strconv.Itoa(redisRecords) {
		tb.Fatalf("redis holds %s keys of %d: %v", n, redisRecords, err)
	}
}

// redisGets is one run of redis-benchmark, in GET/s.
func redisGets(tb testing.TB, port string) float64 {
	tb.Helper()
	out, err := exec.Command("redis-benchmark", "-p", port, "-t", "get", "-P", redisPipeline, "-c", "50", "-d", "128",
		"-r", strconv.Itoa(redisRecords), "-n", redisRequests, "--csv").CombinedOutput()
	m := regexp.MustCompile(`(?m)^"GET","([0-9.]+)"`).FindSubmatch(out)
	if err != nil || m == nil {
		tb.Fatalf("redis-benchmark: %v\n%s", err, out)
	}
	return parse(tb, string(m[1]))
}

// kvlabOps is one run of kvlab in its default configuration, in verified ops/s.
func kvlabOps(tb testing.TB, out string, args ...string) float64 {
	tb.Helper()
	command := append([]string{"--local", "--secs", "5", "--out", out}, args...)
	text, err := exec.Command("./run-cluster.sh", command...).CombinedOutput()
	m := regexp.MustCompile(`(?m)^total ([0-9.]+) op/s$`).FindSubmatch(text)
	if err != nil || m == nil || !bytes.Contains(text, []byte("\nverdict VALID\n")) {
		tb.Fatalf("run-cluster.sh: %v\n%s", err, text)
	}
	return parse(tb, string(m[1]))
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

// The README's table stands between these lines.
const (
	tableBegin = "<!-- against redis: begin -->\n"
	tableEnd   = "<!-- against redis: end -->"
)

func writeComparison(tb testing.TB, redis, kvlab []float64) {
	tb.Helper()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		tb.Fatal(err)
	}
	head, rest, ok1 := strings.Cut(string(readme), tableBegin)
	_, tail, ok2 := strings.Cut(rest, tableEnd)
	if !ok1 || !ok2 {
		tb.Fatalf("README.md has no lines %q and %q", tableBegin, tableEnd)
	}
	table := fmt.Sprintf("| pairs of runs | redis-benchmark GET/s (median) | kvlab ops/s (median) | ratio |\n|---|---|---|---|\n| %d | %.2fM | %.2fM | **%.1f x** |\n",
		len(redis), median(redis)/1e6, median(kvlab)/1e6, median(kvlab)/median(redis))
	if err := os.WriteFile(filepath.Clean("README.md"), []byte(head+tableBegin+table+tableEnd+tail), 0o644); err != nil {
		tb.Fatal(err)
	}
}
