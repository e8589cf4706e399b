package door_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"kvlab/internal/kvstest"
	"kvlab/internal/redistest"
	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/kvs/driver/drivertest"
	"kvlab/kvs/driver/redis"
	"kvlab/kvs/resp"
)

// randomCommand returns one of the commands on which the gateway and Redis agree to the byte.
func randomCommand(r *rand.Rand) []string {
	key := func() string { return fmt.Sprint("key", r.IntN(12)) }
	field := func() string { return fmt.Sprint("field", r.IntN(6)) }
	value := func() string { return string(kvstest.RandomBytes(r, r.IntN(60))) }
	words := [][]string{
		{"GET", key()}, {"SET", key(), value()}, {"SET", key(), value(), "GET"}, {"MGET", key(), key(), key()}, {"MSET", key(), value(), key(), value()},
		{"DEL", key(), key()}, {"EXISTS", key(), key()}, {"STRLEN", key()}, {"TYPE", key()},
		{"HSET", key(), field(), value(), field(), value()}, {"HMSET", key(), field(), value()}, {"HMGET", key(), field(), field()}, {"HGETALL", key()},
		{"PING"}, {"PING", value()}, {"ECHO", value()}, {"SELECT", "0"}, {"SELECT", "-1"}, {"DBSIZE"}, {"CLIENT", "GETNAME"}, {"CLIENT", "SETNAME", "me"}, {"CLUSTER", "SLOTS"},
		{"FOO" + field(), key()},
	}[r.IntN(23)]
	switch r.IntN(30) {
	case 0:
		words = words[:1]
	case 1:
		if !slices.Contains([]string{"SET", "CLIENT", "CLUSTER"}, words[0]) && words[0][0] != 'F' {
			words = append(words, key())
		}
	case 2, 3, 4, 5:
		words[0] = strings.ToLower(words[0])
	}
	return words
}

// Replies to random commands are those of a real Redis, and so are its counters.
func TestAgainstRedis(t *testing.T) {
	oracle, random := redistest.Start(t), kvstest.NewRandom(t)
	addr, _ := start(t, options())
	for _, version := range []string{"2", "3"} {
		ours, theirs := dial(t, addr), dial(t, oracle.Addr)
		for _, conn := range []net.Conn{ours, theirs} {
			ask(t, conn, arrays("hello "+version), 1000)
		}
		for range 150 {
			var text []byte
			var commands [][]string
			for range 1 + random.IntN(100) {
				words := randomCommand(random)
				commands = append(commands, words)
				text = resp.AppendCommand(text, words...)
			}
			want := ask(t, theirs, text, len(text)+100)
			if got := ask(t, ours, text, 1+random.IntN(len(text))); !bytes.Equal(got, want) {
				t.Fatalf("RESP%s: %q\ngot  %q\nwant %q", version, commands, got, want)
			}
		}
	}
	got, want := lines(t, dial(t, addr)), lines(t, dial(t, oracle.Addr))
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("INFO differs from line %d on:\n%s\nwant\n%s", i, strings.Join(got[i:], "\n"), strings.Join(want[i:], "\n"))
		}
	}
}

// lines are those of INFO on which the gateway and Redis agree, in order.
func lines(t *testing.T, conn net.Conn) (all []string) {
	for line := range strings.Lines(string(ask(t, conn, arrays("info stats commandstats errorstats keyspace replication"), 1000))) {
		line = strings.TrimSpace(line)
		name, stats, _ := strings.Cut(line, ":")
		switch {
		case strings.HasPrefix(name, "cmdstat_client"), strings.HasPrefix(name, "cmdstat_cluster"), strings.HasPrefix(name, "cmdstat_hello"), strings.HasPrefix(name, "cmdstat_info"):
		case strings.HasPrefix(name, "cmdstat_"):
			var kept []string
			for pair := range strings.SplitSeq(stats, ",") {
				if !strings.HasPrefix(pair, "usec") {
					kept = append(kept, pair)
				}
			}
			all = append(all, name+":"+strings.Join(kept, ","))
		case strings.HasPrefix(name, "errorstat_"), slices.Contains([]string{"keyspace_hits", "keyspace_misses", "total_error_replies", "evicted_keys", "expired_keys", "role", "db0", "connected_slaves"}, name):
			all = append(all, line)
		}
	}
	slices.Sort(all)
	return all
}

// kvlab's own driver of Redis passes its suite at the gateway, and counts what it did.
func TestDriver(t *testing.T) {
	kinds := []kvs.Kind{kvs.Get, kvs.Put, kvs.ReadModifyWrite, kvs.Insert, kvs.Delete}
	drivertest.Run(t, func(t *testing.T) driver.Driver {
		addr, _ := start(t, options())
		o := drivertest.Options()
		o.Transport, o.Foreign, o.Hosts = redis.Row.Name, []driver.Row{redis.Row}, []string{addr}
		d, err := driver.Open(o, driver.Use{Kinds: kinds})
		if err != nil {
			t.Fatal(err)
		}
		conn := drivertest.Dial(t, d, 0)
		before, err := d.(driver.Counter).Counts(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		ops := []kvs.Op{{Kind: kvs.Put, Key: []byte("k"), Value: []byte("v")}, {Kind: kvs.Get, Key: []byte("k")}, {Kind: kvs.Delete, Key: []byte("k")}, {Kind: kvs.Get, Key: []byte("k")}}
		if _, err := drivertest.Do(conn, ops...); err != nil {
			t.Fatal(err)
		}
		after, err := d.(driver.Counter).Counts(t.Context(), 0)
		if did := after.Counts.Sub(before.Counts); err != nil || did.Gets != 2 || did.Puts != 1 || did.Deletes != 1 || did.Hits != 1 || did.Misses != 1 || len(after.Others) > 0 || after.Instance == "" {
			t.Errorf("counts %+v, others %v, error %v", did, after.Others, err)
		}
		return d
	}, kinds...)
}

// Redis's own tools work as they are.
func TestTools(t *testing.T) {
	redistest.Need(t, "redis-cli", "redis-benchmark")
	addr, s := start(t, options())
	_, port, _ := net.SplitHostPort(addr)
	run := func(stdin, program string, args ...string) string {
		t.Helper()
		cmd := exec.Command(program, append([]string{"-p", port}, args...)...)
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.CombinedOutput()
		if err != nil || strings.Contains(string(out), "WARNING") {
			t.Fatalf("%s %q: %v\n%s", program, args, err, out)
		}
		return string(out)
	}
	if got := run("set k v\nget k\nhset h f v\nhgetall h\nget h\n", "redis-cli"); got != "OK\nv\n1\nf\nv\nWRONGTYPE Operation against a key holding the wrong kind of value\n\n" {
		t.Errorf("redis-cli: %q", got)
	}
	if got := run("", "redis-cli", "-3", "--json", "hgetall", "h"); got != "{\"f\":\"v\"}\n" {
		t.Errorf("redis-cli -3: %q", got)
	}
	pipe := string(arrays("set a 1", "set b 2")) + string(arrays("get a"))
	if got := run(pipe, "redis-cli", "--pipe"); !strings.Contains(got, "errors: 0, replies: 3") {
		t.Errorf("redis-cli --pipe: %q", got)
	}
	statLines(t, port)
	before := s.Counts()["resp"]
	for _, args := range []string{"-t get,set,mset -P 16 -n 10000 -r 100 -q", "-t ping,get -n 500 -3 -q --csv", "-t set -n 5000 -P 100 --threads 2 -q"} {
		run("", "redis-benchmark", strings.Fields(args)...)
	}
	if did := s.Counts()["resp"].Sub(before); did.Gets != 10_000+500 || did.Puts != 10_000+10*10_000+5000 {
		t.Errorf("redis-benchmark did %+v", did)
	}
}

// memtier_benchmark sends these commands: the first three when it connects, as far as its
// flags ask for them, without waiting for their replies (send_conn_setup_commands in
// shard_connection.cpp, and protocol.cpp, of release 2.3.1).
func TestMemtier(t *testing.T) {
	o := options()
	o.Password = "secret"
	addr, _ := start(t, o)
	commands := "*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n" + "*2\r\n$5\r\nHELLO\r\n$1\r\n%d\r\n" +
		"*3\r\n$3\r\nSET\r\n$9\r\nmemtier-1\r\n$4\r\nxxxx\r\n" + "*2\r\n$3\r\nGET\r\n$9\r\nmemtier-1\r\n" + "*2\r\n$3\r\nGET\r\n$9\r\nmemtier-2\r\n"
	for version, want := range map[int]struct{ hello, null string }{2: {"*14\r\n", "$-1\r\n"}, 3: {"%7\r\n", "_\r\n"}} {
		for _, auth := range []string{"*2\r\n$4\r\nAUTH\r\n$6\r\nsecret\r\n", "*3\r\n$4\r\nAUTH\r\n$7\r\ndefault\r\n$6\r\nsecret\r\n"} {
			got := string(ask(t, dial(t, addr), fmt.Appendf(nil, auth+commands, version), 10_000))
			if !strings.HasPrefix(got, "+OK\r\n+OK\r\n"+want.hello) || !strings.HasSuffix(got, "*0\r\n+OK\r\n$4\r\nxxxx\r\n"+want.null) {
				t.Errorf("RESP%d: %q", version, got)
			}
		}
	}
}

// statLines reads the first lines of redis-cli --stat, which goes on for ever.
func statLines(t *testing.T, port string) {
	stat := exec.Command("redis-cli", "-p", port, "--stat", "-i", "0.01")
	out, err := stat.StdoutPipe()
	if err == nil {
		err = stat.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer stat.Wait() // it was killed
	defer stat.Process.Kill()
	text := make([]byte, 400)
	if _, err := io.ReadFull(out, text); err != nil || !bytes.Contains(text, []byte("requests")) {
		t.Errorf("redis-cli --stat: %v, %q", err, text)
	}
}
