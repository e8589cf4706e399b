package loadgen

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"kvlab/kvs/route"
	"kvlab/kvs/value"
	"kvlab/metrics"
	"kvlab/workload"
)

// Merged parts are the least of all ids.
func TestMerge(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	for range 2000 {
		parts, all := make([][]uint64, 1+random.IntN(5)), map[uint64]bool{}
		for range random.IntN(30) {
			id := random.Uint64N(1000)
			if i := random.IntN(len(parts)); !all[id] {
				all[id], parts[i] = true, append(parts[i], id)
			}
		}
		for _, p := range parts {
			slices.Sort(p)
		}
		limit := 1 + random.IntN(20)
		want := slices.Sorted(maps.Keys(all))
		want = want[:min(limit, len(want))]
		if got := merge(nil, parts, limit); !slices.Equal(got, want) {
			t.Fatalf("the %d least of %v: %v, want %v", limit, parts, got, want)
		}
	}
}

// What a scan lacks is the first id that a model of the store says it has.
func TestScanLacks(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 6))
	lacked := 0
	for range 20_000 {
		records := 1 + random.Uint64N(20)
		own := inserts{records: records, first: records + random.Uint64N(4), stride: 4}
		s := scan{from: random.Uint64N(records + 20), limit: 1 + random.IntN(12), acked: random.Uint64N(6)}
		var sure, store []uint64 // ids that are in the store for sure, and that are in it
		for id := range records + 40 {
			mine := id >= own.first && (id-own.first)%own.stride == 0 && (id-own.first)/own.stride < s.acked
			if id < records || mine {
				sure = append(sure, id)
			}
			if id < records || mine || random.IntN(2) == 0 {
				store = append(store, id)
			}
		}
		found := slices.DeleteFunc(store, func(id uint64) bool { return id < s.from })
		found = found[:min(s.limit, len(found))]
		if random.IntN(2) == 0 && len(found) > 0 { // and the next one is found in its place
			at := random.IntN(len(found))
			found = slices.Delete(slices.Clone(found), at, at+1)
			if random.IntN(2) == 0 {
				found = append(found, records+50)
			}
		}
		want, lacks := uint64(0), false
		for _, id := range sure {
			within := id >= s.from && (len(found) < s.limit || id <= found[len(found)-1])
			if within && !slices.Contains(found, id) {
				want, lacks = id, true
				break
			}
		}
		got, ok := s.lacks(found, own)
		if ok != lacks || ok && got != want {
			t.Fatalf("%+v of %+v finds %v: lacks %d, %v; want %d, %v", s, own, found, got, ok, want, lacks)
		}
		if ok {
			lacked++
		}
	}
	if lacked < 1000 {
		t.Errorf("%d scans lack an id", lacked)
	}
}

// part returns a scan's result.
func part(keys ...string) []byte {
	var b []byte
	for _, key := range keys {
		hash := route.Hash([]byte(key))
		v := make([]byte, 100)
		value.Fixed.Put(v, hash, metrics.MakeWriteID(0, 0, 0).Next())
		b = append(append(b, byte(len(key))), key...)
		b = append(append(b, byte(len(v))), v...)
	}
	return b
}

// A part with a wrong key is a fault that says so.
func TestScanPart(t *testing.T) {
	c := brief()
	c.Workload.Workload, c.KeyPrefix, c.Hosts = workload.YCSBE, "user", []string{"a:1", "b:1"}
	w := benchWorker(t, c)
	key := func(id uint64) string {
		key, _ := w.keys.key(id)
		return string(key)
	}
	var mine []string // keys of server 0
	foreign := ""
	for id := uint64(10); len(mine) < 4 || foreign == ""; id++ {
		if w.router.Server([]byte(key(id)), route.Hash([]byte(key(id)))) == 0 {
			mine = append(mine, key(id))
		} else if len(mine) > 0 {
			foreign = key(id)
		}
	}
	wrong := part(mine[0], mine[1])
	wrong[len(wrong)-1] ^= 1
	tests := []struct {
		name, want string
		found      []byte
	}{
		{"right", "", part(mine[:3]...)},
		{"nothing", "", nil},
		{"repeated", "key " + mine[1] + " is there twice", part(mine[0], mine[1], mine[1])},
		{"out of order", "key " + mine[1] + " is out of order", part(mine[0], mine[2], mine[1])},
		{"before the start", "key " + key(9) + " is out of order", part(key(9), mine[0])},
		{"too many", "key " + mine[3] + " is one more than the limit", part(mine[:4]...)},
		{"another server's", "key " + foreign + " is another server's", part(mine[0], foreign)},
		{"a stranger's", `key "stranger" is not one of the records'`, part(mine[0], "stranger")},
		{"too short", "is not one of the records'", part(mine[0][:len(mine[0])-1])},
		{"a wrong value", "key " + mine[1] + ": a value whose", wrong},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			x := &w.rounds[0].exchanges[0]
			x.scans, x.ids, x.ends = []scan{{from: 10, limit: 3}}, nil, nil
			w.checker.Every, w.checker.Until = 1, 1
			var checked replyCheck
			if err := w.checkPart(x, test.found, false, &checked); err != nil {
				t.Fatal(err)
			}
			if fault := x.scans[0].fault; (fault == "") != (test.want == "") || !strings.Contains(fault, test.want) {
				t.Errorf("fault %q, want %q", fault, test.want)
			}
			if len(x.ends) != 1 || x.ends[0] != len(x.ids) {
				t.Errorf("ids %v, ends %v", x.ids, x.ends)
			}
		})
	}
	x := &w.rounds[0].exchanges[0]
	for n := range len(part(mine[0])) {
		x.scans, x.ids, x.ends = []scan{{from: 10, limit: 3}}, nil, nil
		if err := w.checkPart(x, part(mine[0])[:n], false, new(replyCheck)); n > 0 && err == nil {
			t.Errorf("%d bytes of a pair are no error", n)
		}
	}
}
