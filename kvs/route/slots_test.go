package route_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"kvlab/internal/kvstest"
	"kvlab/kvs"
	"kvlab/kvs/route"
	"kvlab/kvs/route/routetest"
)

// TestKeySlot compares with published slots: CRC-16/XMODEM's check value, and those of the
// Redis Cluster specification and of CLUSTER KEYSLOT's page. With as many servers as slots,
// each has one.
func TestKeySlot(t *testing.T) {
	r := routetest.New(t, route.Slots, 1<<14)
	for key, want := range map[string]int{"123456789": 0x31c3, "foo": 12182, "bar": 5061, "hello": 866, "somekey": 11058, "foo{hash_tag}": 2515, "bar{hash_tag}": 2515} {
		if got := r.Server([]byte(key), 0); got != want {
			t.Errorf("%s has slot %d, want %d", key, got, want)
		}
	}
	for key, same := range map[string]string{"{user1000}.following": "user1000", "foo{{bar}}zap": "{bar", "foo{bar}{zap}": "bar"} {
		if got, want := r.Server([]byte(key), 0), r.Server([]byte(same), 0); got != want {
			t.Errorf("%s has slot %d, want %d of %s", key, got, want, same)
		}
	}
	random := kvstest.NewRandom(t)
	for range 500 {
		key := append(kvstest.RandomBytes(random, random.IntN(kvs.MaxKeyLen)), []string{"{}x", "{", "}", "{}"}[random.IntN(4)]...)
		if i := bytes.IndexByte(key, '{'); i >= 0 && bytes.IndexByte(key[i+1:], '}') > 0 {
			continue
		}
		if got, want := r.Server(key, 0), int(slowXModem(key))%(1<<14); got != want {
			t.Errorf("%q has slot %d, want %d", key, got, want)
		}
	}
}

// slowXModem returns the remainder of key and 16 zero bits by x^16 + x^12 + x^5 + 1, bit by bit.
func slowXModem(key []byte) uint16 {
	rest := uint32(0)
	for _, c := range append(bytes.Clone(key), 0, 0) {
		for bit := 7; bit >= 0; bit-- {
			if rest = rest<<1 | uint32(c>>bit&1); rest&0x10000 != 0 {
				rest ^= 0x11021
			}
		}
	}
	return uint16(rest)
}

// Every slot has one server. 3, 5 and 6 masters have what redis-cli 7.0.15 --cluster create
// gives them.
func TestSlotsOf(t *testing.T) {
	for servers, want := range map[int][][2]int{
		1: {{0, 16383}}, 3: {{0, 5460}, {5461, 10922}, {10923, 16383}},
		5: {{0, 3276}, {3277, 6553}, {6554, 9829}, {9830, 13106}, {13107, 16383}},
		6: {{0, 2730}, {2731, 5460}, {5461, 8191}, {8192, 10922}, {10923, 13652}, {13653, 16383}},
	} {
		for i, want := range want {
			if first, last := route.SlotsOf(i, servers); first != want[0] || last != want[1] {
				t.Errorf("server %d of %d has slots %d to %d, want %v", i, servers, first, last, want)
			}
		}
	}
	for servers := 1; servers <= 300; servers++ {
		next := 0
		for i := range servers {
			first, last := route.SlotsOf(i, servers)
			if first != next || last < first {
				t.Fatalf("server %d of %d has slots %d to %d, want them from %d on", i, servers, first, last, next)
			}
			next = last + 1
		}
		if next != 1<<14 {
			t.Errorf("%d servers have %d slots", servers, next)
		}
	}
	if _, err := route.New(route.Slots, 1<<14+1, nil); err == nil {
		t.Error("more servers than slots are no error")
	}
}

// A cluster's uneven table has a name, of which the router gives each slot its owner. Slots
// without an owner, or with two, are refused.
func TestSlotTable(t *testing.T) {
	random := kvstest.NewRandom(t)
	for range 50 {
		servers := 1 + random.IntN(6)
		table, owners := make(route.SlotTable, servers), make([]int, 1<<14)
		for first := 0; first < 1<<14; {
			server, last := random.IntN(servers), min(first+random.IntN(2000), 1<<14-1)
			table[server] = append(table[server], [2]int{first, last})
			for ; first <= last; first++ {
				owners[first] = server
			}
		}
		r, err := route.New(table.String(), servers, nil)
		if slices.ContainsFunc(table, func(ranges [][2]int) bool { return ranges == nil }) {
			if err == nil {
				t.Errorf("%v has a server without slots", table)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for range 1000 {
			key := kvstest.RandomBytes(random, 12)
			if got, want := r.Server(key, 0), owners[slowXModem(key)%(1<<14)]; bytes.IndexByte(key, '{') < 0 && got != want {
				t.Fatalf("%q goes to %d, want %d of %s", key, got, want, table)
			}
		}
	}
	if even, err := route.ParseSlots(route.Slots, 3); err != nil || even.String() != route.Slots {
		t.Errorf("an even table is %s, %v", even, err)
	}
	for name, want := range map[string]string{
		"slots:0-16382/5-6":    "slot 5 has 2 servers",
		"slots:0-99/101-16383": "slot 100 has 0 servers",
		"slots:0-16383":        "it has the slots of 1 servers, want 2",
		"slots:0-16384/1-2":    "up to 16383",
		"slots:x/0-16383":      "want ranges of slots",
	} {
		if _, err := route.New(name, 2, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", name, err, want)
		}
	}
}
