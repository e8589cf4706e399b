package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"kvlab/internal/redistest"
	"kvlab/kvs/resp"
)

// expiringStore serves Redis' GET, and SET with PX, on loopback until the test ends. A
// key lives for lives of what PX says, and of whether it is written again. It returns the address.
func expiringStore(t *testing.T, lives func(px time.Duration, again bool) time.Duration) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	type entry struct {
		value string
		until time.Time
	}
	var mu sync.Mutex
	store := make(map[string]entry)
	answer := func(out []byte, words []string) []byte {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case words[0] == "SET" && len(words) == 5 && words[3] == "PX":
			ms, err := strconv.Atoi(words[4])
			if err != nil {
				return append(out, "-ERR value is not an integer\r\n"...)
			}
			_, again := store[words[1]]
			store[words[1]] = entry{words[2], time.Now().Add(lives(time.Duration(ms)*time.Millisecond, again))}
			return append(out, "+OK\r\n"...)
		case words[0] == "GET" && len(words) == 2:
			if e, ok := store[words[1]]; ok && time.Now().Before(e.until) {
				return resp.AppendBulk(out, e.value)
			}
			return resp.AppendNull(out, resp.RESP2)
		}
		return append(out, "-ERR unknown command\r\n"...)
	}
	var serving sync.WaitGroup
	serve := func(socket net.Conn) {
		defer socket.Close()
		in := resp.Commands{Limits: resp.Limits{Args: 6, Bulk: 1 << 20, Size: 1 << 21}}
		for in.Read(socket) == nil {
			var out []byte
			for {
				n, err := in.Next()
				if err != nil || n == 0 {
					break
				}
				words := make([]string, n)
				for i := range words {
					words[i] = string(in.Arg(i))
				}
				out = answer(out, words)
			}
			if _, err := socket.Write(out); err != nil {
				return
			}
		}
	}
	serving.Go(func() {
		for {
			socket, err := l.Accept()
			if err != nil {
				return
			}
			go serve(socket)
		}
	})
	t.Cleanup(func() { l.Close(); serving.Wait() })
	return l.Addr().String()
}

// With --ttl, a store whose keys expire when they must is VALID, and one whose keys live longer
// or less is not.
func TestTTL(t *testing.T) {
	inCI(t)
	redistest.Need(t, "redis-server", "memcached")
	t.Parallel()
	seeds := 1
	if os.Getenv("KVLAB_LONG") == "1" {
		seeds = 10
	}
	real := func(target string) func(*testing.T) string { return func(*testing.T) string { return target } }
	fake := func(lives func(time.Duration, bool) time.Duration) func(*testing.T) string {
		return func(t *testing.T) string { return "redis://" + expiringStore(t, lives) + "?counts=none" }
	}
	for _, test := range []struct {
		name   string
		target func(*testing.T) string
		want   string // the verdict matches it
	}{
		{"redis", real(`{"driver":"redis","run":"redis-server --bind {host} --port {port} --dir {dir} --save '' --appendonly no"}`), "^VALID"},
		{"memcached", real(`{"driver":"memcached","run":"memcached -l {host} -p {port} -U 0 -u root"}`), "^VALID"},
		{"exact", fake(func(px time.Duration, _ bool) time.Duration { return px }), "^VALID"},
		{"never", fake(func(time.Duration, bool) time.Duration { return time.Hour }), "^INVALID.* it outlives -ttl 3s"},
		{"early, when written again", fake(func(px time.Duration, again bool) time.Duration {
			if again {
				return 700 * time.Millisecond
			}
			return px
		}), "^INVALID.*(is missing, want version|none can have lived for its -ttl)"},
	} {
		for seed := range seeds {
			t.Run(fmt.Sprintf("%s/seed %d", test.name, seed), func(t *testing.T) {
				t.Parallel()
				out, err := exec.Command(filepath.Join(build(t), "bin", "kvscluster"), "--local", "--no-ceiling", "--out", t.TempDir(), "--target", test.target(t),
					"--ttl", "3s", "--records", "2000", "--workers", "4", "--batch", "16", "--rate", "2k", "--warmup", "0", "--secs", "6", "--client-args", fmt.Sprintf("-seed %d", seed)).CombinedOutput()
				_, verdict, _ := strings.Cut(string(out), "\nverdict ")
				if valid := test.want == "^VALID"; !regexp.MustCompile(test.want).MatchString(verdict) || valid != (err == nil) {
					t.Errorf("%v, verdict %s, want %q\n%s", err, verdict, test.want, out)
				}
			})
		}
	}
}
