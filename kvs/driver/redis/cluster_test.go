package redis_test

import (
	"errors"
	"fmt"
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
	"kvlab/metrics"
)

// The masters of a real cluster are a driver's servers: each owns the slots, and gets the
// keys, that the router says.
func TestCluster(t *testing.T) {
	t.Parallel()
	const masters = 3
	servers := redistest.Cluster(t, masters)
	var addresses []string
	for _, s := range servers {
		addresses = append(addresses, s.Addr)
	}
	d := open(t, options(redis.ClusterRow, addresses...))
	defer d.Close()
	router, err := route.New(route.Slots, masters, nil)
	if err != nil {
		t.Fatal(err)
	}
	var calls [masters][]kvs.Op
	random := kvstest.NewRandom(t)
	for range 1000 {
		op := kvs.Op{Kind: kvs.Put, Key: kvstest.RandomBytes(random, 1+random.IntN(20)), Value: []byte("x")}
		if random.IntN(2) == 0 {
			op.Key = fmt.Appendf(nil, "%x{%d}%x", op.Key, random.IntN(100), op.Key)
		}
		i := router.Server(op.Key, route.Hash(op.Key))
		calls[i] = append(calls[i], op)
	}
	var before [masters]metrics.StoreCounts
	var conns [masters]driver.Conn
	for i := range masters {
		if conns[i], _, err = d.Dial(t.Context(), i, 0); err != nil {
			t.Fatal(err)
		}
		defer conns[i].Close()
		before[i] = counts(t, d, i)
		if _, err := drivertest.Do(conns[i], calls[i]...); err != nil {
			t.Errorf("server %d: %v", i, err)
		}
		if got := counts(t, d, i).Counts.Sub(before[i].Counts); got.Puts != uint64(len(calls[i])) {
			t.Errorf("server %d counts %+v, want %d Puts", i, got, len(calls[i]))
		}
	}
	_, err = drivertest.Do(conns[0], calls[1][0])
	var refused *driver.OpError
	if !errors.As(err, &refused) || refused.Effect != driver.NotApplied || !strings.HasPrefix(refused.Text, "MOVED ") {
		t.Errorf("error %v, want MOVED", err)
	}
	wrong := open(t, options(redis.ClusterRow, addresses[2], addresses[1], addresses[0]))
	if _, _, err := wrong.Dial(t.Context(), 0, 0); err == nil || !strings.Contains(err.Error(), "owns the slots 10923-16383, want 0-5460 of master 1 of 3") {
		t.Errorf("error %v, want the slots of the wrong master", err)
	}
	testFound(t, addresses[2:], addresses, route.Slots)
	testMovedSlot(t, d, servers, before)
	table := testFound(t, addresses[:1], []string{addresses[1], addresses[0], addresses[2]}, "slots:0-0+5461-10922/1-5460/10923-16383")
	o, u := options(redis.ClusterRow, table.hosts...), driver.Use{Kinds: kinds, Router: table.router}
	if err := o.Validate(u); err != nil {
		t.Fatal(err)
	}
	uneven, err := driver.Open(o, u)
	if err != nil {
		t.Fatal(err)
	}
	defer uneven.Close()
	router, err = route.New(table.router, masters, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range masters {
		conn, _, err := uneven.Dial(t.Context(), i, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		for _, op := range slices.Concat(calls[0], calls[1], calls[2]) {
			if router.Server(op.Key, route.Hash(op.Key)) == i {
				if _, err := drivertest.Do(conn, op); err != nil {
					t.Fatalf("server %d, key %q: %v", i, op.Key, err)
				}
			}
		}
	}
	if _, _, err := open(t, options(redis.Row, addresses[0])).Dial(t.Context(), 0, 0); err == nil || !strings.Contains(err.Error(), "want redis-cluster://"+addresses[0]) {
		t.Errorf("a node of a cluster as a Redis of its own: %v", err)
	}
	alone := redistest.Start(t)
	if _, _, err := redis.ClusterRow.Find(t.Context(), options(redis.ClusterRow, alone.Addr)); err == nil || !strings.Contains(err.Error(), "want redis://"+alone.Addr) {
		t.Errorf("a Redis of its own as a cluster: %v", err)
	}
}

type found struct {
	hosts  []string
	router string
}

// testFound finds a cluster's masters from some of its addresses, of which the first is of
// nobody.
func testFound(t *testing.T, seeds, hosts []string, router string) (f found) {
	t.Helper()
	var err error
	nobody := fmt.Sprintf("127.0.0.1:%d", redistest.Free(t))
	f.hosts, f.router, err = redis.ClusterRow.Find(t.Context(), options(redis.ClusterRow, append([]string{nobody}, seeds...)...))
	if err != nil || !slices.Equal(f.hosts, hosts) || f.router != router {
		t.Fatalf("from %s: %+v, %v, want %s and %s", seeds, f, err, hosts, router)
	}
	return f
}

// testMovedSlot moves a slot, which counts on both of its servers.
func testMovedSlot(t *testing.T, d driver.Driver, servers []*redistest.Server, before [3]metrics.StoreCounts) {
	to := servers[1].Do("CLUSTER", "MYID")
	for _, s := range []*redistest.Server{servers[1], servers[0]} {
		s.Do("CLUSTER", "SETSLOT", "0", "NODE", to)
	}
	for i := range 2 {
		if after := counts(t, d, i); after.Fixed["hash of the slots"] == before[i].Fixed["hash of the slots"] {
			t.Errorf("server %d does not show that a slot moved", i)
		}
	}
	if _, _, err := d.Dial(t.Context(), 0, 1); err == nil || !strings.Contains(err.Error(), "owns the slots 1-5460") {
		t.Errorf("error %v, want the slots that are left", err)
	}
}
