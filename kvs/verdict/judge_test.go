package verdict

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"kvlab/metrics"
	"kvlab/metrics/account"
)

// counting are the checks that need no more than counts: goodRun has no account of time.
var counting = slices.DeleteFunc(slices.Clone(checks), func(c Check) bool {
	return slices.Contains([]string{"accounts", "sessions", "clock-rate", "asked", "ranks", "bytes", "tallies", "rate", "server-window", "heard", "window-counts", "server-seconds", "little", "ends", "arrivals", "batches", "carried", "drift", "timeouts", "length", "backlog"}, c.ID)
})

// goodRun returns a run of 2 servers and 2 clients in which everything agrees: two
// records, one on each server, the rest of the operations drawn by one worker
// each. Client i's window begins i seconds after the first and has 100 s.
func goodRun() *judged {
	base := time.Date(2026, 11, 21, 15, 0, 0, 0, time.UTC)
	pair := metrics.Counts{Gets: 95, Puts: 5, ReadModifyWrites: 2, Hits: 97, Calls: 3}
	twice := pair.Add(pair)
	run := &judged{}
	for _, name := range []string{"s0", "s1"} {
		run.Nodes = append(run.Nodes, metrics.RunNode{Name: name, Role: metrics.Server, Summary: &metrics.Summary{
			Total: twice, Peers: []metrics.PeerCounts{{Peer: "c0", Counts: pair}, {Peer: "c1", Counts: pair}},
			Usage: metrics.Table{CPUPercent: metrics.AvgPeak{Avg: 50, Peak: 60}},
			Seen:  &metrics.Seen{Records: 1, Groups: []uint64{500, 500}},
		}})
	}
	for i, name := range []string{"c0", "c1"} {
		s := &metrics.Summary{
			WindowStart: base.Add(time.Duration(i) * time.Second), WindowLengthS: 100,
			InWindow: metrics.Counts{Gets: 100, Puts: 10, Hits: 100}, Total: twice, Edges: new(metrics.Edges),
			Peers:   []metrics.PeerCounts{{Peer: "s0", Counts: pair}, {Peer: "s1", Counts: pair}},
			Workers: []metrics.WorkerAccount{{Loaded: 2, Drawn: twice.Ops() - 2, Verified: twice.Ops(), OpeningOps: 200, Opening: name, Redrawn: name}},
		}
		s.Peers[i].Load = metrics.Counts{Gets: 1, Puts: 1, Hits: 1}
		run.Nodes = append(run.Nodes, metrics.RunNode{Name: name, Role: metrics.Client, Summary: s})
	}
	run.expected = &expectation{Skew: metrics.Skew{Law: "-theta 1", Records: 2, TopShare: 0.5}, kinds: kindLaw{0.93, 0.05, 0.02},
		cells: [][]float64{{0.25, 0.25}, {0.25, 0.25}}}
	return run
}

func TestTotal(t *testing.T) {
	run := goodRun()
	account.Total(&run.Run)
	if run.Ops != 220 || math.Abs(run.OpsPerS-2.2) > 1e-9 || run.Total.Gets != 4*95 || run.Applied != run.Total {
		t.Errorf("ops %d, %v ops/s, total %+v, applied %+v", run.Ops, run.OpsPerS, run.Total, run.Applied)
	}
	if run.WindowS != 99 || run.OverlapShare != 0.99 || !run.WindowStart.Equal(run.Nodes[3].Summary.WindowStart) {
		t.Errorf("window %v s from %v, overlap %v", run.WindowS, run.WindowStart, run.OverlapShare)
	}
	if got := run.Usage[metrics.Server].CPUPercent; got != (metrics.AvgPeak{Avg: 50, Peak: 60}) {
		t.Errorf("servers' CPU %v", got)
	}
}

func TestJudge(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(s []*metrics.Summary) // s0 s1 c0 c1
		want  string                     // beginning of the verdict
	}{
		{"good", func([]*metrics.Summary) {}, "VALID"},
		{"verification", func(s []*metrics.Summary) { s[3].Verification.Failures = 1; s[3].Verification.First = "x\ny" }, "INVALID(1 result failed verification, first: x y, c1)"},
		{"misses", func(s []*metrics.Summary) { s[2].InWindow.Misses = 9 }, "INVALID(9 misses"},
		{"not linearizable", func(s []*metrics.Summary) {
			s[2].Check = &metrics.Check{Keys: 1, Slices: 1, Ops: 9, Illegal: 1, First: "key 7: x"}
		}, "INVALID(not linearizable: key 7: x, c0)"},
		{"against its batch's order", func(s []*metrics.Summary) { s[3].Check = &metrics.Check{Ops: 9, Order: 1, First: "x"} }, "INVALID(not linearizable: x, c1)"},
		{"perhaps not linearizable", func(s []*metrics.Summary) { s[2].Check = &metrics.Check{Ops: 9, Unknown: 1, First: "x"} }, "INVALID(perhaps not linearizable: x, c0)"},
		{"nothing checked", func(s []*metrics.Summary) { s[2].Check = &metrics.Check{Keys: 16} }, "INVALID(-linearizable recorded no operation, c0)"},
		{"linearizable", func(s []*metrics.Summary) { s[2].Check = &metrics.Check{Keys: 1, Slices: 1, Ops: 9} }, "VALID"},
		{"not strictly serializable", func(s []*metrics.Summary) {
			s[2].Check = &metrics.Check{Serial: true, Keys: 64, Slices: 1, Ops: 9, Illegal: 1, First: "lost update: x"}
		}, "INVALID(not strictly serializable: lost update: x, c0)"},
		{"no transaction checked", func(s []*metrics.Summary) { s[3].Check = &metrics.Check{Serial: true, Keys: 64} }, "INVALID(-serializable recorded no transaction, c1)"},
		{"strictly serializable", func(s []*metrics.Summary) { s[2].Check = &metrics.Check{Serial: true, Keys: 64, Slices: 1, Ops: 9} }, "VALID"},
		{"no window", func(s []*metrics.Summary) { s[2].WindowLengthS = 0 }, "INVALID(the client counted 110 operations in a window of 0 s, which is no rate, c0)"},
		{"no operations", func(s []*metrics.Summary) { s[3].InWindow, s[3].BytesInWindow = metrics.Counts{}, metrics.Bytes{} }, "INVALID(the client counted 0 operations in a window of 100 s, which is no rate, c1)"},
		{"overlap too small", func(s []*metrics.Summary) { s[3].WindowStart = s[2].WindowStart.Add(6 * time.Second) }, "INVALID(the clients' windows share 94.0 %"},
		{"overlap just enough", func(s []*metrics.Summary) { s[3].WindowStart = s[2].WindowStart.Add(5 * time.Second) }, "VALID"},
		{"no overlap", func(s []*metrics.Summary) { s[3].WindowStart = s[2].WindowStart.Add(time.Hour) }, "INVALID(the clients' windows share 0.0 %"},
		{"short window inside a long one", func(s []*metrics.Summary) { s[3].WindowLengthS = 10 }, "VALID"},
		{"a get too many", func(s []*metrics.Summary) { s[2].Peers[1].Counts.Gets++; s[2].Total.Gets++ }, "INVALID(the client verified 96 gets of server s1, which applied 95 for it: the client counted some before they were done (when sent, or dropped on the way, or answered by a cache), c0)"},
		{"a put too few", func(s []*metrics.Summary) { s[0].Peers[1].Counts.Puts--; s[0].Total.Puts-- }, "INVALID(the client verified 5 puts of server s0, which applied 4 for it: the client counted some before they were done (when sent, or dropped on the way), c1)"},
		{"a kind for another", func(s []*metrics.Summary) {
			s[0].Peers[0].Counts.Puts--
			s[0].Peers[0].Counts.ReadModifyWrites++
			s[0].Total.Puts--
			s[0].Total.ReadModifyWrites++
		}, "INVALID(the client verified 5 puts of server s0, which applied 4 for it: the client sent some as another kind (reads as writes?), c0)"},
		{"swapped servers", func(s []*metrics.Summary) {
			s[2].Peers[0].Counts.Gets++
			s[2].Peers[1].Counts.Gets--
		}, "INVALID(the client verified 96 gets of server s0, which applied 95 for it: the client counted some before they were done (when sent, or dropped on the way, or answered by a cache), c0)"},
		{"total without peers", func(s []*metrics.Summary) { s[1].Total.Gets++ }, "INVALID(its counts do not add up: those of its peers to 190 gets, its own to 191, s1)"},
		{"third-party client", func(s []*metrics.Summary) {
			s[1].Peers = append(s[1].Peers, metrics.PeerCounts{Peer: "x", Counts: metrics.Counts{Gets: 1}})
			s[1].Total.Gets++
		}, `INVALID(the server applied 1 operations for "x", which counted none, s1)`},
		{"third-party client reads at the gateway", func(s []*metrics.Summary) { s[1].Strangers = &metrics.Counts{Gets: 9, Misses: 9} }, "VALID"},
		{"third-party client writes at the gateway", func(s []*metrics.Summary) { s[1].Strangers = &metrics.Counts{Gets: 2, Puts: 3} },
			"INVALID(third-party clients wrote at the server's RESP gateway (-resp): 2 get, 3 put, 0 read-modify-write, s1)"},
		{"silent third-party client", func(s []*metrics.Summary) { s[1].Peers = append(s[1].Peers, metrics.PeerCounts{Peer: "x"}) }, "VALID"},
		{"forgotten server", func(s []*metrics.Summary) {
			s[2].Peers = s[2].Peers[:1]
			s[2].Total = s[2].Peers[0].Counts
		}, `INVALID(the server applied 102 operations for "c0", which counted none, s1)`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			run := goodRun()
			var summaries []*metrics.Summary
			for _, n := range run.Nodes {
				summaries = append(summaries, n.Summary)
			}
			test.spoil(summaries)
			account.Total(&run.Run)
			if got := run.made(counting).String(); !strings.HasPrefix(got, test.want) {
				t.Errorf("verdict %s, want %s", got, test.want)
			}
		})
	}
}

// What a server lacks of what a client verified tells a cache from a count at send.
func TestMiscount(t *testing.T) {
	all := metrics.Counts{Gets: 9500, Puts: 450, ReadModifyWrites: 50}
	reads := metrics.Counts{Gets: 1000}
	for _, test := range []struct {
		name              string
		verified, applied metrics.Counts
		want              string
	}{
		{"a tenth of all", all, metrics.Counts{Gets: 8550, Puts: 405, ReadModifyWrites: 45}, "the client counted some before they were done (when sent, or dropped on the way)"},
		{"reads alone, many", all, metrics.Counts{Gets: 8550, Puts: 450, ReadModifyWrites: 50}, "a cache answered some before the server did, as no write is missing"},
		{"reads alone, few", all, metrics.Counts{Gets: 9400, Puts: 450, ReadModifyWrites: 50}, "the client counted some before they were done (when sent, or dropped on the way, or answered by a cache)"},
		{"there are no writes", reads, metrics.Counts{Gets: 10}, "the client counted some before they were done (when sent, or dropped on the way, or answered by a cache)"},
		{"more than verified", reads, all, "the client lost results before it counted them (a worker's, or a call's)"},
		{"another kind", metrics.Counts{Gets: 1}, metrics.Counts{Puts: 1}, "the client sent some as another kind (reads as writes?)"},
	} {
		if got := miscount(test.verified, test.applied); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

func TestJudgeMissingSummary(t *testing.T) {
	for i, want := range []string{"INVALID(server sent no summary, s0)", "", "INVALID(client sent no summary, c0)"} {
		if want == "" {
			continue
		}
		run := goodRun()
		run.Nodes[i].Summary = nil
		account.Total(&run.Run)
		if got := run.made(counting).String(); got != want {
			t.Errorf("verdict %s, want %s", got, want)
		}
	}
}

// A ceiling whose record lacks what the launcher heard is no ceiling, and ends nothing.
func TestCeilingWithoutHeard(t *testing.T) {
	run := witnessed().Run
	run.Nodes[1].Heard = nil
	if v := JudgeRepeat(&run); v.Check != "heard" || !strings.Contains(v.Reason, `the records lack what the check "heard" reads`) {
		t.Errorf("verdict %+v", v)
	}
}

// A run against servers without a store is a ceiling if it is right in all else,
// and never valid, whichever side says so.
func TestJudgeCeiling(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(run *judged)
		want  string
	}{
		{"the server says so", func(run *judged) {
			run.Nodes[1].Config = &metrics.Config{Classes: classes, Capabilities: &metrics.Capabilities{}}
		}, "INVALID(engine null answers without a store: this is a ceiling, not a result)"},
		{"and a count differs", func(run *judged) {
			run.Nodes[1].Config = &metrics.Config{Classes: classes, Capabilities: &metrics.Capabilities{}}
			run.Nodes[2].Summary.Peers[1].Counts.Gets++
			run.Nodes[2].Summary.Total.Gets++
		}, "INVALID(the client verified 96 gets of server s1, which applied 95 for it: the client counted some before they were done (when sent, or dropped on the way, or answered by a cache), c0)"},
		{"only a client says so", func(run *judged) {
			run.Nodes[3].Summary.Verification.AnyKey = 7
		}, "INVALID(7 values were not checked against their keys, c1)"},
		{"nothing was checked", func(run *judged) {
			run.Nodes[3].Summary.Verification.Unchecked = 9
		}, "INVALID(9 values were not checked at all (-verify none): no result, c1)"},
		{"a client's own engine says nothing", func(run *judged) {
			run.Nodes[2].Config = &metrics.Config{Classes: classes, Capabilities: &metrics.Capabilities{}}
		}, "VALID"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			run := goodRun()
			test.spoil(run)
			account.Total(&run.Run)
			if got := run.made(counting).String(); got != test.want {
				t.Errorf("verdict %s, want %s", got, test.want)
			}
		})
	}
}

// A run whose servers' speed was faulty is never valid, and says so only when it
// holds in all else.
func TestFaultySpeedIsNoResult(t *testing.T) {
	run := goodRun()
	run.Nodes[0].Config = &metrics.Config{Flags: map[string]string{"inject": "slowdown=5%"}}
	if got := run.verdict(); got.Check != Injected {
		t.Errorf("verdict %s", got)
	}
	run.Nodes[1].Summary = nil
	if got := run.verdict(); got.Check != "reports" {
		t.Errorf("verdict %s on a run without a summary", got)
	}
}

// verdict judges a run by its own expectation.
func (r *judged) verdict() metrics.Verdict {
	account.Total(&r.Run)
	r.Skew = skewOf(r)
	return r.made(counting)
}

// Flags that no client could have had say nothing of what to expect.
func TestJudgeUnknownWorkload(t *testing.T) {
	run := goodRun()
	run.Workload = map[string]string{"workload": "YCSB-Z"}
	if v := Judge(&run.Run); !strings.HasPrefix(v.Reason, "the clients' flags do not say what to expect: -workload") {
		t.Errorf("verdict %s", v)
	}
}
