package lab_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"kvlab/internal/labtest"
	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/kvs/driver/drivertest"
	"kvlab/kvs/driver/lab"
)

// Batches without transactions are executed by servers that have them, as transactions of one
// operation.
func TestPlainBatches(t *testing.T) {
	shapes := []string{"mrchildren-txn", "citywatch-txn", "kangyang-txn", "sharjain-txn"}
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
