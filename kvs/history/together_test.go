package history

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"kvlab/metrics"
)

// recordedBy returns clients' slices of one key, each by a clock that is so far ahead of
// the others' common one. All of a client's writes are in its slice.
func recordedBy(ops []op, clocks []string, ahead []int64) (all []metrics.Slice) {
	for client, clock := range clocks {
		h := metrics.History{Key: "k", Spans: []metrics.WorkerSpan{{Client: client, Last: 1 << 20, BegunNs: -1 << 20, EndedNs: 1 << 20}}}
		for _, o := range ops {
			if o.Client != client {
				continue
			}
			o.CallNs += ahead[client]
			if o.ReturnNs != metrics.Never {
				o.ReturnNs += ahead[client]
			}
			h.Ops = append(h.Ops, o)
		}
		s := metrics.Slice{Number: 1, Client: client, Clock: clock}
		if err := s.Pack([]metrics.History{h}); err != nil {
			panic(err)
		}
		all = append(all, s)
	}
	return all
}

func by(client int, o op) op {
	o.Client = client
	return o
}

// What one client reads is held against what another has written, as far as their
// clocks allow.
func TestTogether(t *testing.T) {
	stale := []op{put(0, 1, 110, 120), put(0, 2, 130, 140), by(1, get(valueOf(0, 1), 150, 160))}
	lost := []op{put(0, 1, 110, 120), modify(valueOf(0, 1), 0, 2, 130, 190), modify(valueOf(0, 1), 1, 1, 130, 190)}
	known := func(least, most int64) map[int]metrics.ClockOffsetBounds {
		return map[int]metrics.ClockOffsetBounds{0: {}, 1: {LeastNs: least, MostNs: most}}
	}
	tests := []struct {
		name  string
		ops   []op
		clock string // the second client's; the first one's is "a"
		ahead int64
		known map[int]metrics.ClockOffsetBounds
		want  string // in Fault
	}{
		{"one clock, right", stale[:2], "a", 0, nil, ""},
		{"one clock, stale", stale, "a", 0, nil, "0.0#1 and 0.0#2 were each there after the other"},
		{"one clock, lost update", lost, "a", 0, nil, "two read-modify-writes replaced 0.0#1"},
		{"two clocks, stale", stale, "b", 1000, known(995, 1005), "each there after the other"},
		{"two clocks, stale, too little known of them", stale, "b", 1000, known(1000, 1020), ""},
		{"two clocks, lost update, whatever is known of them", lost, "b", 1000, known(-1e6, 1e6), "two read-modify-writes replaced"},
		{"two clocks, nothing known of them", stale, "b", 1000, nil, "nothing of all clients together: how far the clients' clocks are apart"},
		{"clocks without a name", stale, "", 1000, nil, "nothing of all clients together: how far"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			found, bad := VerifyTogether(context.Background(), recordedBy(test.ops, []string{"a", test.clock}, []int64{0, test.ahead}), test.known)
			if fault := found.Fault(); (fault == "") != (test.want == "") || !strings.Contains(fault, test.want) {
				t.Errorf("%q, want %q", fault, test.want)
			}
			if (bad != nil) != (found.Illegal > 0) || bad != nil && Verify(bad.History).Outcome != Illegal {
				t.Errorf("%s, and the history %+v", found.Text(), bad)
			}
			if found.Slices+found.Unverified != 1 || found.Slices == 1 && found.Ops != uint64(len(test.ops)) {
				t.Error(found.Text())
			}
		})
	}
}

// Two of three clients share a clock: with the third, a little stale is not too
// stale, but between the two it is.
func TestTogetherOfSharedAndOther(t *testing.T) {
	ops := []op{put(0, 1, 110, 120), put(0, 2, 130, 140), by(1, get(valueOf(0, 1), 150, 160)), by(2, get(valueOf(0, 2), 170, 180))}
	wide := metrics.ClockOffsetBounds{LeastNs: -100, MostNs: 100}
	found, _ := VerifyTogether(context.Background(), recordedBy(ops, []string{"a", "a", "b"}, make([]int64, 3)), map[int]metrics.ClockOffsetBounds{0: wide, 1: wide, 2: wide})
	if found.Illegal != 1 || found.Clients != 3 || found.Ops != 4 {
		t.Errorf("%s %s", found.Text(), found.First)
	}
}

// Without time nothing is verified, and that is no good result.
func TestTogetherWithoutTime(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	found, _ := VerifyTogether(ctx, recordedBy([]op{put(0, 1, 110, 120)}, []string{"a", "a"}, make([]int64, 2)), nil)
	if found.Ops != 0 || found.Unverified != 1 || !strings.Contains(found.Fault(), "no time") {
		t.Errorf("%s %q", found.Text(), found.Fault())
	}
}

// Random histories of three clients whose clocks are apart: what is
// linearizable by a common clock is so by theirs, as long as the bounds hold; and
// by one clock the answer is that of the search.
func TestTogetherAgainstSearch(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	rounds := 500
	if os.Getenv("KVLAB_LONG") == "1" {
		rounds = 100_000
	}
	illegal := 0
	for i := range rounds {
		ops := randomHistory(random, false)
		want := judge(ops)
		clocks, ahead, known := make([]string, 3), make([]int64, 3), make(map[int]metrics.ClockOffsetBounds)
		for client := range clocks {
			clocks[client] = fmt.Sprint(client * (i % 2))
			ahead[client] = int64(i%2) * (random.Int64N(2000) - 1000)
			before, after := random.Int64N(20), random.Int64N(20)
			known[client] = metrics.ClockOffsetBounds{LeastNs: ahead[client] - before, MostNs: ahead[client] + after}
		}
		found, _ := VerifyTogether(context.Background(), recordedBy(ops, clocks, ahead), known)
		if i%2 == 0 && (found.Illegal > 0) != (want == Illegal) || found.Illegal > 0 && want == OK || found.Unknown > 0 {
			for _, o := range ops {
				t.Logf("%s [%d, %d]", describe(o), o.CallNs, o.ReturnNs)
			}
			t.Fatalf("by %d clocks %s %s, want %s", 1+i%2*2, found.Text(), found.First, want)
		}
		if i%2 == 1 && found.Illegal > 0 {
			illegal++
		}
	}
	if illegal < rounds/100 {
		t.Errorf("%d of %d histories by three clocks were found to be wrong: hardly one", illegal, rounds/2)
	}
}
