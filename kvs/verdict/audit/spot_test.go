package audit

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"kvlab/metrics"
	"kvlab/workload"
)

// spotRun simulates a register that two clients of two workers write and read: each
// operation takes effect at a random moment between its send and its reply, or a spot's read
// late before it. It returns what the audit knows of it. The second client's clock is
// ahead, by a time that is known to some error.
func spotRun(plan *workload.Plan, random *rand.Rand, late int64) *auditor {
	bound := random.Int64N(20)
	a := &auditor{plan: plan, ids: []uint64{0}, before: make([][]write, 1), bounds: []*metrics.ClockOffsetBounds{{}, {LeastNs: 1000 - bound, MostNs: 1000 + random.Int64N(20)}}}
	type change struct {
		at    int64
		value metrics.WriteID
	}
	changes := []change{{-1, theLoaded}}
	const begins = 300 // of the spots
	for client := range 2 {
		a.records = append(a.records, metrics.AuditRecord{Client: client, Clock: fmt.Sprint(client), Loaded: []uint32{10, 10}})
		for worker := range 2 {
			snapshot, known := begins+random.Int64N(50), write{}
			for at, version := random.Int64N(100), uint32(11); at < 600; version++ {
				w := write{client: client, worker: worker, value: metrics.MakeWriteID(client, worker, version), sent: at + int64(client)*1000}
				applied := at + random.Int64N(30)
				at = applied + 1 + random.Int64N(30)
				changes = append(changes, change{applied, w.value})
				if w.acked = at + int64(client)*1000; at < snapshot {
					known = w
				}
				at += 1 + random.Int64N(100)
			}
			if known.acked != 0 {
				a.before[0] = append(a.before[0], known)
			}
		}
	}
	slices.SortStableFunc(changes, func(u, v change) int { return int(u.at - v.at) })
	for range 8 {
		client, sent := random.IntN(2), begins+random.Int64N(100)
		at, found := sent+random.Int64N(30)-late, theLoaded
		for _, c := range changes {
			if c.at <= at {
				found = c.value
			}
		}
		a.spots = append(a.spots, spot{write{client: client, value: found, sent: sent + int64(client)*1000}, 0})
	}
	return a
}

// No linearizable register has a stale spot, and one whose reads are a quarter of the time
// behind has some.
func TestSpots(t *testing.T) {
	plan, err := workload.New(workload.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for seed := range 10 * seeds() {
		for _, late := range []int64{0, 150} {
			a := spotRun(plan, rand.New(rand.NewPCG(seed, 7)), late)
			for _, s := range a.spots {
				if w, ns := a.replacedBefore(s); ns > 0 && late == 0 {
					t.Fatalf("seed %d: a spot sent at %d found %s, replaced by %+v", seed, s.sent, s.value, w)
				} else if ns > 0 {
					found++
				}
			}
		}
	}
	if all := 80 * int(seeds()); found < all/4 {
		t.Errorf("%d of %d late reads are found", found, all)
	}
}

// What a spot found is named, with what was there before.
func TestStaleSpot(t *testing.T) {
	run := oneKey(0)
	w := write{client: 1, worker: 1, value: metrics.MakeWriteID(1, 1, 20), sent: 10, acked: 20}
	for _, test := range []struct {
		sent  uint32
		found metrics.WriteID
		want  string
	}{
		{50, theLoaded, "a stale read in the window: key user0 has version 7 of worker 0 of client 1 (the loaded value) where version 20 of worker 1 of client 1 was acknowledged 30ns before the read was sent"},
		{50, metrics.MakeWriteID(1, 1, 19), "has version 19 of worker 1 of client 1 where"},
		{50, metrics.NoWrite, "has no value where"},
		{50, metrics.MakeWriteID(1, 1, 21), ""},
		{50, metrics.MakeWriteID(0, 1, 12), ""},
		{20, theLoaded, ""},
	} {
		records := recordsOf(t, []write{w}, w.value, 0, [2]string{"one", "one"})
		keys, err := records[0].Keys()
		if err != nil {
			t.Fatal(err)
		}
		keys.Spots = []metrics.Spot{{Sent: test.sent, Found: test.found}}
		if err := records[0].Pack(keys); err != nil {
			t.Fatal(err)
		}
		keys, _ = records[1].Keys()
		keys.Before = keys.AuditWrites
		if err := records[1].Pack(keys); err != nil {
			t.Fatal(err)
		}
		got := Judge(run, "1", records)
		if why := got.Fault(); !strings.Contains(why, test.want) || test.want == "" && why != "" || got.Spots != 2 {
			t.Errorf("%s at %d: %q, want %q", test.found, test.sent, why, test.want)
		}
	}
}
