package audit

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"kvlab/kvs/route"
	"kvlab/kvs/value"
	"kvlab/metrics"
	"kvlab/workload"
)

// theLoaded is the loaded value of the tests' key.
var theLoaded = metrics.MakeWriteID(1, 0, 7)

// possible returns the values that one key may have after writes: the last of each order
// of all writes in which none precedes one that was acknowledged before it was sent. Those
// whose outcome is unknown may be absent.
func possible(writes []write) map[metrics.WriteID]bool {
	last := make(map[metrics.WriteID]bool)
	if len(writes) == 0 {
		last[theLoaded] = true
	}
	if i := slices.IndexFunc(writes, func(w write) bool { return w.lost }); i >= 0 {
		applied := slices.Clone(writes)
		applied[i].lost = false
		last = possible(applied)
		maps.Copy(last, possible(slices.Delete(slices.Clone(writes), i, i+1)))
		return last
	}
	var extend func(rest []write)
	extend = func(rest []write) {
		for i, w := range rest {
			if slices.ContainsFunc(rest, func(u write) bool { return u.acked < w.sent }) {
				continue
			}
			if len(rest) == 1 {
				last[w.value] = true
			}
			extend(slices.Delete(slices.Clone(rest), i, i+1))
		}
	}
	extend(writes)
	return last
}

// randomWrites returns up to two writes of each of two workers of two clients, in order. If the
// workload deletes, a third of them are Deletes. If a server was killed, the outcome of a
// third is unknown.
func randomWrites(random *rand.Rand, deletes, killed bool) (writes []write) {
	for client := range 2 {
		for worker := range 2 {
			at := int64(0)
			for version := range min(random.IntN(3), 6-len(writes)) {
				at += 1 + random.Int64N(10)
				w := write{client: client, worker: worker, value: metrics.MakeWriteID(client, worker, uint32(11+version)), sent: at}
				if deletes && random.IntN(3) == 0 {
					w.value = metrics.NoWrite
				}
				at += 1 + random.Int64N(20)
				w.acked, w.lost = at, killed && random.IntN(3) == 0
				writes = append(writes, w)
			}
		}
	}
	return writes
}

// recordsOf returns what two clients report of the writes of one key: the last of each
// worker, without those that the same client surely replaced. The first client read the
// key. The second one's clock is ahead.
func recordsOf(t *testing.T, writes []write, found metrics.WriteID, ahead int64, clocks [2]string) (records []metrics.AuditRecord) {
	t.Helper()
	for client := range 2 {
		r := metrics.AuditRecord{Client: client, Each: metrics.AuditEach(false), TickNs: 1, Clock: clocks[client], Loaded: []uint32{10, 10}}
		var keys metrics.AuditKeys
		if client == 0 {
			keys.Found = []metrics.WriteID{found}
			if found != metrics.NoWrite {
				r.Checks = value.Fixed.Check(route.Hash([]byte("user0")), found, 128)
			}
		} else {
			r.OriginNs = ahead
		}
		keys.Spots = []metrics.Spot{{Found: theLoaded}} // before all writes
		for i, w := range writes {
			replaced := func(u write) bool {
				return !u.lost && u.client == client && (u.sent > w.acked || u.worker == w.worker && u.sent > w.sent)
			}
			if w.client == client && w.lost {
				keys.Lost = append(keys.Lost, metrics.LostWrite{Worker: uint16(w.worker), Version: w.value.Version(), Sent: uint32(w.sent), Learned: uint32(w.acked)})
			} else if w.client == client && !slices.ContainsFunc(writes, replaced) {
				keys.Keys, keys.Workers = append(keys.Keys, 0), append(keys.Workers, uint16(writes[i].worker))
				keys.Versions = append(keys.Versions, w.value.Version())
				keys.Sent, keys.Acked = append(keys.Sent, uint32(w.sent)), append(keys.Acked, uint32(w.acked))
			}
		}
		if err := r.Pack(keys); err != nil {
			t.Fatal(err)
		}
		records = append(records, r)
	}
	return records
}

// oneKey returns a run of two clients on one record, with the second client's clock ahead by
// a known time.
func oneKey(ahead int64) metrics.Run {
	run := metrics.Run{Workload: metrics.Settings{"records": "1", "key-prefix": "user", "value-size": "128"}, Preflight: &metrics.Preflight{}}
	for client := range int64(2) {
		name := fmt.Sprint("c", client)
		clock := &metrics.ClockOffset{Monotonic: metrics.ClockOffsetBounds{LeastNs: client * ahead, MostNs: client * ahead}}
		run.Nodes = append(run.Nodes, metrics.RunNode{Name: name, Role: metrics.Client})
		run.Preflight.Machines = append(run.Preflight.Machines, metrics.Machine{Nodes: []string{name}, ClockBefore: clock, ClockAfter: clock})
	}
	return run
}

// seeds returns how many runs a test draws: more with KVLAB_LONG=1.
func seeds() uint64 {
	if os.Getenv("KVLAB_LONG") == "1" {
		return 2000
	}
	return 120
}

// The audit accepts exactly the values that some order of the writes leaves, with one
// clock and with two.
func TestAuditByEveryOrder(t *testing.T) {
	accepted, refused := 0, 0
	for seed := range seeds() {
		random := rand.New(rand.NewPCG(seed, 3))
		ahead, clocks := int64(0), [2]string{"one", "one"}
		if seed%2 == 1 {
			ahead, clocks = random.Int64N(1e9), [2]string{"one", "two"}
		}
		run, writes := oneKey(ahead), randomWrites(random, seed%4 > 1, seed%8 == 4 || seed%8 == 7)
		want := possible(writes)
		all := []metrics.WriteID{theLoaded, metrics.NoWrite, metrics.MakeWriteID(0, 0, 99), metrics.MakeWriteID(5, 0, 1)}
		for _, w := range writes {
			all = append(all, w.value)
		}
		for _, found := range all {
			got := Judge(run, "1", recordsOf(t, writes, found, ahead, clocks))
			if (got.Failures == 0) != want[found] || got.Keys != 1 {
				t.Errorf("seed %d: found %s of %v: %+v, want accepted: %v", seed, found, writes, got, want[found])
			}
			if got.Failures == 0 {
				accepted++
			} else {
				refused++
			}
		}
	}
	t.Logf("%d values accepted, %d refused", accepted, refused)
}

// Where the clocks' distance is not known, no order between two clients is taken for
// sure.
func TestAuditWithoutClocks(t *testing.T) {
	run := oneKey(0)
	run.Preflight = nil
	first := write{value: metrics.MakeWriteID(0, 0, 11), sent: 1, acked: 2}
	second := write{client: 1, value: metrics.MakeWriteID(1, 0, 11), sent: 100, acked: 101}
	if got := Judge(run, "1", recordsOf(t, []write{first, second}, first.value, 0, [2]string{"one", "two"})); got.Failures != 0 {
		t.Error(got.First)
	}
	if got := Judge(run, "1", recordsOf(t, []write{first, second}, first.value, 0, [2]string{"one", "one"})); !strings.Contains(got.First, "key user0 (popularity rank 1) has version 11 of worker 0 of client 0, want version 11 of worker 0 of client 1, which was sent 98ns after that was acknowledged") {
		t.Error(got.First)
	}
}

// What is missing or damaged in the clients' records is a failure.
func TestAuditIncomplete(t *testing.T) {
	run := oneKey(0)
	good := func() []metrics.AuditRecord {
		return recordsOf(t, nil, metrics.MakeWriteID(0, 1, 3), 0, [2]string{"one", "one"})
	}
	if got := Judge(run, "abc", good()); got.Failures != 0 || got.Secret != "abc" || got.Keys != 1 || got.Written != 0 {
		t.Fatalf("%+v", got)
	}
	tests := []struct {
		name  string
		spoil func(r []metrics.AuditRecord) []metrics.AuditRecord
		want  string
	}{
		{"no record", func(r []metrics.AuditRecord) []metrics.AuditRecord { return r[:1] }, "client c1 did not report"},
		{"another sample", func(r []metrics.AuditRecord) []metrics.AuditRecord { r[1].Each = 9; return r }, "client c1 audited at most 9 keys of each range of ranks, want 768"},
		{"not read", func(r []metrics.AuditRecord) []metrics.AuditRecord {
			return []metrics.AuditRecord{{Client: 0, Each: metrics.AuditEach(false), Packed: r[1].Packed}, r[1]}
		}, "key user0 was not read"},
		{"damaged", func(r []metrics.AuditRecord) []metrics.AuditRecord { r[0].Packed = r[0].Packed[:5]; return r }, "client 0: unpack an audit"},
		{"a worker too many", func(r []metrics.AuditRecord) []metrics.AuditRecord {
			all := recordsOf(t, []write{{worker: 1, value: metrics.MakeWriteID(0, 1, 11), sent: 1, acked: 2}}, metrics.NoWrite, 0, [2]string{})
			all[0].Loaded = all[0].Loaded[:1]
			return all
		}, "client 0 reports a write of key 0 of 1 by worker 1"},
	}
	for _, test := range tests {
		if got := Judge(run, "1", test.spoil(good())); got.Failures == 0 || !strings.Contains(got.Fault(), test.want) {
			t.Errorf("%s: %+v, want %q", test.name, got, test.want)
		}
	}
	null := metrics.Run{Nodes: []metrics.RunNode{{Role: metrics.Server, Config: &metrics.Config{Capabilities: &metrics.Capabilities{}}}}}
	if got := Judge(null, "1", nil); got != nil {
		t.Errorf("without a store: %+v", got)
	}
}

// The launcher knows how many keys are audited, which, with what check bytes, and how many
// of them an honest client has written.
func TestAuditEvidence(t *testing.T) {
	for _, move := range []uint64{0, 5_000} {
		testEvidence(t, move)
	}
}

// testEvidence tests it with a hot set that moves, or stays.
func testEvidence(t *testing.T, move uint64) {
	c := workload.DefaultConfig()
	c.Workload, c.Records = workload.YCSBA, 20_000
	if move > 0 { // a hot set of 1 %, which goes over a fifth of the records
		c.Distribution, c.HotKeys, c.HotOps, c.HotMove = workload.Hotspot, 0.01, 0.99, move
	}
	plan, err := workload.New(c)
	if err != nil {
		t.Fatal(err)
	}
	flags := metrics.Settings{"workload": "YCSB-A", "records": "20000", "distribution": c.Distribution, "hot-keys": fmt.Sprint(c.HotKeys), "hot-ops": fmt.Sprint(c.HotOps), "hot-move": fmt.Sprint(move), "key-prefix": "user", "value-size": "128"}
	const drawn = 100_000
	ops := make([]workload.Op, drawn)
	summary := &metrics.Summary{Peers: make([]metrics.PeerCounts, 1), Workers: []metrics.WorkerAccount{{Drawn: drawn}}}
	run := metrics.Run{Workload: flags, Nodes: []metrics.RunNode{{Name: "c0", Role: metrics.Client, Summary: summary}}}
	tests := []struct {
		lie     string
		written float64 // share of the keys that the writes are on that the client knows
		read    int     // keys
		secret  uint64
		key     value.Key
		want    string
		spots   []metrics.Spot
	}{
		{"", 1, math.MaxInt, 7, value.Fixed, "", nil},
		{"15 keys", 1, 15, 7, value.Fixed, "was not read", nil},
		{"all but one", 1, -1, 7, value.Fixed, "was not read", nil},
		{"no key is written", 0, math.MaxInt, 7, value.Fixed, "the clients report writes of 0 of the", nil},
		{"of twenty writes one is known", 0.05, math.MaxInt, 7, value.Fixed, "the clients report writes of", nil},
		{"the secret is ignored", 1, math.MaxInt, 8, value.Fixed, "not of the keys that the secret selects", nil},
		{"another key of the values", 1, math.MaxInt, 7, value.Key{1, 2}, "do not depend on the trial's key", nil},
		{"a key is not read in the window", 1, math.MaxInt, 7, value.Fixed, "client 0 did not read key user", nil},
	}
	var spots []metrics.Spot
	for _, number := range workload.SampleSpots(7, len(plan.Sample(7, metrics.AuditEach(false)))) {
		spots = append(spots, metrics.Spot{Key: int32(number), Found: metrics.MakeWriteID(0, 0, 1)})
	}
	tests[0].spots, tests[7].spots = spots, spots[:len(spots)-1]
	for seed := range seeds() / 12 {
		c.Seed, summary.Peers[0].Counts = seed, metrics.Counts{}
		flags["seed"] = fmt.Sprint(seed)
		drawing, err := workload.New(c)
		if err != nil {
			t.Fatal(err)
		}
		drawing.Source(workload.Place{Nodes: 1, Workers: 1}).Fill(ops)
		puts := make(map[uint64]int) // by record
		for _, op := range ops {
			if op.Kind == workload.Read {
				summary.Peers[0].Counts.Gets++
			} else {
				summary.Peers[0].Counts.Puts++
				puts[op.Key]++
			}
		}
		for _, test := range tests {
			random := rand.New(rand.NewPCG(seed, 5))
			record := metrics.AuditRecord{Each: metrics.AuditEach(false), TickNs: 1, Loaded: []uint32{20_000}}
			keys := metrics.AuditKeys{Spots: test.spots}
			sample := plan.Sample(test.secret, record.Each)
			if test.read < 0 {
				test.read = len(sample) - 1
			}
			for number, rank := range sample[:min(test.read, len(sample))] {
				v := metrics.MakeWriteID(0, 0, 1)
				if random.Float64() < 1-math.Pow(1-test.written, float64(puts[plan.Key(rank)])) {
					v = metrics.MakeWriteID(0, 0, uint32(20_001+number))
					keys.Keys, keys.Workers, keys.Versions = append(keys.Keys, int32(number)), append(keys.Workers, 0), append(keys.Versions, v.Version())
					keys.Sent, keys.Acked = append(keys.Sent, 1), append(keys.Acked, 2)
				}
				keys.Found = append(keys.Found, v)
				record.Checks += test.key.Check(route.Hash(fmt.Append([]byte("user"), plan.Key(rank))), v, 128)
			}
			if err := record.Pack(keys); err != nil {
				t.Fatal(err)
			}
			why := Judge(run, "7", []metrics.AuditRecord{record}).Fault()
			if !strings.Contains(why, test.want) || test.want == "" && why != "" {
				t.Errorf("seed %d, %q: %q, want %q", seed, test.lie, why, test.want)
			}
		}
	}
}
