package route_test

import (
	"bytes"
	"testing"

	"kvlab/kvs"
	"kvlab/kvs/kvstest"
	"kvlab/kvs/route"
)

// TestKeySlot compares with published slots: CRC-16/XMODEM's check value, and those of the
// Redis Cluster specification and of CLUSTER KEYSLOT's page. With as many servers as slots,
// each has one.
func TestKeySlot(t *testing.T) {
	r := newRouter(t, route.Slots, 1<<14)
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

// slowXModem is the remainder of key and 16 zero bits by x^16 + x^12 + x^5 + 1, bit by bit.
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
