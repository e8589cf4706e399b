package lab_test

import (
	"errors"
	"io"
	"net"
	"net/rpc"
	"slices"
	"strings"
	"testing"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/kvs/driver/drivertest"
	"kvlab/kvs/driver/lab"
	"kvlab/kvs/driver/lab/labtest"
	"kvlab/kvs/wire"
	"kvlab/kvs/wire/wiretest"
)

// serve starts a server of a preset's form, and returns its address.
func serve(t *testing.T, preset string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go labtest.Serve(l, preset, labtest.NewStore(labtest.None, 1))
	return l.Addr().String()
}

// options are those of the driver of servers with a preset.
func options(addr string, settings map[string]string) driver.Options {
	o := drivertest.Options()
	o.Transport, o.Foreign, o.Hosts, o.Settings = lab.Row.Name, []driver.Row{lab.Row}, []string{addr}, settings
	return o
}

// opened is the driver of a server.
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

// suite is what the servers can do. Only those of one method execute the operations of a
// batch in order.
func suite(preset string) drivertest.Suite {
	ordered := slices.Contains([]string{"clawcodes", "dashree", "citywatch", "sacatrash", "kangyang"}, preset)
	return drivertest.Suite{Kinds: []kvs.Kind{kvs.Get, kvs.Put, kvs.Insert}, EmptyIsMissing: true, OrderByKey: !ordered}
}

func TestDriver(t *testing.T) {
	for _, preset := range labtest.Presets() {
		t.Run(preset, func(t *testing.T) {
			suite(preset).Run(t, func(t *testing.T) driver.Driver {
				return opened(t, options(serve(t, preset), map[string]string{"preset": preset}), driver.Use{CallsUnderWay: 4})
			})
		})
	}
}

func TestCuts(t *testing.T) {
	for _, preset := range []string{"base", "citywatch", "haoren"} {
		t.Run(preset, func(t *testing.T) {
			suite(preset).Cuts(t, serve(t, preset), func(t *testing.T, addr string) driver.Driver {
				return opened(t, options(addr, map[string]string{"preset": preset}), driver.Use{CallsUnderWay: 2})
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
	for preset, want := range map[string]string{"base": "as the test wants it", "clawcodes": "can't find"} {
		conn := drivertest.Dial(t, opened(t, options(serve(t, preset), nil), driver.Use{}), 0)
		_, err := drivertest.Do(conn, kvs.Op{Kind: kvs.Get, Key: []byte("fails")})
		var answered rpc.ServerError
		if !errors.As(err, &answered) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), string(driver.Unknown)) {
			t.Errorf("%s: error %v, want the server's, and %q", preset, err, driver.Unknown)
		}
		if _, err = drivertest.Do(conn, kvs.Op{Kind: kvs.Get, Key: []byte("k")}); preset == "base" && err != nil {
			t.Errorf("the next call: %v", err)
		}
	}
}

// A wrong setting is refused in one line that names it and its right form.
func TestCheck(t *testing.T) {
	for _, c := range []struct {
		settings map[string]string
		kinds    []kvs.Kind
		want     string
	}{
		{map[string]string{"preset": "bsae"}, nil, "want one of base, clawcodes, dashree, dashree-gets, citywatch, sacatrash, kangyang, gianghta, haoren; did you mean base?"},
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

// A server that does not reply within the call's time ends the connection.
func TestTimeout(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		conn.Write([]byte("HTTP/1.0 200 Connected to Go RPC\n\n"))
		io.Copy(io.Discard, conn)
	}()
	o := options(l.Addr().String(), nil)
	o.CallTimeout = 50 * time.Millisecond
	conn := drivertest.Dial(t, opened(t, o, driver.Use{}), 0)
	for range 2 {
		if _, err := drivertest.Do(conn, kvs.Op{Kind: kvs.Get, Key: []byte("k")}); !errors.Is(err, wire.ErrTimeout) {
			t.Errorf("error %v, want a timeout", err)
		}
	}
}
