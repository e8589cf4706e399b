package main

import (
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"kvlab/internal/redistest"
	"kvlab/kvs/resp"
)

// expiringStore serves Redis' GET, and SET with PX, whose keys live for lives of what PX says, on
// loopback until the test ends. It returns its address.
func expiringStore(t *testing.T, lives func(px time.Duration) time.Duration) string {
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
			store[words[1]] = entry{words[2], time.Now().Add(lives(time.Duration(ms) * time.Millisecond))}
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
	fake := func(lives func(time.Duration) time.Duration) string {
		return "redis://" + expiringStore(t, lives) + "?counts=none"
	}
	for _, test := range []struct{ name, target, want string }{
		{"redis", `{"driver":"redis","run":"redis-server --bind {host} --port {port} --dir {dir} --save '' --appendonly no"}`, "VALID"},
		{"memcached", `{"driver":"memcached","run":"memcached -l {host} -p {port} -U 0 -u root"}`, "VALID"},
		{"exact", fake(func(px time.Duration) time.Duration { return px }), "VALID"},
		{"never", fake(func(time.Duration) time.Duration { return time.Hour }), "it outlives -ttl 3s"},
		{"early", fake(func(time.Duration) time.Duration { return 700 * time.Millisecond }), "no key can have lived for its -ttl"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			out, err := exec.Command(filepath.Join(build(t), "bin", "kvscluster"), "--local", "--no-ceiling", "--out", t.TempDir(), "--target", test.target,
				"--ttl", "3s", "--records", "2000", "--workers", "4", "--batch", "16", "--rate", "2k", "--warmup", "0", "--secs", "6").CombinedOutput()
			_, verdict, _ := strings.Cut(string(out), "\nverdict ")
			if valid := test.want == "VALID"; !strings.Contains(verdict, test.want) || strings.HasPrefix(verdict, "VALID") != valid {
				t.Errorf("%v, verdict %s, want %q\n%s", err, verdict, test.want, out)
			}
			if why := fmt.Sprint(err); (test.want == "VALID") != (err == nil) {
				t.Errorf("the exit status says %s", why)
			}
		})
	}
}
