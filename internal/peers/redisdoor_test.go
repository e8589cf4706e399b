package peers_test

import (
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"kvlab/internal/redistest"
)

// BenchmarkRedisDoor runs redis-benchmark against kvsserver -resp and redis-server in
// turn, b.N times each, on the same machine with the same records. -benchtime 9x makes nine
// pairs. It reports the ratio of their rates with its interval of 95 %.
func BenchmarkRedisDoor(b *testing.B) {
	redistest.Need(b, "redis-server", "redis-benchmark", "redis-cli")
	redis, door := redistest.Start(b).Port, startDoor(b)
	fillRedis(b, redis)
	fillRedis(b, door)
	rows := "| `redis-benchmark -c 50 -d 128` | Redis | `kvsserver -resp -engine slab` | pairs of runs | ratio |\n|---|---|---|---|---|\n"
	for _, args := range []string{"-P 128 --threads 2 -n 1000000", "-P 1 -n 50000"} {
		for _, command := range []string{"SET", "GET"} {
			b.Run(command+" "+args[:strings.Index(args, " -n")], func(b *testing.B) {
				var theirs, ours []float64
				for b.Loop() {
					theirs = append(theirs, redisRate(b, redis, command, args))
					ours = append(ours, redisRate(b, door, command, args))
				}
				b.ReportMetric(median(theirs), "redis-ops/s")
				b.ReportMetric(median(ours), "door-ops/s")
				ratio := reportRatio(b, theirs, ours)
				low, high := ratio.RatioInterval(0.95)
				if !ratio.Known {
					return // too few pairs for an interval
				}
				rows += fmt.Sprintf("| `-t %s %s` | %s | %s | %d | **%.2f x** (%.2f to %.2f) |\n", strings.ToLower(command), args[:strings.Index(args, " -n")],
					people(median(theirs)), people(median(ours)), len(ours), ratio.Ratio(), low, high)
			})
		}
	}
	if *update && strings.Count(rows, "\n") == 6 {
		writeTable(b, "redis door", rows)
	}
}

// startDoor starts a server of the store, and returns the port of its RESP gateway.
func startDoor(b *testing.B) (port string) {
	program := filepath.Join(b.TempDir(), "kvsserver")
	if out, err := exec.Command("go", "build", "-o", program, "./cmd/kvsserver").CombinedOutput(); err != nil {
		b.Fatalf("go build: %v\n%s", err, out)
	}
	port = strconv.Itoa(redistest.Free(b))
	server := exec.Command(program, "-port", "0", "-engine", "slab", "-resp", "127.0.0.1:"+port)
	if err := server.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		server.Process.Kill()
		server.Wait()
	})
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			conn.Close()
			return port
		}
		if time.Now().After(deadline) {
			b.Fatal(err)
		}
	}
}

// redisRate is one run of redis-benchmark, in commands a second.
func redisRate(b *testing.B, port, command, args string) float64 {
	if testing.Short() {
		args = strings.Replace(args, "0000", "00", 1)
	}
	words := append(strings.Fields(args), "-p", port, "-t", command, "-c", "50", "-d", "128", "-r", strconv.Itoa(redisRecords()), "--csv")
	out, err := exec.Command("redis-benchmark", words...).CombinedOutput()
	m := regexp.MustCompile(`(?m)^"` + command + `","([0-9.]+)"`).FindSubmatch(out)
	if err != nil || m == nil {
		b.Fatalf("redis-benchmark %q: %v\n%s", words, err, out)
	}
	return parse(b, string(m[1]))
}
