package lab_test

import (
	"errors"
	"fmt"
	"net"
	"net/rpc"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"kvlab/internal/labtest"
	"kvlab/internal/wiretest"
	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/kvs/driver/drivertest"
	"kvlab/kvs/driver/lab"
	"kvlab/kvs/txn"
)

// shapes has a preset of each: without begin, with it, with a vote, and with every operation sent
// twice.
var shapes = []string{"mrchildren-txn", "citywatch-txn", "kangyang-txn", "sharjain-txn"}

// Batches without transactions are executed by servers that have them, as transactions of one
// operation.
func TestPlainBatches(t *testing.T) {
	for _, preset := range labtest.Transactional() {
		drivertest.Storeless(t, lab.Row, map[string]string{"preset": preset})
		if os.Getenv("KVLAB_LONG") != "1" && !slices.Contains(shapes, preset) {
			continue
		}
		t.Run(preset, func(t *testing.T) {
			s := drivertest.Suite{Kinds: []kvs.Kind{kvs.Get, kvs.Put, kvs.Insert, kvs.ReadModifyWrite}, EmptyIsMissing: true, OrderByKey: true}
			s.Run(t, func(t *testing.T) driver.Driver {
				return opened(t, options(serve(t, preset), map[string]string{"preset": preset}), driver.Use{CallsInFlight: 4})
			})
			drivertest.Bytes(t, serve(t, preset), func(t *testing.T, addr string) driver.Driver {
				return opened(t, options(addr, map[string]string{"preset": preset}), driver.Use{CallsInFlight: 1})
			})
		})
	}
}

// A lock that an aborted transaction leaves ends a batch with an error that says so.
func TestKeptLock(t *testing.T) {
	addr := serveFaulty(t, "venkateshdb-txn", labtest.Kept)
	o := options(addr, map[string]string{"preset": "venkateshdb-txn"})
	o.CallTimeout = 100 * time.Millisecond
	d := opened(t, o, driver.Use{})
	conns := []driver.Conn{drivertest.Dial(t, d, 0), drivertest.Dial(t, d, 1)}
	transactor, err := d.(driver.Transactional).Transactor(conns[:1])
	if err != nil {
		t.Fatal(err)
	}
	// The two refuse each other: one is aborted, and keeps its locks.
	round := driver.Transactions{Places: make([]uint16, 4), Attempts: []driver.Attempt{{First: 0, End: 2}, {First: 2, End: 4}}}
	for _, key := range []string{"a", "b", "b", "a"} {
		round.Ops = append(round.Ops, kvs.Op{Kind: kvs.Put, Key: []byte(key), Value: []byte("v")})
	}
	if err := transactor.Transact(&round); err != nil {
		t.Fatal(err)
	}
	put := []kvs.Op{{Kind: kvs.Put, Key: []byte("a"), Value: []byte("w")}, {Kind: kvs.Put, Key: []byte("b"), Value: []byte("w")}}
	if _, err := drivertest.Do(conns[1], put...); err == nil || !strings.Contains(err.Error(), "refuses a put of key") || !strings.Contains(err.Error(), "does a lock stay?") {
		t.Errorf("%+v: error %v", round.Attempts, err)
	}
}

// Servers of every form are strictly serializable.
func TestTransactions(t *testing.T) {
	for _, preset := range labtest.Transactional() {
		t.Run(preset, func(t *testing.T) {
			o := options("", map[string]string{"preset": preset})
			o.Hosts = []string{serve(t, preset), serve(t, preset)}
			s := drivertest.Suite{Kinds: []kvs.Kind{kvs.Get, kvs.Put, kvs.ReadModifyWrite}}
			s.Transactions(t, 2, opened(t, o, driver.Use{CallsInFlight: 1}))
		})
	}
}

// Servers without a store commit everything, and have one value.
func TestStorelessTransactions(t *testing.T) {
	for _, preset := range labtest.Transactional() {
		o := options("", map[string]string{"preset": preset})
		served := o
		l := wiretest.Start(t, func(conn net.Conn) { _ = lab.Row.Null(conn, served, new(driver.Null)) })
		o.Hosts, o.Null = []string{l.Addr().String()}, true
		d := opened(t, o, driver.Use{Txn: 3})
		conn, _, err := d.Dial(t.Context(), 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		transactor, err := d.(driver.Transactional).Transactor([]driver.Conn{conn})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := drivertest.Do(conn, kvs.Op{Kind: kvs.Put, Key: []byte("k"), Value: []byte("v")}); err != nil {
			t.Error(err)
		}
		round := driver.Transactions{Places: make([]uint16, 3), Attempts: []driver.Attempt{{First: 0, End: 3}},
			Ops: []kvs.Op{{Kind: kvs.Get, Key: []byte("a")}, {Kind: kvs.Put, Key: []byte("b"), Value: []byte("v")}, {Kind: kvs.ReadModifyWrite, Key: []byte("c"), Value: []byte("v")}}}
		if err := transactor.Transact(&round); err != nil || round.Attempts[0].Outcome != txn.IsCommitted || string(round.Results[2].Value) != "v" {
			t.Errorf("%s: %v, %+v, %+v", preset, err, round.Attempts, round.Results)
		}
	}
}

// scripted is a server that answers as a test wants, and writes down the calls.
type scripted struct {
	mu     sync.Mutex
	calls  []string
	errs   map[string]error // of its methods
	refuse bool             // its Puts
	silent bool             // its Commits acknowledge nothing
}

func (s *scripted) call(method string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, method)
	return s.errs[method]
}

type (
	keyArgs = struct {
		Txid       uint64
		Key, Value string
	}
	endArgs = struct {
		Txid uint64
		Lead bool
	}
	valueReply = struct {
		Value      string
		LockFailed bool
	}
	endReply = struct{ Success bool }
)

func (s *scripted) Get(*keyArgs, *valueReply) error { return s.call("get") }

func (s *scripted) Put(_ *keyArgs, p *valueReply) error {
	p.LockFailed = s.refuse
	return s.call("put")
}

func (s *scripted) Commit(q *endArgs, p *endReply) error {
	p.Success = !s.silent
	return s.call(fmt.Sprint("commit ", q.Lead))
}

func (s *scripted) Abort(*endArgs, *endReply) error { return s.call("abort") }

// What servers answer decides the outcome of a transaction that puts a key at each of three, and
// an abort goes to every server that got a call, whatever the others answer.
func TestOutcomes(t *testing.T) {
	failed := errors.New("as the test wants it")
	fails := func(s *scripted, method string) { s.errs = map[string]error{method: failed} }
	for _, c := range []struct {
		name string
		set  func(s []*scripted)
		want txn.Outcome
		err  string
		last string // the last call of each server
	}{
		{"all commit", func([]*scripted) {}, txn.IsCommitted, "", "commit true, commit false, commit false"},
		{"one refuses", func(s []*scripted) { s[1].refuse = true }, txn.IsAborted, "", "abort, abort, abort"},
		{"an abort fails", func(s []*scripted) { s[1].refuse = true; fails(s[0], "abort") }, txn.IsAborted, "", "abort, abort, abort"},
		{"a commit fails", func(s []*scripted) { fails(s[2], "commit false") }, txn.IsUnknown, "", "commit true, commit false, commit false"},
		{"one denies that it commits", func(s []*scripted) { s[0].silent = true }, txn.IsUnknown, "", "commit true, commit false, commit false"},
		{"all deny it", func(s []*scripted) { s[0].silent, s[1].silent, s[2].silent = true, true, true }, txn.IsAborted, "", "commit true, commit false, commit false"},
		{"a put fails", func(s []*scripted) { fails(s[2], "put") }, txn.IsAborted, "the store answers KVService.Put with as the test wants it (not applied)", "abort, abort, abort"},
	} {
		o := options("", map[string]string{"preset": "venkateshdb-txn"})
		o.Hosts = nil
		var servers []*scripted
		for range 3 {
			s, server := new(scripted), rpc.NewServer()
			if err := server.RegisterName("KVService", s); err != nil {
				t.Fatal(err)
			}
			l := wiretest.Start(t, func(conn net.Conn) { server.ServeConn(conn) })
			o.Hosts, servers = append(o.Hosts, l.Addr().String()), append(servers, s)
		}
		o.Settings["transport"] = "tcp"
		d := opened(t, o, driver.Use{})
		var conns []driver.Conn
		round := driver.Transactions{Attempts: []driver.Attempt{{First: 0, End: 3}}}
		for i := range servers {
			conn, _, err := d.Dial(t.Context(), i, 0)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { conn.Close() })
			conns, round.Places = append(conns, conn), append(round.Places, uint16(i))
			round.Ops = append(round.Ops, kvs.Op{Kind: kvs.Put, Key: []byte{byte('a' + i)}, Value: []byte("v")})
		}
		transactor, err := d.(driver.Transactional).Transactor(conns)
		if err != nil {
			t.Fatal(err)
		}
		c.set(servers)
		err = transactor.Transact(&round)
		if got := round.Attempts[0].Outcome; c.err == "" && (err != nil || got != c.want) || c.err != "" && (err == nil || err.Error() != c.err) {
			t.Errorf("%s: %v, %v", c.name, got, err)
		}
		var last []string
		for _, s := range servers {
			last = append(last, s.calls[len(s.calls)-1])
		}
		if got := strings.Join(last, ", "); got != c.last {
			t.Errorf("%s: %s, want %s", c.name, got, c.last)
		}
	}
}

// Calls on a connection that has ended fail, however many there are.
func TestEnded(t *testing.T) {
	server, err := labtest.NewServer("venkateshdb-txn", labtest.NewStore(labtest.None, 1))
	if err != nil {
		t.Fatal(err)
	}
	sockets := make(chan net.Conn, 1)
	l := wiretest.Start(t, func(conn net.Conn) { sockets <- conn; server.ServeConn(conn) })
	conn := drivertest.Dial(t, opened(t, options(l.Addr().String(), map[string]string{"preset": "venkateshdb-txn", "transport": "tcp"}), driver.Use{}), 0)
	(<-sockets).Close()
	for range 300 {
		if _, err := drivertest.Do(conn, kvs.Op{Kind: kvs.Get, Key: []byte("k")}); err == nil {
			t.Fatal("no error")
		}
	}
}
