package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"kvlab/extra/door"
	"kvlab/internal/wiretest"
	"kvlab/kvs"
	"kvlab/kvs/engine"
	"kvlab/kvs/server"
	"kvlab/kvs/service"
	"kvlab/kvs/wire"
	"kvlab/metrics"
)

// store is two servers of engine btree.
type store struct {
	hosts    []string
	services []*service.Service
}

func start(t *testing.T) *store {
	t.Helper()
	s := &store{}
	for range 2 {
		e, err := engine.Open("btree", engine.Options{})
		if err != nil {
			t.Fatal(err)
		}
		one := service.New(e)
		options := wire.Options{Hello: wire.Hello{Node: "server", Codec: wire.Codecs[0]}}
		l := wiretest.Start(t, func(conn net.Conn) { _ = server.Serve(conn, options, one, server.PerConn) })
		s.hosts, s.services = append(s.hosts, l.Addr().String()), append(s.services, one)
	}
	return s
}

// counts are those of both servers.
func (s *store) counts() (all metrics.Counts) {
	for _, one := range s.services {
		all = all.Add(one.Counts()["go-ycsb"])
	}
	return all
}

// workload returns the path of one of go-ycsb's own workloads.
func workload(t *testing.T, name string) string {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/pingcap/go-ycsb").Output()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(strings.TrimSpace(string(dir)), "workloads", name)
}

var measured = regexp.MustCompile(`(?m)^(\w+) +- .*Count: (\d+),`)

// measure runs go-ycsb and returns the numbers of what it measured.
func measure(t *testing.T, args ...string) map[string]uint64 {
	t.Helper()
	file := filepath.Join(t.TempDir(), "measured")
	if err := run(t.Context(), append(args, "-threads", "4", "-p", "measurement.output_file="+file)); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	counts := make(map[string]uint64)
	for _, m := range measured.FindAllStringSubmatch(string(text), -1) {
		if counts[m[1]], err = strconv.ParseUint(m[2], 10, 64); err != nil || strings.HasSuffix(m[1], "_ERROR") {
			t.Errorf("go-ycsb: %s, %v", m[0], err)
		}
	}
	return counts
}

// go-ycsb loads and runs its workloads, one operation or a batch at a time, and checks the
// values. The servers count what it counts.
func TestWorkloads(t *testing.T) {
	for name, batch := range map[string]uint64{"workloada": 1, "workloadb": 10, "workloadc": 10, "workloadd": 1, "workloade": 1, "workloadf": 1} {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			args := []string{"kvlab", "-P", workload(t, name), "-p", "kvlab.hosts=" + strings.Join(s.hosts, ","), "-p", "dataintegrity=true",
				"-p", "maxscanlength=20", "-p", fmt.Sprintf("batch.size=%d", batch)}
			load := measure(t, append([]string{"load"}, args...)...)
			if got, want := s.counts(), (metrics.Counts{Inserts: 1000, Calls: s.counts().Calls}); got != want || load["INSERT"]+batch*load["BATCH_INSERT"] != 1000 {
				t.Errorf("loaded: the servers count %+v, go-ycsb %v; want 1000 inserts", got, load)
			}
			loaded := s.counts()
			ops := measure(t, append([]string{"run"}, args...)...)
			of := func(kind string) uint64 { return ops[kind] + batch*ops["BATCH_"+kind] }
			got := s.counts().Sub(loaded)
			want := metrics.Counts{ // an update of one field reads the others
				Gets: of("READ") + of("UPDATE"), Puts: of("UPDATE"), Inserts: of("INSERT"), Scans: of("SCAN"), ScanParts: of("SCAN"),
				Calls: got.Calls, Hits: of("READ") + of("UPDATE") + 2*of("SCAN"),
			}
			if got != want || of("READ")+of("UPDATE")+of("INSERT")+of("SCAN") < 1000 {
				t.Errorf("run: the servers count %+v, go-ycsb %v: want %+v", got, ops, want)
			}
		})
	}
}

// go-ycsb's own binding of Redis drives the door, with the data type hash. It counts a miss
// and an error as a good read: the door's counters have neither.
func TestDoor(t *testing.T) {
	for _, name := range []string{"workloada", "workloadb", "workloadc", "workloadd", "workloadf"} {
		t.Run(name, func(t *testing.T) {
			d := door.New(service.New(engine.NewSyncMap()), server.GatewayOptions{Limits: wire.DefaultLimits(), Engine: "syncmap", Check: func([]kvs.Kind) error { return nil }})
			addr := wiretest.Start(t, func(conn net.Conn) { _ = d.Serve(conn) }).Addr().String()
			args := []string{"redis", "-P", workload(t, name), "-p", "redis.addr=" + addr, "-p", "dataintegrity=true"}
			load := measure(t, append([]string{"load"}, args...)...)
			ops := measure(t, append([]string{"run"}, args...)...)
			client := redis.NewClient(&redis.Options{Addr: addr})
			defer client.Close()
			info, err := client.Info(t.Context(), "commandstats", "stats").Result()
			if err != nil {
				t.Fatal(err)
			}
			if load["INSERT"] != 1000 || ops["READ"]+ops["UPDATE"]+ops["INSERT"] < 1000 {
				t.Errorf("go-ycsb loaded %v and ran %v", load, ops)
			}
			for _, want := range []string{
				fmt.Sprintf("cmdstat_hmget:calls=%d,rejected_calls=0,failed_calls=0", ops["READ"]), fmt.Sprintf("keyspace_hits:%d\r", ops["READ"]), "keyspace_misses:0\r",
				fmt.Sprintf("cmdstat_hset:calls=%d,rejected_calls=0,failed_calls=0", load["INSERT"]+ops["INSERT"]+ops["UPDATE"]),
			} {
				if !strings.Contains(info, want) {
					t.Errorf("the door counts %s: want %q, as go-ycsb counted %v", info, want, ops)
				}
			}
		})
	}
}

// A scan returns the first records of both servers, in order, and of its table only; a
// batch of updates keeps the fields of each.
func TestDatabase(t *testing.T) {
	s := start(t)
	p, err := parse([]string{"-p", "kvlab.hosts=" + strings.Join(s.hosts, ","), "-p", "fieldcount=2", "-p", "scanproportion=1"})
	if err != nil {
		t.Fatal(err)
	}
	db, err := creator{}.Create(p)
	if err != nil {
		t.Fatal(err)
	}
	ctx := db.InitThread(t.Context(), 0, 1)
	var keys []string
	var rows []map[string][]byte
	for i := range 50 {
		keys, rows = append(keys, fmt.Sprintf("key%02d", i)), append(rows, map[string][]byte{"field0": {byte(i)}, "field1": {1}})
	}
	d := db.(*database)
	if err := errors.Join(d.BatchInsert(ctx, "a", keys, rows), d.Insert(ctx, "b", "key", rows[0])); err != nil {
		t.Fatal(err)
	}
	twice := []map[string][]byte{{"field0": {100}}, {"field1": {101}}}
	if err := errors.Join(d.BatchUpdate(ctx, "a", []string{"key45", "key45"}, twice), d.Delete(ctx, "a", "key46")); err != nil {
		t.Fatal(err)
	}
	got, err := d.Scan(ctx, "a", "key40", 20, nil)
	want := []string{"40 1", "41 1", "42 1", "43 1", "44 1", "100 101", "47 1", "48 1", "49 1"}
	var texts []string
	for _, row := range got {
		texts = append(texts, fmt.Sprint(row["field0"][0], row["field1"][0]))
	}
	if err != nil || strings.Join(texts, ",") != strings.Join(want, ",") {
		t.Errorf("the scan finds %v, %v; want %v", texts, err, want)
	}
	if _, err := d.Read(ctx, "a", "key46", nil); err == nil || !strings.Contains(err.Error(), "no record key46") {
		t.Errorf("a deleted record: error %v", err)
	}
	db.CleanupThread(ctx)
	if err := errors.Join(d.Close(), ctx.Err()); err != nil {
		t.Error(err)
	}
}

func TestMistakes(t *testing.T) {
	for args, want := range map[string]string{
		"": "usage: ", "walk kvlab": "usage: ", "run mongodb": "want kvlab or redis", "run kvlab -p workload=x": "no workload",
		"run kvlab -p a": "want name=value", "run kvlab -P none": "none", "run kvlab kvlab": `unexpected argument "kvlab"`, "run kvlab -p recordcount=9 -p kvlab.hosts=127.0.0.1:1": "refused",
	} {
		if err := run(t.Context(), strings.Fields(args)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", args, err, want)
		}
	}
}
