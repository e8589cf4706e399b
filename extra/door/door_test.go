package door_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"kvlab/extra/door"
	"kvlab/internal/kvstest"
	"kvlab/internal/wiretest"
	"kvlab/kvs"
	"kvlab/kvs/engine"
	"kvlab/kvs/resp"
	"kvlab/kvs/server"
	"kvlab/kvs/service"
	"kvlab/kvs/wire"
)

// options returns a gateway's in front of an engine that has every kind.
func options() server.GatewayOptions {
	return server.GatewayOptions{Limits: wire.DefaultLimits(), Engine: "mutex", Check: func([]kvs.Kind) error { return nil }}
}

// start serves a new store by TCP.
func start(t testing.TB, o server.GatewayOptions) (addr string, s *service.Service) {
	t.Helper()
	s = service.New(engine.NewMutex())
	return serve(t, s, o), s
}

// serve serves a store by TCP.
func serve(t testing.TB, s *service.Service, o server.GatewayOptions) (addr string) {
	d := door.New(s, o)
	return wiretest.Start(t, func(conn net.Conn) { _ = d.Serve(conn) }).Addr().String()
}

func dial(t testing.TB, addr string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(3 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// arrays encodes commands, each of words with spaces between them.
func arrays(commands ...string) (text []byte) {
	for _, command := range commands {
		text = resp.AppendCommand(text, strings.Fields(command)...)
	}
	return text
}

// end is a last command, whose reply tells that all others are there.
const end = "the last reply of all"

// ask sends commands in pieces of at most n bytes and returns the replies.
func ask(t testing.TB, conn net.Conn, commands []byte, n int) []byte {
	t.Helper()
	go func() {
		for piece := range slices.Chunk(resp.AppendCommand(bytes.Clone(commands), "ECHO", end), n) {
			if _, err := conn.Write(piece); err != nil {
				return // the reader finds it
			}
		}
	}()
	last := resp.AppendBulk(nil, end)
	var replies []byte
	for buf := make([]byte, 64<<10); !bytes.HasSuffix(replies, last); {
		n, err := conn.Read(buf)
		if replies = append(replies, buf[:n]...); err != nil {
			t.Fatalf("%.200q: %v after %.200q", commands, err, replies)
		}
	}
	return bytes.TrimSuffix(replies, last)
}

// session is commands of every kind, and their replies.
var session = []struct{ command, reply string }{
	{"ping", "+PONG\r\n"}, {"PING x", "$1\r\nx\r\n"}, {"ping x y", "-ERR wrong number of arguments for 'ping' command\r\n"},
	{"set k v", "+OK\r\n"}, {"GET k", "$1\r\nv\r\n"}, {"get none", "$-1\r\n"}, {"set k w get", "$1\r\nv\r\n"}, {"SET new w GET", "$-1\r\n"},
	{"mset a 1 b 2", "+OK\r\n"}, {"mset a 1 b", "-ERR wrong number of arguments for 'mset' command\r\n"},
	{"mget a b c k", "*4\r\n$1\r\n1\r\n$1\r\n2\r\n$-1\r\n$1\r\nw\r\n"}, {"exists a a c", ":2\r\n"}, {"strlen k", ":1\r\n"}, {"strlen c", ":0\r\n"},
	{"hset h f v g w", ":2\r\n"}, {"hset h f x i y", ":1\r\n"}, {"hmget h f g none", "*3\r\n$1\r\nx\r\n$1\r\nw\r\n$-1\r\n"},
	{"hgetall h", "*6\r\n$1\r\nf\r\n$1\r\nx\r\n$1\r\ng\r\n$1\r\nw\r\n$1\r\ni\r\n$1\r\ny\r\n"}, {"hgetall none", "*0\r\n"}, {"hmget none f", "*1\r\n$-1\r\n"},
	{"hmset h2 f v", "+OK\r\n"}, {"hset h f", "-ERR wrong number of arguments for 'hset' command\r\n"},
	{"get h", "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n"}, {"set h v get", "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n"},
	{"hset k f v", "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n"}, {"mget h k", "*2\r\n$-1\r\n$1\r\nw\r\n"},
	{"type k", "+string\r\n"}, {"type h", "+hash\r\n"}, {"type none", "+none\r\n"}, {"del h k none", ":2\r\n"}, {"hset k f v", ":1\r\n"}, {"set k again", "+OK\r\n"}, {"get k", "$5\r\nagain\r\n"},
	{"set k v ex 5", "-ERR SET has the option GET alone, not \"ex\"\r\n"}, {"set k v nx", "-ERR SET has the option GET alone, not \"nx\"\r\n"},
	{"nothing a b", "-ERR unknown command 'nothing', with args beginning with: 'a' 'b' \r\n"}, {"get", "-ERR wrong number of arguments for 'get' command\r\n"},
	{"get " + strings.Repeat("k", 256), "-ERR a key of 256 bytes: want 1 to 255\r\n"},
	{"select 0", "+OK\r\n"}, {"select 1", "-ERR DB index is out of range\r\n"}, {"dbsize", ":5\r\n"}, {"command count", ":25\r\n"}, {"COMMAND", "*0\r\n"}, {"command docs", "*0\r\n"},
	{"config get save appendonly", "*4\r\n$4\r\nsave\r\n$0\r\n\r\n$10\r\nappendonly\r\n$2\r\nno\r\n"}, {"config set save x", "-ERR unknown subcommand 'set'. Only CONFIG GET is known\r\n"},
	{"client setname me", "+OK\r\n"}, {"client getname", "$2\r\nme\r\n"}, {"client setinfo lib-name x", "+OK\r\n"},
	{"client tracking on", "-ERR CLIENT TRACKING: this server does not tell clients what to remove from their caches\r\n"},
	{"cluster slots", "-ERR This instance has cluster support disabled\r\n"},
	{"auth x", "-ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?\r\n"},
	{"hello 4", "-NOPROTO unsupported protocol version\r\n"},
	{"del a b new h2", ":4\r\n"},
}

// Replies are right and in order, wherever a pipeline of commands is split.
func TestSession(t *testing.T) {
	var commands []string
	var want string
	for _, s := range session {
		commands, want = append(commands, s.command), want+s.reply
	}
	text := arrays(commands...)
	for cut := range text {
		got := string(replies(io.MultiReader(bytes.NewReader(text[:cut]), bytes.NewReader(text[cut:]))))
		for i, s := range session {
			if !strings.HasPrefix(got, s.reply) {
				t.Fatalf("cut at %d, command %d, %.60q: %.200q, want %q", cut, i, s.command, got, s.reply)
			}
			got = got[len(s.reply):]
		}
	}
	addr, _ := start(t, options())
	for _, n := range []int{1, 7, 1000} {
		if got := ask(t, dial(t, addr), text, n); string(got) != want {
			t.Errorf("in pieces of %d: %q", n, got)
		}
	}
}

// A password is wanted, and until it is given commands are small and few are open.
func TestAuth(t *testing.T) {
	o := options()
	o.Password = "secret"
	addr, _ := start(t, o)
	conn := dial(t, addr)
	login := arrays("get k", "auth wrong", "auth other secret", "hello 3", "hello 3 auth default wrong", "AUTH secret", "get k")
	want := "-NOAUTH Authentication required.\r\n" + strings.Repeat("-WRONGPASS invalid username-password pair or user is disabled.\r\n", 2) +
		"-NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time\r\n" +
		"-WRONGPASS invalid username-password pair or user is disabled.\r\n+OK\r\n$-1\r\n"
	if got := ask(t, conn, login, 1000); string(got) != want {
		t.Errorf("%q, want %q", got, want)
	}
	hello := ask(t, dial(t, addr), arrays("hello 3 auth default secret setname me", "client getname", "hgetall none", "get none"), 1000)
	if want := "%7\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n"; !bytes.HasPrefix(hello, []byte(want)) || !bytes.HasSuffix(hello, []byte("*0\r\n$2\r\nme\r\n%0\r\n_\r\n")) {
		t.Errorf("hello: %q", hello)
	}
	for _, text := range []string{"*11\r\n", "*1\r\n$16385\r\n", strings.Repeat("x", 200_000)} {
		conn := dial(t, addr)
		go conn.Write([]byte(text))
		reply, _ := io.ReadAll(conn) // the gateway may close before it has read all
		if len(reply) > 0 && !bytes.HasPrefix(reply, []byte("-ERR RESP protocol error")) {
			t.Errorf("%.20q: %q", text, reply)
		}
	}
}

// A client may send all its commands before it reads a reply.
func TestUnreadReplies(t *testing.T) {
	addr, s := start(t, options())
	const n = 500 // 50 MB of replies
	conn, gets, reply := askForMuch(t, addr, n)
	if _, err := conn.Write(gets); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(3 * time.Minute); s.Counts()[door.Peer].Gets < n; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the gateway waits until its replies are read")
		}
	}
	if got, want := ask(t, conn, nil, 100), n*reply; len(got) != want {
		t.Fatalf("%d bytes of replies, want %d", len(got), want)
	}
}

// A client that never reads is closed when too many replies wait for it.
func TestNeverReadReplies(t *testing.T) {
	o := options()
	o.Limits.Request = time.Second
	addr, s := start(t, o)
	conn, gets, _ := askForMuch(t, addr, 500)
	for {
		if _, err := conn.Write(gets); err != nil {
			break
		}
	}
	if got := s.Counts()[door.Peer].Gets; got > 4000 {
		t.Errorf("%d replies of 100 KiB were made and not read", got)
	}
}

// askForMuch returns a connection to a gateway that has a value of 100 KiB, n commands that
// read it, and the length of a reply.
func askForMuch(t *testing.T, addr string, n int) (conn net.Conn, gets []byte, reply int) {
	t.Helper()
	value := strings.Repeat("x", 100<<10)
	conn = dial(t, addr)
	if got := ask(t, conn, resp.AppendCommand(nil, "SET", "k", value), 1<<20); string(got) != "+OK\r\n" {
		t.Fatalf("%.100q", got)
	}
	return conn, bytes.Repeat(arrays("get k"), n), len(resp.AppendBulk(nil, value))
}

// Fields that several clients set at the same time are all there, and a write of the key
// beside them is lost to none.
func TestHashesBesideWrites(t *testing.T) {
	addr, _ := start(t, options())
	const clients, fields = 8, 100
	var wait sync.WaitGroup
	for i := range clients {
		conn := dial(t, addr)
		wait.Go(func() {
			for j := range fields {
				key := fmt.Sprintf("other%d", i)
				want := ":1\r\n:1\r\n:1\r\n+OK\r\n"
				if got := ask(t, conn, arrays(fmt.Sprintf("hset h f%d.%d v", i, j), "hset "+key+" f v", "del "+key, "set "+key+" v"), 1000); string(got) != want {
					t.Errorf("%q, want %q", got, want)
				}
				if got := ask(t, conn, arrays("set "+key+" w get", "del "+key), 1000); string(got) != "$1\r\nv\r\n:1\r\n" {
					t.Errorf("%q", got)
				}
			}
		})
	}
	wait.Wait()
	if got := ask(t, dial(t, addr), arrays("hgetall h"), 1000); !bytes.HasPrefix(got, fmt.Appendf(nil, "*%d\r\n", 2*clients*fields)) {
		t.Errorf("%.20q, want %d fields", got, clients*fields)
	}
}

// Plain writes and hashes of one key order: what is there in the end is what one of the
// two wrote, and a hash is never made of a value, nor merged with one that was replaced.
func TestHashOrder(t *testing.T) {
	addr, _ := start(t, options())
	a, b := dial(t, addr), dial(t, addr)
	for i := range 300 {
		var set, hset []byte
		var wait sync.WaitGroup
		wait.Go(func() { set = ask(t, a, arrays("set k v"), 1000) })
		wait.Go(func() { hset = ask(t, b, arrays("hset k f v"), 1000) })
		wait.Wait()
		got := string(ask(t, a, arrays("type k", "del k"), 1000))
		if string(set) != "+OK\r\n" || got != "+string\r\n:1\r\n" {
			t.Fatalf("round %d: set %q, hset %q, and then %q: the SET is lost", i, set, hset, got)
		}
	}
}

// An engine that cannot execute a command's kinds answers an error, and other commands work.
func TestKinds(t *testing.T) {
	o := options()
	o.Check = func(kinds []kvs.Kind) error {
		if slices.Contains(kinds, kvs.Delete) {
			return errors.New("-engine x has no delete")
		}
		return nil
	}
	addr, _ := start(t, o)
	want := "-ERR -engine x has no delete\r\n+OK\r\n+PONG\r\n"
	if got := ask(t, dial(t, addr), arrays("del k", "set k v", "ping"), 1000); string(got) != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Operations of clients are counted for Peer, and those of third-party clients apart.
func TestCounted(t *testing.T) {
	for _, third := range []bool{false, true} {
		o := options()
		o.ThirdParty = third
		addr, s := start(t, o)
		ask(t, dial(t, addr), arrays("set k v", "mget k l", "del k", "set k w get"), 1000)
		got, other := s.Counts()[door.Peer], s.ThirdParties()
		if third {
			got, other = other, got
		}
		if got.Puts != 1 || got.Gets != 2 || got.Deletes != 1 || got.ReadModifyWrites != 1 || other.Ops() != 0 {
			t.Errorf("third parties %t: %+v, others %+v", third, got, other)
		}
	}
}

// A client with a cache, whose connection has versions, and one of the gateway see each other's
// writes, and their replies keep their forms.
func TestBesideCache(t *testing.T) {
	for _, name := range []string{"syncmap", "slab"} {
		s := open(t, name)
		cached, conn := s.Open("client0"), dial(t, serve(t, s, options()))
		cached.Versions = true
		do := func(op kvs.Op, held kvs.Version) kvstest.VersionResult {
			var batch kvs.Batch
			var reply kvs.Reply
			batch.AppendCompact(&op, held)
			if err := cached.BatchPutGet(&batch, &reply); err != nil {
				t.Fatal(err)
			}
			results, err := kvstest.DecodeVersions(&reply, []kvs.Op{op}, []kvs.Version{held})
			if err != nil {
				t.Fatal(err)
			}
			return results[0]
		}
		get, first := kvs.Op{Kind: kvs.Get, Key: []byte("7")}, do(kvs.Op{Kind: kvs.Put, Key: []byte("7"), Value: []byte("first")}, 0)
		unchanged := do(get, first.Version)
		if got := ask(t, conn, arrays("get 7", "set 7 second", "get 7"), 1000); string(got) != "$5\r\nfirst\r\n+OK\r\n$6\r\nsecond\r\n" {
			t.Errorf("%s: the gateway answers %q", name, got)
		}
		second := do(get, first.Version)
		if !unchanged.Unchanged || second.Unchanged || string(second.Value) != "second" || second.Version <= first.Version {
			t.Errorf("%s: %+v, then %+v, and behind the gateway's write %+v", name, first, unchanged, second)
		}
		if ask(t, conn, arrays("del 7"), 1000); do(get, second.Version).Found {
			t.Errorf("%s: a deleted key is found", name)
		}
	}
}

// Large values and many keys go through the gateway, and what is too large is refused.
func TestLarge(t *testing.T) {
	addr, _ := start(t, options())
	conn := dial(t, addr)
	value := strings.Repeat("x", kvs.MaxValueLen)
	text := resp.AppendCommand(nil, "SET", "k", value)
	text = resp.AppendCommand(text, "SET", "l", value+"x")
	text = resp.AppendCommand(text, "HSET", "h", "f", value)
	text = resp.AppendCommand(text, "SET", "l", "\x00kvlab hash v1\x00\x00")
	// More than the largest body of a call between kvlab's own programs.
	text = append(text, arrays("mget"+strings.Repeat(" k", 70))...)
	want := []byte("+OK\r\n-ERR a value of 1048577 bytes: want at most 1048576\r\n-ERR the hash is too large: its fields and values take at most 1 MiB\r\n-ERR the value begins with the mark of a hash\r\n*70\r\n")
	for range 70 {
		want = resp.AppendBulk(want, value)
	}
	if got := ask(t, conn, text, 1<<20); !bytes.Equal(got, want) {
		t.Errorf("%d bytes of replies, want %d; %.300q", len(got), len(want), got)
	}
	words, fields := []string{"MSET"}, []string{"HSET", "many"}
	for i := range 3000 {
		words = append(words, fmt.Sprint("key", i), fmt.Sprint("value", i))
		fields = append(fields, fmt.Sprint("field", i%2000), fmt.Sprint("value", i))
	}
	text = resp.AppendCommand(resp.AppendCommand(nil, words...), fields...)
	text = append(text, arrays("get key2999", "hmget many field7 field1007 none field1999", "dbsize")...)
	if got, want := ask(t, conn, text, 1<<20), "+OK\r\n:2000\r\n$9\r\nvalue2999\r\n*4\r\n$9\r\nvalue2007\r\n$9\r\nvalue1007\r\n$-1\r\n$9\r\nvalue1999\r\n:3002\r\n"; string(got) != want {
		t.Errorf("%.200q, want %q", got, want)
	}
}

// broken panics at a key.
type broken struct{ kvs.Engine }

func (b broken) Apply(ops []kvs.Op, reply *kvs.Reply) {
	for _, op := range ops {
		if string(op.Key) == "bad" {
			panic("bad key")
		}
	}
	b.Engine.Apply(ops, reply)
}

// A command whose effect is unknown, since its engine failed, has no answer.
func TestEngineFails(t *testing.T) {
	for _, command := range []string{"set bad v", "mget k bad", "hset bad f v"} {
		s := &script{in: bytes.NewReader(append(arrays("ping"), arrays(command, "ping")...))}
		err := door.New(service.New(broken{engine.NewMutex()}), options()).Serve(s)
		if err == nil || !strings.Contains(err.Error(), "bad key") || strings.Contains(s.out.String(), "OK") || strings.Contains(s.out.String(), ":1") {
			t.Errorf("%s: %v, replies %q", command, err, &s.out)
		}
	}
}
