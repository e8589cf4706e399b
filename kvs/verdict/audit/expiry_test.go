package audit

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"kvlab/metrics"
	"kvlab/workload"
)

const second = int64(1e9)

// expiring simulates a key that is loaded, written by two workers of each of two clients, and
// read. A value is there for ttl plus a drift, in ns, after it was stored.
func expiring(plan *workload.Plan, random *rand.Rand, ttl, drift int64) (a *auditor, read write, deleted bool) {
	bound := random.Int64N(20)
	a = &auditor{plan: plan, ttl: ttl, ids: []uint64{0}, bounds: []*metrics.ClockOffsetBounds{{}, {LeastNs: 1000 - bound, MostNs: 1000 + random.Int64N(20)}}}
	value, stored := theLoaded, int64(0)
	for client := range 2 {
		a.records = append(a.records, metrics.AuditRecord{Client: client, Clock: []string{"", "other"}[client], Loaded: []uint32{10, 10}})
		ahead := int64(client) * 1000
		a.loads = append(a.loads, write{client: client, sent: ahead - random.Int64N(second/10), acked: ahead + random.Int64N(second/10)})
		for worker := range 2 {
			for at, version := random.Int64N(10*second), uint32(11); at < 10*second && random.IntN(3) > 0; version++ {
				w := write{client: client, worker: worker, value: metrics.MakeWriteID(client, worker, version), sent: at + ahead}
				if plan.Share(workload.Delete) > 0 && random.IntN(4) == 0 {
					w.value = metrics.NoWrite
				}
				applied := at + random.Int64N(second/10)
				at = applied + 1 + random.Int64N(second/10)
				w.acked = at + ahead
				a.writes = append(a.writes, []write{w})
				if applied >= stored {
					value, stored = w.value, applied
				}
				at += 1 + random.Int64N(4*second)
			}
		}
	}
	reader, sent := random.IntN(2), 10*second+second/5+random.Int64N(2*second)
	at := sent + random.Int64N(second/10)
	ahead := int64(reader) * 1000
	read = write{client: reader, value: value, sent: sent + ahead, acked: at + 1 + random.Int64N(second/10) + ahead}
	if at >= stored+ttl+drift {
		read.value = metrics.NoWrite
	}
	all := slices.Concat(a.writes...)
	a.writes = [][]write{all}
	return a, read, value == metrics.NoWrite
}

// A read of a store whose keys expire within a second of their time is right, whatever the
// writes. Most of those that find a value more than a second later, or miss one more than a
// second earlier, are not; all are that leave no doubt.
func TestExpiry(t *testing.T) {
	for _, deletes := range []float64{workload.StandardMix, 0.2} {
		c := workload.DefaultConfig()
		c.Workload, c.Reads, c.Deletes = workload.Mix, 0.5, deletes
		plan, err := workload.New(c)
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]int{}
		for seed := range 20 * seeds() {
			for _, store := range []struct {
				name   string
				ttl, d func(*rand.Rand) int64
			}{
				{"honest", func(r *rand.Rand) int64 { return 2*second + r.Int64N(6*second) }, func(r *rand.Rand) int64 { return r.Int64N(2*second) - second }},
				{"never", func(r *rand.Rand) int64 { return 2 * second }, func(*rand.Rand) int64 { return 1e15 }},
				{"early", func(r *rand.Rand) int64 { return 8 * second }, func(*rand.Rand) int64 { return -7 * second }},
			} {
				random := rand.New(rand.NewPCG(seed, 11))
				a, read, deleted := expiring(plan, random, store.ttl(random), store.d(random))
				writes := a.writes[0]
				why := a.outlived(read, writes)
				if why == "" {
					why = a.judge(read, writes, true)
				}
				last := a.loads
				if len(writes) > 0 {
					last = writes
				}
				sure := !deleted && read.value != metrics.NoWrite && !slices.ContainsFunc(last, func(w write) bool { return read.sent-w.acked <= a.ttl+second+1020 }) ||
					!deleted && read.value == metrics.NoWrite && !slices.ContainsFunc(last, func(w write) bool {
						return w.value == metrics.NoWrite && len(writes) > 0 || read.acked-w.sent >= a.ttl-second-1020
					})
				switch {
				case store.name == "honest" && why != "":
					t.Fatalf("seed %d: honest, and %s: read %+v of %+v, loads %+v, ttl %d", seed, why, read, writes, a.loads, a.ttl)
				case store.name != "honest" && sure && why == "":
					t.Fatalf("seed %d: %s, and nothing is wrong: read %+v of %+v, loads %+v", seed, store.name, read, writes, a.loads)
				case why != "":
					found[store.name]++
				}
			}
		}
		if all := 20 * int(seeds()); found["never"] < all/5 || found["early"] < all/8 {
			t.Errorf("of %d reads each, found: %v", all, found)
		}
		t.Logf("deletes %v: found %v of %d", deletes, found, 20*seeds())
	}
}

// What has lived too long, or too briefly, is named: after the run and in the window.
func TestExpiryIsNamed(t *testing.T) {
	w := write{client: 1, worker: 1, value: metrics.MakeWriteID(1, 1, 20), sent: 1000, acked: 1100}
	for _, test := range []struct {
		what        string
		at          int64 // ms, of the read
		found, spot metrics.WriteID
		want        string
	}{
		{"alive", 1900, w.value, w.value, ""},
		{"between, alive", 4000, w.value, w.value, ""},
		{"between, gone", 3100, metrics.NoWrite, metrics.NoWrite, ""},
		{"gone", 9000, metrics.NoWrite, metrics.NoWrite, ""},
		{"lives on", 5200, w.value, metrics.NoWrite, "key user0 (popularity rank 1) has version 20 of worker 1 of client 1, acknowledged 4.1s before the read was sent: it outlives -ttl 3s"},
		{"lives on in the window", 5200, metrics.NoWrite, w.value, "in the window key user0 has version 20 of worker 1 of client 1, acknowledged 4.1s before the read was sent: it outlives -ttl 3s"},
		{"gone too early", 2900, metrics.NoWrite, w.value, "key user0 (popularity rank 1) is missing, want version 20"},
		{"gone too early in the window", 2900, w.value, metrics.NoWrite, "a stale read in the window: key user0 has no value where version 20"},
	} {
		records := recordsOf(t, []write{w}, test.found, 0, [2]string{"one", "one"})
		for i := range records {
			r := &records[i]
			keys, err := r.Keys()
			if err != nil {
				t.Fatal(err)
			}
			r.TickNs, r.LoadNs, r.ReadNs = 1e6, [2]int64{1, 2}, [2]int64{test.at * 1e6, test.at*1e6 + 1}
			if keys.Spots = nil; i == 0 {
				keys.Spots = []metrics.Spot{{Sent: uint32(test.at), Came: uint32(test.at), Found: test.spot}}
			} else {
				keys.Spots, keys.Before = []metrics.Spot{{Sent: 500, Came: 510, Found: theLoaded}}, keys.AuditWrites
			}
			if err := r.Pack(keys); err != nil {
				t.Fatal(err)
			}
		}
		run := oneKey(0)
		run.Workload["ttl"] = "3s"
		if why := Judge(run, "1", records).Fault(); !strings.Contains(why, test.want) || test.want == "" && why != "" {
			t.Errorf("%s: %q, want %q", test.what, why, test.want)
		}
		records[1].LoadNs = [2]int64{}
		if why := Judge(run, "1", records).Fault(); !strings.Contains(why, "client 1 does not say when it loaded") {
			t.Errorf("without the load's times: %q", why)
		}
	}
}
