package memcached_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"kvlab/internal/kvstest"
	"kvlab/internal/wiretest"
	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/kvs/driver/drivertest"
	"kvlab/kvs/driver/memcached"
	"kvlab/kvs/wire"
	"kvlab/metrics"
)

var kinds = []kvs.Kind{kvs.Get, kvs.Put, kvs.Insert, kvs.Delete}

// server is a memcached on loopback.
type server struct {
	addr    string
	process *exec.Cmd
}

// start starts a memcached with further arguments on an address, or on a free port, and ends
// it with the test.
func start(tb testing.TB, addr string, args ...string) *server {
	tb.Helper()
	if _, err := exec.LookPath("memcached"); err != nil {
		if os.Getenv("KVLAB_CI") == "1" {
			tb.Fatal("memcached is missing, and KVLAB_CI=1 wants every test to run")
		}
		tb.Skip("memcached is missing: install memcached")
	}
	if addr == "" {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			tb.Fatal(err)
		}
		addr = l.Addr().String()
		l.Close()
	}
	host, port, _ := net.SplitHostPort(addr)
	s := &server{addr, exec.Command("memcached", append([]string{"-u", "nobody", "-l", host, "-p", port, "-t", "2", "-R", "1000"}, args...)...)}
	if err := s.process.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.kill)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if conn, err := net.Dial("tcp", addr); err == nil {
			conn.Close()
			return s
		}
		if time.Now().After(deadline) {
			tb.Fatalf("memcached does not listen on %s", addr)
		}
	}
}

func (s *server) kill() {
	_ = s.process.Process.Kill()
	_ = s.process.Wait()
}

// say sends a line to the server as a third-party client, and returns the line that it answers.
func (s *server) say(t *testing.T, text string) string {
	t.Helper()
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "%s\r\n", text)
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

func options(addresses ...string) driver.Options {
	o := drivertest.Options()
	o.Transport, o.Foreign, o.Hosts = memcached.Row.Name, []driver.Row{memcached.Row}, addresses
	return o
}

func open(tb testing.TB, o driver.Options, kinds ...kvs.Kind) driver.Driver {
	tb.Helper()
	u := driver.Use{Kinds: kinds}
	if err := o.Validate(u); err != nil {
		tb.Fatal(err)
	}
	d, err := driver.Open(o, u)
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

func TestDriver(t *testing.T) {
	drivertest.Run(t, func(t *testing.T) driver.Driver {
		return open(t, options(start(t, "", "-M", "-I", "2m").addr), kinds...)
	}, kinds...)
}

func TestBytes(t *testing.T) {
	drivertest.Bytes(t, start(t, "", "-M").addr, func(t *testing.T, addr string) driver.Driver { return open(t, options(addr), kinds...) })
}

func TestStoreless(t *testing.T) { drivertest.Storeless(t, memcached.Row, nil) }

func TestCuts(t *testing.T) {
	drivertest.Cuts(t, start(t, "", "-M").addr, func(t *testing.T, addr string) driver.Driver {
		return open(t, options(addr), kinds...)
	}, kinds...)
}

// A wrong flag, kind or setting is refused in one line.
func TestCheck(t *testing.T) {
	for want, change := range map[string]func(*driver.Options, *driver.Use){
		"-retry":                       func(o *driver.Options, _ *driver.Use) { o.Retry = true },
		"-cache all: want the default": func(o *driver.Options, _ *driver.Use) { _ = o.Cached.Set("all") },
		"has no scan":                  func(_ *driver.Options, u *driver.Use) { u.Kinds = []kvs.Kind{kvs.Scan} },
		"has no read-modify-write":     func(_ *driver.Options, u *driver.Use) { u.Kinds = []kvs.Kind{kvs.ReadModifyWrite} },
		"did you mean password?":       func(o *driver.Options, _ *driver.Use) { o.Settings = map[string]string{"pasword": "x"} },
	} {
		o, u := options("h:1"), driver.Use{Kinds: kinds}
		if change(&o, &u); o.Validate(u) == nil || !strings.Contains(o.Validate(u).Error(), want) {
			t.Errorf("error %v, want %q", o.Validate(u), want)
		}
	}
}

func counts(t *testing.T, d driver.Driver) metrics.StoreCounts {
	t.Helper()
	c, err := d.(driver.Counter).Counts(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A server's counters are those of the operations, and show what others do.
func TestCounts(t *testing.T) {
	s := start(t, "", "-M", "-I", "2m")
	d := open(t, options(s.addr), kinds...)
	defer d.Close()
	conn := drivertest.Dial(t, d, 0)
	var want metrics.Counts
	model, random := map[string]bool{}, kvstest.NewRandom(t)
	before := counts(t, d)
	for range 20 {
		ops := kvstest.RandomOps(random, 200, kvs.Scan)
		for i := range ops {
			if ops[i].Kind == kvs.ReadModifyWrite {
				ops[i] = kvs.Op{Kind: kvs.Get}
			}
			key := fmt.Sprintf("key%d", random.IntN(50))
			ops[i].Key = []byte(key)
			found := &want.Misses
			if model[key] {
				found = &want.Hits
			}
			switch ops[i].Kind {
			case kvs.Get:
				want.Gets++
				*found++
			case kvs.Delete:
				want.Deletes++
				*found++
				delete(model, key)
			default:
				want.Puts++
				model[key] = true
			}
		}
		if _, err := drivertest.Do(conn, ops...); err != nil {
			t.Fatal(err)
		}
	}
	after := counts(t, d)
	if got := after.Counts.Sub(before.Counts); got != want || after.Records != uint64(len(model)) {
		t.Errorf("memcached counts %+v and %d records, want %+v and %d", got, after.Records, want, len(model))
	}
	if !maps.Equal(after.Others, before.Others) || !maps.Equal(after.Fixed, before.Fixed) || after.Instance != before.Instance || after.Instance == "" {
		t.Errorf("counts of a valid run: from %+v to %+v", before, after)
	}
	if after.Version == "" || after.Settings["reqs_per_event"] != "1000" || after.Settings["evictions"] != "off" || after.Settings["num_threads"] != "2" {
		t.Errorf("version %q, settings %v", after.Version, after.Settings)
	}
	for stranger, moved := range map[string]func(was, is metrics.StoreCounts) bool{
		"set s 0 0 1\r\nx": func(was, is metrics.StoreCounts) bool { return is.Counts.Puts == was.Counts.Puts+1 },
		"get s":            func(was, is metrics.StoreCounts) bool { return is.Counts.Gets == was.Counts.Gets+1 },
		"touch key1 0":     func(was, is metrics.StoreCounts) bool { return is.Others["cmd_touch"] > was.Others["cmd_touch"] },
		"flush_all":        func(was, is metrics.StoreCounts) bool { return is.Fixed["cmd_flush"] > was.Fixed["cmd_flush"] },
		"stats reset":      func(was, is metrics.StoreCounts) bool { return is.Counts.Puts < was.Counts.Puts },
	} {
		was := counts(t, d)
		if stranger == "stats reset" {
			s.say(t, "set s 0 0 1\r\nx")
			was.Counts.Puts++
		}
		answer := s.say(t, stranger)
		if is := counts(t, d); !moved(was, is) {
			t.Errorf("%q, answered with %q, does not show: from %+v to %+v", stranger, answer, was, is)
		}
	}
}

// A refused set is an error of its operation, says that nothing is stored, and leaves the
// connection usable.
func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		size int
		want string
	}{
		"too large": {[]string{"-M"}, kvs.MaxValueLen, "too large"},
		"no memory": {[]string{"-M", "-m", "2", "-I", "512k"}, 400 << 10, "out of memory"},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t, options(start(t, "", c.args...).addr), kinds...)
			defer d.Close()
			conn := drivertest.Dial(t, d, 0)
			key, before := []byte("k"), counts(t, d)
			if _, err := drivertest.Do(conn, kvs.Op{Kind: kvs.Put, Key: key, Value: []byte("old")}); err != nil {
				t.Fatal(err)
			}
			var refused *driver.OpError
			for i := 0; i < 100 && refused == nil; i++ {
				if i > 0 {
					key = fmt.Appendf(nil, "k%d", i)
				}
				_, err := drivertest.Do(conn, kvs.Op{Kind: kvs.Put, Key: key, Value: make([]byte, c.size)}, kvs.Op{Kind: kvs.Get, Key: key})
				if err != nil && (!errors.As(err, &refused) || refused.Effect != driver.NotApplied || refused.Kind != kvs.Put || !strings.Contains(err.Error(), c.want)) {
					t.Fatalf("error %v, want a refused put", err)
				}
			}
			if refused == nil {
				t.Fatal("nothing is refused")
			}
			results, err := drivertest.Do(conn, kvs.Op{Kind: kvs.Get, Key: key})
			if err != nil || results[0].Found {
				t.Errorf("after a refused put: %v, %v; want a miss", results, err)
			}
			if maps.Equal(counts(t, d).Fixed, before.Fixed) {
				t.Error("no counter shows the refusal")
			}
		})
	}
}

// An eviction shows in the counters.
func TestEviction(t *testing.T) {
	d := open(t, options(start(t, "", "-m", "2", "-I", "512k").addr), kinds...)
	defer d.Close()
	conn := drivertest.Dial(t, d, 0)
	for i := 0; counts(t, d).Fixed["evictions"] == 0; i++ {
		if i == 200 {
			t.Fatal("no eviction")
		}
		if _, err := drivertest.Do(conn, kvs.Op{Kind: kvs.Put, Key: fmt.Appendf(nil, "k%d", i), Value: make([]byte, 100<<10)}); err != nil {
			t.Fatal(err)
		}
	}
}

// Only keys that the protocol carries are sent.
func TestKeys(t *testing.T) {
	s := start(t, "", "-M")
	d := open(t, options(s.addr), kinds...)
	defer d.Close()
	for _, key := range []string{"a b", "a\r\nflush_all", strings.Repeat("k", 251), "\x7f", "é"} {
		_, err := drivertest.Do(drivertest.Dial(t, d, 0), kvs.Op{Kind: kvs.Get, Key: []byte("k")}, kvs.Op{Kind: kvs.Get, Key: []byte(key)})
		if fine := key == "é"; fine != (err == nil) || !fine && !strings.Contains(err.Error(), "memcached takes at most 250") {
			t.Errorf("key %.10q: error %v", key, err)
		}
	}
}

// A server that was restarted is named.
func TestRestart(t *testing.T) {
	s := start(t, "", "-M")
	d := open(t, options(s.addr), kinds...)
	defer d.Close()
	conn := drivertest.Dial(t, d, 0)
	s.kill()
	_, err := drivertest.Do(conn, kvs.Op{Kind: kvs.Get, Key: []byte("k")})
	if err == nil {
		t.Fatal("a call of a server that is gone succeeds")
	}
	start(t, s.addr, "-M")
	var restarted *wire.RestartedError
	if why := d.Explain(t.Context(), 0, err); !errors.As(why, &restarted) || restarted.Node != s.addr {
		t.Errorf("the error %v is explained by %v, want a restart", err, why)
	}
	if _, _, err := d.Dial(t.Context(), 0, 1); !errors.As(err, &restarted) {
		t.Errorf("error %v, want a restart", err)
	}
}

// A server of something else is named as such.
func TestNoMemcached(t *testing.T) {
	l := wiretest.Start(t, func(conn net.Conn) {
		conn.Write([]byte("-ERR unknown command\r\n"))
		conn.Close()
	})
	if _, _, err := open(t, options(l.Addr().String())).Dial(t.Context(), 0, 0); err == nil || !strings.Contains(err.Error(), "want a memcached") {
		t.Errorf("error %v", err)
	}
}

// A call allocates nothing per operation.
func TestAllocations(t *testing.T) {
	conn := drivertest.Dial(t, open(t, options(start(t, "", "-M").addr), kinds...), 0)
	var batch kvs.Batch
	var reply kvs.Reply
	value := bytes.Repeat([]byte("v"), 128)
	for i := range 1000 {
		key := fmt.Appendf(nil, "key%d", i)
		batch.Append(kvs.Put, key, value)
		batch.Get(key)
	}
	call := kvs.Call{Batch: &batch, Reply: &reply}
	if n := testing.AllocsPerRun(50, func() {
		conn.Send(&call)
		if err := conn.Wait(&call); err != nil {
			t.Fatal(err)
		}
	}); n > 20 {
		t.Errorf("%.0f allocations for a call of 2000 operations", n)
	}
}
