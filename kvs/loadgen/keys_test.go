package loadgen

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"kvlab/kvs"
	"kvlab/kvs/loadgen/keytable"
	"kvlab/kvs/route"
	"kvlab/metrics"
	"kvlab/workload"
)

// TestKeyTable compares keys and their hashes, made one by one and with a table, with fmt and
// route.Hash: every id up to 110,000, the first and last of every length, and random ones.
func TestKeyTable(t *testing.T) {
	const seed = 8
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for _, test := range []struct {
		prefix  string
		digits  int
		records uint64
	}{{"", 0, 1}, {"", 0, 999}, {"", 0, 1000}, {"", 1, 1001}, {"", 0, 1_000_000}, {"user", 0, 1_000_000}, {strings.Repeat("p", kvs.MaxKeyLen-longestID), 0, 12_345}, {"u", 0, keytable.FirstLong},
		{"", 13, 1}, {"user", 13, 1_000_000}, {"u", 8, keytable.FirstLong}, {"", 13, keytable.FirstLong}} {
		of := route.Keys{Prefix: test.prefix, Digits: test.digits}
		all := make([]uint64, min(test.records, 110_000))
		for i := range all {
			all[i] = uint64(i)
		}
		for ten := uint64(10); ten < test.records; ten *= 10 {
			all = append(all, ten-1, ten)
		}
		for range 50_000 {
			all = append(all, random.Uint64N(test.records))
		}
		all = append(all, test.records-1)
		table := keytable.New(of, test.records, false)
		for ids := range slices.Chunk(all, drawn) {
			checkTable(t, table, of, ids)
		}
		longer := []uint64{1e19 - 1, 1e19, ^uint64(0)}
		for ten := uint64(10); ten < 1e19; ten *= 10 {
			longer = append(longer, ten-1, ten, random.Uint64N(ten))
		}
		k := newKeys(of)
		for _, id := range append(longer, all[:min(len(all), 20_000)]...) {
			key, hash := k.key(id)
			checkKey(t, of, id, key, hash)
		}
	}
	if keytable.New(route.Keys{}, keytable.FirstLong+1, false) != nil {
		t.Error("names for ids of nine digits")
	}
}

func checkKey(t *testing.T, of route.Keys, id uint64, key []byte, hash uint64) {
	t.Helper()
	want := fmt.Appendf(nil, "%s%0*d", of.Prefix, of.Digits, id)
	if string(key) != string(want) || hash != route.Hash(want) {
		t.Fatalf("record %d with prefix %.10q: %q, %016x; want %q, %016x", id, of.Prefix, key, hash, want, route.Hash(want))
	}
}

func checkTable(t *testing.T, n *keytable.Table, of route.Keys, ids []uint64) {
	t.Helper()
	var b block
	for i, id := range ids {
		b.ops[i].Key = id
	}
	n.Fill(b.ops[:len(ids)], b.suffixes[:], b.hashes[:], b.kinds[:])
	key, prefix := slices.Clone(n.Prefix), len(n.Prefix)
	for i, id := range ids {
		key = binary.LittleEndian.AppendUint64(key[:prefix], b.suffixes[i].Text)[:prefix+int(b.suffixes[i].Len)]
		checkKey(t, of, id, key, b.hashes[i])
	}
}

// TestLongIDs adds the same operations with and without a key table: the batches, hashes
// and kinds are the same. Only the order of the values' versions differs between keys.
func TestLongIDs(t *testing.T) {
	for _, router := range route.Names {
		for _, servers := range []int{1, 3} {
			c := DefaultConfig()
			c.Router, c.KeyPrefix, c.Workload.Workload = router, "user", workload.YCSBA
			c.Hosts = make([]string, servers)
			fast, slow := benchWorker(t, c), benchWorker(t, c)
			slow.keyTable = nil
			for _, w := range []*worker{fast, slow} {
				w.rounds[0].empty()
				for _, n := range []int{drawn, 1, 100} {
					w.source.Fill(w.block.ops[:n])
					w.add(&w.rounds[0], w.block.ops[:n])
				}
			}
			for i := range servers {
				x, y := &fast.rounds[0].exchanges[i], &slow.rounds[0].exchanges[i]
				same := func(a, b kvs.Op) bool {
					return a.Kind == b.Kind && string(a.Key) == string(b.Key) && len(a.Value) == len(b.Value)
				}
				if x.batch.Len() == 0 || !slices.EqualFunc(decoded(&x.batch), decoded(&y.batch), same) ||
					!slices.Equal(x.hashes, y.hashes) || !slices.Equal(x.kinds, y.kinds) {
					t.Errorf("%s: the batches of %d and %d operations for server %d of %d differ", router, x.batch.Len(), y.batch.Len(), i, servers)
				}
			}
		}
	}
}

// Records whose ids are too long for the key table are inserted and read like others.
func TestLongInserts(t *testing.T) {
	c := brief()
	c.Workload.Workload, c.Workload.Records = workload.YCSBD, keytable.FirstLong-1
	w := benchWorker(t, c)
	if w.keyTable == nil || w.keyTable.Lacks([]workload.Op{{Key: keytable.FirstLong - 1}}) {
		t.Error("the table lacks a key of eight digits")
	}
	r := &w.rounds[0]
	r.begin()
	r.empty()
	ops := []workload.Op{{Kind: workload.Insert, Key: keytable.FirstLong + 7}, {Kind: workload.Read, Key: 5}, {Kind: workload.Read, Key: keytable.FirstLong + 7}}
	w.add(r, ops)
	for i, op := range decoded(&r.exchanges[0].batch) {
		key := fmt.Sprintf("%013d", ops[i].Key)
		if string(op.Key) != key || r.exchanges[0].hashes[i] != route.Hash([]byte(key)) || op.Kind != kvs.Kind(ops[i].Kind) {
			t.Errorf("%s of %s, want %s", op.Kind, op.Key, key)
		}
	}
}

// A workload's kind of operation converts to the store's.
func TestKindsNumberedAlike(t *testing.T) {
	for of, want := range map[workload.Kind]kvs.Kind{
		workload.Read: kvs.Get, workload.Update: kvs.Put, workload.ReadModifyWrite: kvs.ReadModifyWrite,
		workload.Insert: kvs.Insert, workload.Delete: kvs.Delete, workload.Scan: kvs.Scan,
	} {
		if kvs.Kind(of) != want {
			t.Errorf("%d is %s, want %s", of, kvs.Kind(of), want)
		}
	}
	if workload.Kinds != metrics.OpKinds {
		t.Errorf("workloads have %d kinds, records %d", workload.Kinds, metrics.OpKinds)
	}
}
