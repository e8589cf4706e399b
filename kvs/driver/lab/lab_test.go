package lab_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/rpc"
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
	"kvlab/kvs/wire"
)

// serve starts a server of a preset's form, and returns its address.
func serve(t *testing.T, preset string) string { return serveFaulty(t, preset, labtest.None) }

// serveFaulty starts a server that does something wrong, and returns its address.
func serveFaulty(t *testing.T, preset string, fault labtest.Fault) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go labtest.Serve(l, preset, labtest.NewStore(fault, 1))
	return l.Addr().String()
}

// options are those of the driver of servers with a preset.
func options(addr string, settings map[string]string) driver.Options {
	o := drivertest.Options()
	o.Transport, o.Foreign, o.Hosts, o.Settings = lab.Row.Name, []driver.Row{lab.Row}, []string{addr}, settings
	return o
}

// opened returns the driver of a server.
func opened(t *testing.T, o driver.Options, u driver.Use) driver.Driver {
	t.Helper()
	if err := o.Validate(u); err != nil {
		t.Fatal(err)
	}
	d, err := driver.Open(o, u)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// suite returns what the servers can do. Only those of one method execute the operations of a
// batch in order.
func suite(preset string) drivertest.Suite {
	ordered := slices.Contains([]string{"clawcodes", "dashree", "citywatch", "sacatrash", "kangyang", "venkateshdb"}, preset)
	return drivertest.Suite{Kinds: []kvs.Kind{kvs.Get, kvs.Put, kvs.Insert}, EmptyIsMissing: true, OrderByKey: !ordered}
}

func TestDriver(t *testing.T) {
	for _, preset := range labtest.Presets() {
		t.Run(preset, func(t *testing.T) {
			suite(preset).Run(t, func(t *testing.T) driver.Driver {
				return opened(t, options(serve(t, preset), map[string]string{"preset": preset}), driver.Use{CallsInFlight: 4})
			})
		})
	}
}

func TestBytes(t *testing.T) {
	for _, preset := range labtest.Presets() {
		drivertest.Bytes(t, serve(t, preset), func(t *testing.T, addr string) driver.Driver {
			return opened(t, options(addr, map[string]string{"preset": preset}), driver.Use{CallsInFlight: 1})
		})
	}
}

func TestStoreless(t *testing.T) {
	for _, preset := range labtest.Presets() {
		drivertest.Storeless(t, lab.Row, map[string]string{"preset": preset})
	}
	drivertest.Storeless(t, lab.Row, map[string]string{"transport": "tcp"})
}

func TestCuts(t *testing.T) {
	presets := []string{"base", "citywatch"}
	if os.Getenv("KVLAB_LONG") == "1" {
		presets = append(presets, "haoren")
	}
	for _, preset := range presets {
		t.Run(preset, func(t *testing.T) {
			suite(preset).Cuts(t, serve(t, preset), func(t *testing.T, addr string) driver.Driver {
				return opened(t, options(addr, map[string]string{"preset": preset}), driver.Use{CallsInFlight: 2})
			})
		})
	}
}

// Settings describe the form of a preset, too.
func TestSettings(t *testing.T) {
	settings := map[string]string{"method": "KVService.BatchOp", "ops": "Operations", "kind": "OpType", "kinds": "GET,PUT", "results": "Results"}
	conn := drivertest.Dial(t, opened(t, options(serve(t, "clawcodes"), settings), driver.Use{}), 0)
	results, err := drivertest.Do(conn, kvs.Op{Kind: kvs.Put, Key: []byte("k"), Value: []byte("v")}, kvs.Op{Kind: kvs.Get, Key: []byte("k")})
	if err != nil || string(results[1].Value) != "v" {
		t.Errorf("%v, %v", results, err)
	}
}

// An error of the server ends a call, whose effect is unknown, and leaves its connection
// usable.
func TestServerError(t *testing.T) {
	conn := drivertest.Dial(t, opened(t, options(serve(t, "base"), nil), driver.Use{}), 0)
	_, err := drivertest.Do(conn, kvs.Op{Kind: kvs.Get, Key: []byte("fails")})
	var answered rpc.ServerError
	if !errors.As(err, &answered) || !strings.Contains(err.Error(), "as the test wants it") || !strings.Contains(err.Error(), string(driver.Unknown)) {
		t.Errorf("error %v, want the server's, and %q", err, driver.Unknown)
	}
	if _, err = drivertest.Do(conn, kvs.Op{Kind: kvs.Get, Key: []byte("k")}); err != nil {
		t.Errorf("the next call: %v", err)
	}
}

// misfit dials a server of another form, within 6 s, and returns why it is refused. Nothing is
// executed there.
func misfit(t *testing.T, addr string, settings map[string]string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, _, err := opened(t, options(addr, settings), driver.Use{}).Dial(ctx, 0, 0)
	var misfit *driver.MisfitError
	if took := time.Since(began); !errors.As(err, &misfit) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), addr) || took > 6*time.Second {
		t.Fatalf("%v: error %v after %v", settings, err, took)
	}
	return err.Error()
}

// A server of another form is named when a client meets it, and executes nothing.
func TestMisfits(t *testing.T) {
	type settings = map[string]string
	for _, c := range []struct {
		server   string
		settings settings
		want     string
	}{
		{"transactions", nil, "KVService.Get has the field Txid: its operations are a transaction's, which a form without the setting tx does not commit: want another preset, or its settings"},
		{"venkateshdb-txn", settings{"preset": "venkateshdb-txn", "tx": "Id"}, `KVService.Get does not take the field Id: "gob: type mismatch: no fields matched`},
		{"venkateshdb-txn", settings{"preset": "venkateshdb-txn", "lead": "Leader"}, "KVService.Commit does not take the field Leader"},
		{"venkateshdb-txn", settings{"preset": "venkateshdb-txn", "refused": "LockFail=true"}, "(KVService.Get has no field LockFail in its reply)"},
		{"venkateshdb-txn", settings{"preset": "venkateshdb-txn", "results": "Val"}, "KVService.Get has no field Val in its reply"},
		{"venkateshdb-txn", settings{"preset": "venkateshdb-txn", "abort": "KVService.Rollback"}, "KVService.Rollback does not take the field Txid: \"rpc: can't find method KVService.Rollback\""},
		{"kangyang-txn", settings{"preset": "kangyang-txn", "begin": "KVService.Start"}, "KVService.Start is not there"},
		{"base", settings{"preset": "venkateshdb-txn"}, "KVService.Get does not take the field Txid"},
		{"clawcodes", nil, `KVService.Get does not take what the form sends, by fields such as Key: "rpc: can't find method KVService.Get": want another preset, or its settings`},
		{"haoren", settings{"get": "KVService.GetBatch"}, "KVService.GetBatch does not take what the form sends"},
		{"base", settings{"key": "Kee"}, "by fields such as Kee"},
		{"base", settings{"stamp": "Timestamp"}, "KVService.Get has no field Timestamp, which the setting stamp names"},
		{"sacatrash", settings{"preset": "sacatrash", "stamp": "Value"}, "stands for two things"},
		{"sacatrash", settings{"preset": "sacatrash", "stamp": "IsRead", "kind": "Other"}, "KVService.Batch has a field IsRead of type bool: the setting stamp wants an int64 or uint64"},
	} {
		if err := options("127.0.0.1:1", c.settings).Validate(driver.Use{}); err != nil {
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, %v: %v, want %q", c.server, c.settings, err, c.want)
			}
			continue
		}
		if err := misfit(t, serve(t, c.server), c.settings); !strings.Contains(err, c.want) {
			t.Errorf("%s, %v: %v, want %q", c.server, c.settings, err, c.want)
		}
	}
}

// A server with transactions is named when a client meets it, with the preset that fits.
func TestSuggestedPresets(t *testing.T) {
	for _, preset := range labtest.Transactional() {
		addr := serve(t, preset)
		if err, want := misfit(t, addr, nil), fmt.Sprintf("server %s: it has transactions: want preset=%s, as in --target 'lab://%[1]s?preset=%[2]s' (KVService.", addr, preset); !strings.HasPrefix(err, want) {
			t.Errorf("%s, want %s", err, want)
		}
	}
}

// A server that rpc.Accept serves is driven by transport=tcp, and each transport names the
// other.
func TestTransport(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	server, err := labtest.NewServer("venkateshdb", labtest.NewStore(labtest.None, 1))
	if err != nil {
		t.Fatal(err)
	}
	go server.Accept(l)
	if err := misfit(t, l.Addr().String(), map[string]string{"preset": "venkateshdb"}); !strings.Contains(err, `it speaks net/rpc on TCP (rpc.Accept), not by HTTP: want transport = "tcp" in the target`) {
		t.Error(err)
	}
	conn := drivertest.Dial(t, opened(t, options(l.Addr().String(), map[string]string{"preset": "batch-timestamp", "transport": "tcp"}), driver.Use{}), 0)
	results, err := drivertest.Do(conn, kvs.Op{Kind: kvs.Put, Key: []byte("k"), Value: []byte("v")}, kvs.Op{Kind: kvs.Get, Key: []byte("k")})
	if err != nil || string(results[1].Value) != "v" {
		t.Errorf("%v, %v", results, err)
	}
	if err := misfit(t, serve(t, "base"), map[string]string{"transport": "tcp"}); !strings.Contains(err, `it speaks net/rpc by HTTP, not on TCP: leave transport = "tcp" out`) {
		t.Error(err)
	}
}

// A wrong setting is refused in one line that names it and its right form.
func TestCheck(t *testing.T) {
	for _, c := range []struct {
		settings map[string]string
		kinds    []kvs.Kind
		want     string
	}{
		{map[string]string{"preset": "bsae"}, nil, "want one of base, single, clawcodes, batch-optype, dashree, batch-type, dashree-gets, gets-keys, citywatch, batch-requestid, sacatrash, batch-isread, kangyang, batch-indices, gianghta, gets-requests, haoren, gets-puts, venkateshdb, batch-timestamp, sharjain-txn, txn-twice, "},
		{map[string]string{"preset": "bsae"}, nil, "did you mean base?"},
		{map[string]string{"begin": "KVService.Begin"}, nil, "setting begin of a lab server: want tx too"},
		{map[string]string{"tx": "txid"}, nil, `field "txid"`},
		{map[string]string{"tx": "A,B,C"}, nil, "want one field, or two"},
		{map[string]string{"tx": "Txid", "ops": "Ops"}, nil, "setting ops of a lab server with transactions (tx): want none"},
		{map[string]string{"tx": "Txid", "scope": "some"}, nil, `want participants or all, not "some"`},
		{map[string]string{"tx": "Txid", "made": "server"}, nil, "want begin too"},
		{map[string]string{"tx": "Txid", "refused": "no"}, nil, `refused "no"`},
		{map[string]string{"tx": "Txid", "commit": "Commit"}, nil, `method "Commit"`},
		{map[string]string{"tx": "Txid", "kind": "IsRead"}, nil, "want method too"},
		{map[string]string{"tx": "Txid", "method": "KVService.Op"}, nil, "want kind"},
		{map[string]string{"kinds": "R,W"}, nil, "setting kinds of a lab server: want kind too"},
		{map[string]string{"transport": "udp"}, nil, `transport "udp"`},
		{map[string]string{"preset": "dashree-gets", "stamp": "Time"}, nil, "a list of keys has no field for it"},
		{map[string]string{"methd": "KVService.Get"}, nil, "did you mean method?"},
		{map[string]string{"method": "Get"}, nil, `method "Get"`},
		{map[string]string{"method": "KVService.Batch"}, nil, "want ops"},
		{map[string]string{"method": "KVService.Batch", "ops": "Ops"}, nil, "kind"},
		{map[string]string{"kind": "IsRead"}, nil, "want method too"},
		{map[string]string{"preset": "clawcodes", "kinds": "GET,GET"}, nil, "two values"},
		{map[string]string{"preset": "clawcodes", "kinds": "GET,1"}, nil, "two values"},
		{map[string]string{"key": "key"}, nil, `field "key"`},
		{map[string]string{"key": "Value"}, nil, "two things"},
		{map[string]string{"preset": "citywatch", "id": "Data"}, nil, "two things"},
		{map[string]string{"value": ""}, nil, "key, value and results"},
		{nil, []kvs.Kind{kvs.Get, kvs.Delete}, "has no delete"},
		{nil, []kvs.Kind{kvs.Get, kvs.Put, kvs.Insert}, ""},
	} {
		err := options("127.0.0.1:1", c.settings).Validate(driver.Use{Kinds: c.kinds})
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%v: %v", c.settings, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n")):
			t.Errorf("%v: error %v, want %q", c.settings, err, c.want)
		}
	}
}

// Transactions want a form that has them.
func TestCheckTransactions(t *testing.T) {
	for preset, want := range map[string]string{"base": "-txn 3: the form of the lab server has no transactions: want a preset of transactions, such as venkateshdb-txn", "shafin-txn": ""} {
		err := options("127.0.0.1:1", map[string]string{"preset": preset}).Validate(driver.Use{Txn: 3, Kinds: []kvs.Kind{kvs.Get, kvs.ReadModifyWrite}})
		if got := fmt.Sprint(err); want == "" && err != nil || want != "" && !strings.Contains(got, want) {
			t.Errorf("%s: %v, want %q", preset, err, want)
		}
	}
}

// A trace with kinds that the servers lack is named, with what leaves them out.
func TestTraceKinds(t *testing.T) {
	err := options("127.0.0.1:1", nil).Validate(driver.Use{Trace: "t.kvt", Kinds: []kvs.Kind{kvs.Get, kvs.ReadModifyWrite, kvs.Delete}})
	want := "-replay t.kvt: lab has no read-modify-write and no delete: compile the trace again with kvsplot trace import -put-only -no-deletes"
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// A server of something else is named as such.
func TestNoServer(t *testing.T) {
	l := wiretest.Start(t, func(conn net.Conn) {
		conn.Write([]byte("-ERR unknown command\r\n"))
		conn.Close()
	})
	if _, _, err := opened(t, options(l.Addr().String(), nil), driver.Use{}).Dial(t.Context(), 0, 0); err == nil || !strings.Contains(err.Error(), "want a server with rpc.HandleHTTP") {
		t.Errorf("error %v", err)
	}
}

// hung is a server whose Get does not return.
type hung struct{ ended <-chan struct{} }

func (h hung) Get(*labtest.GetArgs, *labtest.GetReply) error {
	<-h.ended
	return nil
}

func (h hung) Put(*labtest.PutArgs, *labtest.PutReply) error { return nil }

// A server that does not reply within the call's time ends the connection.
func TestTimeout(t *testing.T) {
	server := rpc.NewServer()
	if err := server.RegisterName("KVService", hung{t.Context().Done()}); err != nil {
		t.Fatal(err)
	}
	l := wiretest.Start(t, func(conn net.Conn) { server.ServeConn(conn) })
	o := options(l.Addr().String(), map[string]string{"transport": "tcp"})
	o.CallTimeout = 50 * time.Millisecond
	conn := drivertest.Dial(t, opened(t, o, driver.Use{}), 0)
	for range 2 {
		if _, err := drivertest.Do(conn, kvs.Op{Kind: kvs.Get, Key: []byte("k")}); !errors.Is(err, wire.ErrTimeout) {
			t.Errorf("error %v, want a timeout", err)
		}
	}
}
