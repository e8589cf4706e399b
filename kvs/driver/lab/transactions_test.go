package lab_test

import (
	"net"
	"os"
	"slices"
	"strings"
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
		l := wiretest.Start(t, func(conn net.Conn) { _ = lab.Row.Null(conn, o, new(driver.Null)) })
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
