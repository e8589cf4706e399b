package redis_test

import (
	"bufio"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"

	"kvlab/internal/kvstest"
	"kvlab/internal/redistest"
	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/kvs/driver/drivertest"
	"kvlab/kvs/driver/redis"
	"kvlab/kvs/route"
	"kvlab/kvs/wire"
	"kvlab/metrics"
)

var kinds = []kvs.Kind{kvs.Get, kvs.Put, kvs.ReadModifyWrite, kvs.Insert, kvs.Delete}

func options(row driver.Row, addresses ...string) driver.Options {
	o := drivertest.Options()
	o.Transport, o.Foreign, o.Hosts = row.Name, []driver.Row{row}, addresses
	return o
}

func open(t *testing.T, o driver.Options) driver.Driver {
	t.Helper()
	u := driver.Use{Kinds: kinds, Router: route.Slots}
	if err := o.Validate(u); err != nil {
		t.Fatal(err)
	}
	d, err := driver.Open(o, u)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDriver(t *testing.T) {
	server := redistest.Start(t)
	drivertest.Run(t, func(t *testing.T) driver.Driver {
		server.Do("FLUSHALL")
		return open(t, options(redis.Row, server.Addr))
	}, kinds...)
}

func TestBytes(t *testing.T) {
	drivertest.Bytes(t, redistest.Start(t).Addr, func(t *testing.T, addr string) driver.Driver { return open(t, options(redis.Row, addr)) })
}

func TestCuts(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	drivertest.Cuts(t, server.Addr, func(t *testing.T, addr string) driver.Driver { return open(t, options(redis.Row, addr)) }, kinds...)
}

// What is kvlab's alone is refused in one line that names the flag or setting.
func TestCheck(t *testing.T) {
	for want, change := range map[string]func(*driver.Options, *driver.Use){
		"-retry":                       func(o *driver.Options, _ *driver.Use) { o.Retry = true },
		"-dedup":                       func(o *driver.Options, _ *driver.Use) { o.Dedup = true },
		"-crc":                         func(o *driver.Options, _ *driver.Use) { o.CRC = true },
		"-cache all: want the default": func(o *driver.Options, _ *driver.Use) { _ = o.Cached.Set("all") },
		"-codec gob: want the default": func(o *driver.Options, _ *driver.Use) { o.Codec = "gob" },
		"has no scan":                  func(_ *driver.Options, u *driver.Use) { u.Kinds = []kvs.Kind{kvs.Scan} },
		"did you mean password?":       func(o *driver.Options, _ *driver.Use) { o.Settings = map[string]string{"pasword": "x"} },
		"setting user: want the setting password":    func(o *driver.Options, _ *driver.Use) { o.Settings = map[string]string{"user": "x"} },
		"-router fnv: want slots with -transport re": func(o *driver.Options, u *driver.Use) { o.Transport, u.Router = redis.ClusterRow.Name, "fnv" },
	} {
		o, u := options(redis.Row, "h:1"), driver.Use{Kinds: kinds, Router: route.Slots}
		o.Foreign = append(o.Foreign, redis.ClusterRow)
		if change(&o, &u); o.Validate(u) == nil || !strings.Contains(o.Validate(u).Error(), want) {
			t.Errorf("error %v, want %q", o.Validate(u), want)
		}
	}
}

func counts(t *testing.T, d driver.Driver, server int) metrics.StoreCounts {
	t.Helper()
	c, err := d.(driver.Counter).Counts(t.Context(), server)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A server's counters are those of the operations, and show what others do.
func TestCounts(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	d := open(t, options(redis.Row, server.Addr))
	defer d.Close()
	conn := drivertest.Dial(t, d, 0)
	var want metrics.Counts
	model, random := map[string]bool{}, kvstest.NewRandom(t)
	before := counts(t, d, 0)
	for range 20 {
		ops := kvstest.RandomOps(random, 200, kvs.Scan)
		for i := range ops {
			ops[i].Key = fmt.Appendf(nil, "key%d", random.IntN(50))
			key := string(ops[i].Key)
			switch kind := ops[i].Kind; {
			case kind == kvs.Delete:
				want.Deletes++
			case kind == kvs.Get:
				want.Gets++
			default:
				want.Puts++
			}
			if ops[i].Kind.Reads() && model[key] {
				want.Hits++
			} else if ops[i].Kind.Reads() {
				want.Misses++
			}
			if ops[i].Kind.Writes() {
				model[key] = true
			} else if ops[i].Kind == kvs.Delete {
				delete(model, key)
			}
		}
		if _, err := drivertest.Do(conn, ops...); err != nil {
			t.Fatal(err)
		}
	}
	after := counts(t, d, 0)
	if got := after.Counts.Sub(before.Counts); got != want || after.Records != uint64(len(model)) {
		t.Errorf("Redis counts %+v and %d records, want %+v and %d", got, after.Records, want, len(model))
	}
	if !maps.Equal(after.Others, before.Others) || !maps.Equal(after.Beside, before.Beside) || !maps.Equal(after.Fixed, before.Fixed) || after.Instance != before.Instance || after.Instance == "" {
		t.Errorf("%+v, and before %+v", after, before)
	}
	if !strings.HasPrefix(after.Version, "redis ") || after.Settings["appendonly"] != `"no"` || after.Settings["save"] != `""` || after.Settings[metrics.Durability] != metrics.InMemory || after.Settings[metrics.Replicas] != "0" {
		t.Errorf("version %s, settings %v", after.Version, after.Settings)
	}
	if log := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always"); counts(t, open(t, options(redis.Row, log.Addr)), 0).Settings[metrics.Durability] != metrics.EachAnswer {
		t.Error("a log that is synced with each answer is not said to be")
	}
	server.Do("INCR", "stranger")
	server.Do("PING")
	server.Do("CONFIG", "GET", "save")
	stranger, err := net.Dial("tcp", server.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	fmt.Fprintf(stranger, "LPUSH list x\r\n")
	if reply, err := bufio.NewReader(stranger).ReadString('\n'); reply != ":1\r\n" {
		t.Fatalf("LPUSH: %q, %v", reply, err)
	}
	if c := counts(t, d, 0); c.Others["INCR"] != 1 || c.Others["LPUSH"] != 1 || c.Beside["PING"] != 1 || c.Beside["CONFIG GET"] != after.Beside["CONFIG GET"]+1 || !slices.Equal(c.Peers, []string{stranger.LocalAddr().String() + " (LPUSH)"}) {
		t.Errorf("others %v, beside %v, peers %v", c.Others, c.Beside, c.Peers)
	}
	server.Do("CONFIG", "RESETSTAT")
	if c := counts(t, d, 0); c.Counts != (metrics.Counts{}) || c.Instance != after.Instance {
		t.Errorf("%+v after CONFIG RESETSTAT", c)
	}
	server.Do("PSETEX", "stranger", "1", "x")
	for server.Do("EXISTS", "stranger") == "1" {
	}
	if c := counts(t, d, 0); c.Fixed["expired_keys"] != 1 {
		t.Errorf("%v after an expiry", c.Fixed)
	}
}

// An operation that Redis refuses fails its call with what it did, and no later call.
func TestRefused(t *testing.T) {
	server := redistest.Start(t)
	d := open(t, options(redis.Row, server.Addr))
	defer d.Close()
	conn := drivertest.Dial(t, d, 0)
	server.Do("LPUSH", "list", "x")
	get := kvs.Op{Kind: kvs.Get, Key: []byte("k")}
	for _, c := range []struct {
		prepare []string
		op      kvs.Op
		code    string
		effect  driver.Effect
		counted uint64
	}{
		{nil, kvs.Op{Kind: kvs.ReadModifyWrite, Key: []byte("list"), Value: []byte("x")}, "WRONGTYPE", driver.NotApplied, 0},
		{nil, kvs.Op{Kind: kvs.Get, Key: []byte("list")}, "WRONGTYPE", driver.NotApplied, 0},
		{[]string{"CONFIG", "SET", "maxmemory", "1"}, kvs.Op{Kind: kvs.Put, Key: []byte("k")}, "OOM", driver.NotApplied, 0},
	} {
		if c.prepare != nil {
			server.Do(c.prepare...)
		}
		before := counts(t, d, 0)
		_, err := drivertest.Do(conn, get, c.op, get)
		var refused *driver.OpError
		if !errors.As(err, &refused) || refused.Effect != c.effect || refused.Kind != c.op.Kind || !strings.HasPrefix(refused.Text, c.code) {
			t.Errorf("error %v, want %s", err, c.code)
		}
		if why := d.Explain(t.Context(), 0, err); why != nil {
			t.Errorf("explained by %v", why)
		}
		after := counts(t, d, 0)
		if got := after.Counts.Sub(before.Counts); got.Gets != 2 || got.Puts != 0 {
			t.Errorf("%s: Redis counts %+v, want the Gets beside it", c.code, got)
		}
	}
	if results, err := drivertest.Do(conn, get); err != nil || results[0].Found {
		t.Errorf("the next call: %v, %v", results, err)
	}
}

// A restarted server is named by Explain, and refused by Dial.
func TestRestarted(t *testing.T) {
	server := redistest.Start(t)
	d := open(t, options(redis.Row, server.Addr))
	defer d.Close()
	conn, was := drivertest.Dial(t, d, 0), counts(t, d, 0).Instance
	server.Kill()
	_, err := drivertest.Do(conn, kvs.Op{Kind: kvs.Get, Key: []byte("k")})
	if err == nil {
		t.Fatal("a call to a killed server succeeds")
	}
	if _, err := d.(driver.Counter).Counts(t.Context(), 0); err == nil {
		t.Error("a killed server is counted")
	}
	if why := d.Explain(t.Context(), 0, err); why != nil {
		t.Errorf("a killed server is explained by %v", why)
	}
	server.Restart()
	is := counts(t, d, 0).Instance
	for _, err := range []error{d.Explain(t.Context(), 0, err), func() error { _, _, err := d.Dial(t.Context(), 0, 1); return err }()} {
		var restarted *wire.RestartedError
		if !errors.As(err, &restarted) || *restarted != (wire.RestartedError{Node: server.Addr, Was: was, Is: is}) || was == is {
			t.Errorf("error %v, want %s restarted", err, server.Addr)
		}
	}
}

// With a password only those connect who know it.
func TestPassword(t *testing.T) {
	server := redistest.Start(t, "--requirepass", "secret", "--user", "kv", "on", ">word", "~*", "+@all")
	for _, c := range []struct{ user, password, code string }{
		{"", "secret", ""}, {"default", "secret", ""}, {"kv", "word", ""},
		{"", "", "NOAUTH"}, {"", "word", "WRONGPASS"}, {"kv", "secret", "WRONGPASS"},
	} {
		o := options(redis.Row, server.Addr)
		o.Settings = map[string]string{"user": c.user, "password": c.password}
		d := open(t, o)
		conn, _, err := d.Dial(t.Context(), 0, 0)
		if (err == nil) != (c.code == "") || err != nil && (!strings.Contains(err.Error(), c.code) || !strings.Contains(err.Error(), server.Addr)) {
			t.Errorf("%+v: error %v", c, err)
		}
		if err == nil {
			conn.Close()
		}
	}
}

// The router's slots are those that a real Redis finds.
func TestKeySlot(t *testing.T) {
	server := redistest.Start(t, "--cluster-enabled", "yes", "--cluster-port", fmt.Sprint(redistest.Free(t)))
	router, err := route.New(route.Slots, 1<<14, nil)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", server.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	random, replies := kvstest.NewRandom(t), bufio.NewReader(conn)
	const braces = "{}{}ab"
	for range 100 {
		key := make([]byte, 1+random.IntN(12))
		for i := range key {
			key[i] = braces[random.IntN(len(braces))]
		}
		fmt.Fprintf(conn, "CLUSTER KEYSLOT %s\r\n", key)
		want, err := replies.ReadString('\n')
		if got := fmt.Sprintf(":%d\r\n", router.Server(key, 0)); err != nil || got != want {
			t.Fatalf("slot %q of %s, want %q, %v", got, key, want, err)
		}
	}
}

func TestStoreless(t *testing.T) {
	for _, row := range []driver.Row{redis.Row, redis.ClusterRow} {
		drivertest.Storeless(t, row, nil, kvs.ReadModifyWrite, kvs.Insert, kvs.Delete)
	}
}

// What transactions see is strictly serializable, and what EXEC refuses leaves nothing. They do
// not reach over two servers.
func TestTransactions(t *testing.T) {
	server := redistest.Start(t)
	o := options(redis.Row, server.Addr)
	d, err := driver.Open(o, driver.Use{Kinds: kinds, Txn: 4})
	if err != nil {
		t.Fatal(err)
	}
	drivertest.Suite{Kinds: []kvs.Kind{kvs.Get, kvs.Put, kvs.ReadModifyWrite}}.Transactions(t, 1, d)
	o.Hosts = append(o.Hosts, "h:1")
	if err := o.Validate(driver.Use{Kinds: kinds, Txn: 4}); err == nil || !strings.Contains(err.Error(), "-txn 4: want one server of redis") {
		t.Errorf("two servers: %v", err)
	}
}
