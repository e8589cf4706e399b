package etcd

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kvlab/internal/redistest"
	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/kvs/driver/drivertest"
	"kvlab/kvs/wire"
	"kvlab/metrics"
)

// store is an etcd for the length of a test.
type store struct {
	addr     string
	process  *os.Process
	settings map[string]string
}

// path returns the path of Debian's etcd.
func path(t *testing.T) string {
	t.Helper()
	program, err := exec.LookPath("etcd")
	if err != nil && os.Getenv("KVLAB_CI") == "1" {
		t.Fatal(err)
	} else if err != nil {
		t.Skip("no etcd in PATH: apt-get install etcd-server")
	}
	return program
}

// start starts an etcd of its own, with flags.
func start(t *testing.T, flags ...string) store { return startWith(t, nil, flags...) }

// startWith starts an etcd to which settings of the driver lead.
func startWith(t *testing.T, settings map[string]string, flags ...string) store {
	t.Helper()
	program := path(t)
	client, peer := freeAddress(t), freeAddress(t)
	scheme := "http://"
	if settings["tls"] == "on" {
		scheme = "https://"
	}
	cmd := exec.Command(program, append([]string{
		"--data-dir", t.TempDir(), "--log-level", "error", "--unsafe-no-fsync", "--initial-cluster", "default=http://" + peer,
		"--listen-client-urls", scheme + client, "--advertise-client-urls", scheme + client,
		"--listen-peer-urls", "http://" + peer, "--initial-advertise-peer-urls", "http://" + peer}, flags...)...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed
	})
	s := store{client, cmd.Process, settings}
	d := s.open(t, driver.Use{})
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		conn, _, err := d.Dial(t.Context(), 0, 0)
		if err == nil {
			_ = conn.Close()
			return s
		}
		if time.Now().After(deadline) {
			t.Fatalf("etcd does not answer: %v; its log: %s", err, &stderr)
		}
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func (s store) options() driver.Options {
	o := drivertest.Options()
	o.Transport, o.Foreign, o.Hosts = Row.Name, []driver.Row{Row}, []string{s.addr}
	o.Settings = s.settings
	return o
}

// open opens the driver as a program does.
func (s store) open(t *testing.T, u driver.Use) driver.Driver {
	t.Helper()
	return opened(t, s.options(), u)
}

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

func counts(t *testing.T, d driver.Driver) metrics.StoreCounts {
	t.Helper()
	c, err := d.(driver.Counter).Counts(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var kinds = []kvs.Kind{kvs.Get, kvs.Put, kvs.ReadModifyWrite, kvs.Insert, kvs.Delete}

func TestDriver(t *testing.T) {
	s := start(t)
	t.Run("Cuts", func(t *testing.T) {
		drivertest.Cuts(t, s.addr, func(t *testing.T, addr string) driver.Driver { return store{addr: addr}.open(t, driver.Use{}) }, kinds...)
	})
	wipe := s.client(t)
	drivertest.Run(t, func(t *testing.T) driver.Driver {
		if _, err := wipe.Delete(t.Context(), "", clientv3.WithPrefix()); err != nil {
			t.Fatal(err)
		}
		return s.open(t, driver.Use{Kinds: kinds})
	}, kinds...)
	t.Run("Transactions", func(t *testing.T) {
		drivertest.Suite{Kinds: kinds[:3]}.Transactions(t, 1, s.open(t, driver.Use{Kinds: kinds, Txn: 4}))
	})
}

// client returns etcd's own client, a stranger.
func (s store) client(t *testing.T) *clientv3.Client {
	c, err := clientv3.NewFromURL("http://" + s.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// The counters count what the driver did, as the keys' versions do, and what others did.
func TestCounts(t *testing.T) {
	s := start(t)
	d := s.open(t, driver.Use{})
	before := counts(t, d)
	if before.Version == "" || before.Instance == "" || before.Settings["quota-backend-bytes"] == "" || before.Settings[metrics.Replicas] != "0" || before.Records != 0 || before.Others["Put"] != 0 {
		t.Errorf("the counts of an empty etcd are %+v", before)
	}
	conn := drivertest.Dial(t, d, 0)
	var ops []kvs.Op
	for i := range 1000 {
		ops = append(ops, kvs.Op{Kind: kvs.Put, Key: fmt.Appendf(nil, "key%d", i%300), Value: []byte("v")},
			kvs.Op{Kind: kvs.Get, Key: fmt.Appendf(nil, "key%d", 500+i%400)})
	}
	for i := range 50 {
		ops = append(ops, kvs.Op{Kind: kvs.Delete, Key: fmt.Appendf(nil, "key%d", 275+i)})
	}
	if _, err := drivertest.Do(conn, ops...); err != nil {
		t.Fatal(err)
	}
	after := counts(t, d)
	if got, want := after.Counts.Sub(before.Counts), (metrics.Counts{Gets: 1000, Puts: 1000, Deletes: 50}); got != want {
		t.Errorf("etcd counts %+v, want %+v", got, want)
	}
	if after.Records != 275 || after.Others["Put"] != 0 || after.Instance != before.Instance {
		t.Errorf("counts %+v, want 275 records, the instance %s and nothing of others", after, before.Instance)
	}
	other := s.client(t)
	kept, err := other.Get(t.Context(), "", clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		t.Fatal(err)
	}
	versions := int64(0)
	for _, kv := range kept.Kvs {
		versions += kv.Version
	}
	if want := int64(1000 - 25*3); versions != want { // each key was put three or four times, the last 100 three times
		t.Errorf("the keys' versions add up to %d, want %d", versions, want)
	}
	if _, err := other.Put(t.Context(), "key0", "other"); err != nil {
		t.Fatal(err)
	}
	if c := counts(t, d); c.Others["Put"] != 1 || c.Counts.Puts != after.Counts.Puts+1 || c.Counts.Gets != after.Counts.Gets+1 {
		t.Errorf("after a stranger's range and put: %+v; before %+v", c, after)
	}
}

// Each member of a cluster but one has a copy, also the one that does not answer.
func TestReplicas(t *testing.T) {
	page := "etcd_server_has_leader 1\netcd_mvcc_range_total 1\netcd_mvcc_put_total 1\netcd_mvcc_delete_total 1\n" +
		"etcd_network_active_peers{Local=\"a\",Remote=\"b\"} 1\netcd_network_active_peers{Local=\"a\",Remote=\"c\"} 0\n"
	if c, err := readCounts(strings.NewReader(page)); err != nil || c.Settings[metrics.Replicas] != "2" || c.Settings[metrics.Durability] != metrics.EachAnswer {
		t.Errorf("%v, %v, want 2 replicas on disk", c.Settings, err)
	}
}

// A full etcd refuses a write: it is not applied, and the connection lives on.
func TestNoSpace(t *testing.T) {
	d := start(t, "--quota-backend-bytes", "1000000").open(t, driver.Use{})
	conn := drivertest.Dial(t, d, 0)
	var err error
	for i := 0; err == nil && i < 100; i++ {
		_, err = drivertest.Do(conn, kvs.Op{Kind: kvs.Put, Key: fmt.Appendf(nil, "key%d", i), Value: make([]byte, 100_000)})
	}
	var refused *driver.OpError
	if !errors.As(err, &refused) || refused.Effect != driver.NotApplied || !strings.Contains(err.Error(), "database space exceeded") {
		t.Fatalf("error %v, want etcd's", err)
	}
	if results, err := drivertest.Do(conn, kvs.Op{Kind: kvs.Get, Key: []byte("key0")}); err != nil || !results[0].Found {
		t.Errorf("a get from the full etcd: %v, %v", results, err)
	}
}

// A call has a deadline, after which the connection ends; and it ends with the server.
func TestConnectionEnds(t *testing.T) {
	for name, end := range map[string]struct {
		signal os.Signal
		want   error
	}{"stopped": {syscall.SIGSTOP, wire.ErrTimeout}, "killed": {syscall.SIGKILL, nil}} {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			o := s.options()
			o.CallTimeout = time.Second
			conn := drivertest.Dial(t, opened(t, o, driver.Use{}), 0)
			put := kvs.Op{Kind: kvs.Put, Key: []byte("k")}
			if _, err := drivertest.Do(conn, put); err != nil {
				t.Fatal(err)
			}
			if err := s.process.Signal(end.signal); err != nil {
				t.Fatal(err)
			}
			var first error
			for first == nil {
				_, first = drivertest.Do(conn, put)
			}
			if end.want != nil && !errors.Is(first, end.want) {
				t.Errorf("error %v, want one that wraps %v", first, end.want)
			}
			if _, err := drivertest.Do(conn, put); err != first {
				t.Errorf("the next call: %v, want %v", err, first)
			}
		})
	}
}

// What etcd lacks is refused by its flag.
func TestCheck(t *testing.T) {
	s := store{addr: "127.0.0.1:2379"}
	for want, change := range map[string]func(*driver.Options, *driver.Use){
		"-retry": func(o *driver.Options, _ *driver.Use) { o.Retry = true },
		"-dedup": func(o *driver.Options, _ *driver.Use) { o.Dedup = true },
		"-crc":   func(o *driver.Options, _ *driver.Use) { o.CRC = true },
		"-codec": func(o *driver.Options, _ *driver.Use) { o.Codec = wire.Codecs[1] },
		"preset": func(o *driver.Options, _ *driver.Use) { o.Settings = map[string]string{"preset": "base"} },
		"scan":   func(_ *driver.Options, u *driver.Use) { u.Kinds = []kvs.Kind{kvs.Scan} },
	} {
		o, u := s.options(), driver.Use{}
		change(&o, &u)
		if err := o.Validate(u); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v, want one line with %s", err, want)
		}
	}
	if err := s.options().Validate(driver.Use{Kinds: kinds}); err != nil {
		t.Error(err)
	}
}

// An etcd behind TLS with users is measured by who knows its authority and a password.
func TestSecured(t *testing.T) {
	certificate, key, authority := redistest.Certificates(t)
	text, err := os.ReadFile(authority)
	if err != nil {
		t.Fatal(err)
	}
	settings := map[string]string{"tls": "on", "ca": string(text)}
	s := startWith(t, settings, "--cert-file", certificate, "--key-file", key)
	config, err := s.options().TLSOf(0)
	if err != nil {
		t.Fatal(err)
	}
	admin, err := clientv3.New(clientv3.Config{Endpoints: []string{"https://" + s.addr}, TLS: config})
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	_, err = admin.UserAdd(t.Context(), "root", "s3cret")
	if err == nil {
		_, err = admin.UserGrantRole(t.Context(), "root", "root")
	}
	if err == nil {
		_, err = admin.AuthEnable(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	settings["user"], settings["password"] = "root", "wrong"
	d := s.open(t, driver.Use{})
	if _, _, err := d.Dial(t.Context(), 0, 0); err == nil || !strings.Contains(err.Error(), "authentication failed") {
		t.Errorf("error %v", err)
	}
	settings["password"] = "s3cret"
	conn := drivertest.Dial(t, d, 0)
	before := counts(t, d)
	put, get := kvs.Op{Kind: kvs.Put, Key: []byte("k"), Value: []byte("v")}, kvs.Op{Kind: kvs.Get, Key: []byte("k")}
	if results, err := drivertest.Do(conn, put, get); err != nil || string(results[1].Value) != "v" {
		t.Errorf("%v, %v", results, err)
	}
	if got := counts(t, d).Counts.Sub(before.Counts); got.Puts != 1 || got.Gets != 1 {
		t.Errorf("counts %+v", got)
	}
}
