package loadgen

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"kvlab/kvs"
	"kvlab/kvs/route"
	"kvlab/metrics"
	"kvlab/workload"
)

// TestKeys holds keys and their hashes against strconv and route.Hash: all
// lengths of an id, their first and last, and random ones.
func TestKeys(t *testing.T) {
	const seed = 7
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	ids := []uint64{0, ^uint64(0)}
	for ten := uint64(1); ten <= 1e19; ten *= 10 {
		ids = append(ids, ten-1, ten, ten+1)
		if ten == 1e19 {
			break
		}
	}
	for id := range uint64(20_000) {
		ids = append(ids, id)
	}
	for range 100_000 {
		ids = append(ids, random.Uint64()>>random.IntN(64))
	}
	for _, prefix := range []string{"", "user", strings.Repeat("p", kvs.MaxKeyLen-longestID)} {
		k := newKeys(route.Keys{Prefix: prefix})
		for _, id := range ids {
			want := prefix + strconv.FormatUint(id, 10)
			key, hash := k.key(id)
			if string(key) != want || hash != route.Hash([]byte(want)) {
				t.Fatalf("key(%d) with prefix %.10q = %q, %016x; want %q, %016x", id, prefix, key, hash, want, route.Hash([]byte(want)))
			}
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
