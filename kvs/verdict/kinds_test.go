package verdict

import (
	"strings"
	"testing"

	"kvlab/metrics"
)

// allKinds returns goodRun with operations of all kinds: each client inserts 10 records on each
// server, deletes 4 of each, and sends 40 scans, of which each server owns 20.
func allKinds() *judged {
	run := goodRun()
	more := metrics.Counts{Inserts: 10, Deletes: 4, Scans: 20, ScanParts: 20, Hits: 43, Misses: 1, Calls: 1}
	for _, node := range run.Nodes {
		s := node.Summary
		for i := range s.Peers {
			s.Peers[i].Counts = s.Peers[i].Counts.Add(more)
			s.Total = s.Total.Add(more)
		}
		for i := range s.Workers {
			s.Workers[i].Drawn, s.Workers[i].Verified = s.Total.Ops()-2, s.Total.Ops()
		}
		if s.Seen != nil {
			s.Seen.Records += 2*10 - 2*3
		}
	}
	drawn := 4*136.0 - 4
	run.expected.kinds = kindLaw{4*95/drawn - 2/drawn, 18 / drawn, 8 / drawn, 40 / drawn, 16 / drawn, 80 / drawn}
	return run
}

// Records, misses, shares and pairs where the workload inserts, deletes and scans.
func TestJudgeKinds(t *testing.T) {
	each := func(s []*metrics.Summary, pair int, change func(*metrics.Counts)) { // s0 and c0 agree on it
		for _, node := range []*metrics.Summary{s[0], s[2]} {
			change(&node.Peers[pair].Counts)
			change(&node.Total)
		}
	}
	for _, test := range []struct {
		name  string
		spoil func(s []*metrics.Summary, e *expectation) // s0 s1 c0 c1
		want  string
	}{
		{"good", func([]*metrics.Summary, *expectation) {}, "VALID"},
		{"misses, which deletes explain", func(s []*metrics.Summary, _ *expectation) { s[2].InWindow.Misses = 9 }, "VALID"},
		{"all deletes hit, none was undone", func(s []*metrics.Summary, _ *expectation) { s[0].Seen.Records = 1 + 20 - 8 }, "VALID"},
		{"all deleted keys were written again", func(s []*metrics.Summary, _ *expectation) { s[0].Seen.Records = 1 + 20 }, "VALID"},
		{"an insert lost", func(s []*metrics.Summary, _ *expectation) { s[0].Seen.Records = 1 + 20 - 9 },
			"INVALID(12 keys are left of 21 that were loaded or inserted, with 8 deletes: values expire, or are lost, s0)"},
		{"an insert twice", func(s []*metrics.Summary, _ *expectation) { s[1].Seen.Records = 22 }, "INVALID(22 keys are stored where 21 were loaded or inserted: "},
		{"an insert that the server does not know", func(s []*metrics.Summary, _ *expectation) {
			s[2].Peers[0].Counts.Inserts++
			s[2].Total.Inserts++
		}, "INVALID(the client verified 11 inserts of server s0, which applied 10 for it: the client counted some before"},
		{"a part of a scan that the server does not know", func(s []*metrics.Summary, _ *expectation) {
			s[3].Peers[0].Counts.ScanParts++
			s[3].Total.ScanParts++
		}, "INVALID(the client verified 21 scan-parts of server s0, which applied 20 for it: "},
		{"a server that a scan did not ask", func(s []*metrics.Summary, _ *expectation) {
			each(s, 0, func(c *metrics.Counts) { c.ScanParts--; c.Hits-- })
		}, "INVALID(40 scans asked server s0 39 times: a scan asks every server once, c0)"},
		{"parts alone of a third-party client", func(s []*metrics.Summary, _ *expectation) {
			s[1].Peers = append(s[1].Peers, metrics.PeerCounts{Peer: "x", Counts: metrics.Counts{ScanParts: 3}})
			s[1].Total.ScanParts += 3
		}, `INVALID(the server applied 3 operations for "x"`},
		{"no scans expected", func(_ []*metrics.Summary, e *expectation) { e.kinds[5] = 0 }, "% scans where -theta 1 has 0.000 %"},
		{"no inserts expected", func(_ []*metrics.Summary, e *expectation) { e.kinds[3] = 0 }, "% inserts where -theta 1 has 0.000 %"},
	} {
		t.Run(test.name, func(t *testing.T) {
			run := allKinds()
			var summaries []*metrics.Summary
			for _, n := range run.Nodes {
				summaries = append(summaries, n.Summary)
			}
			test.spoil(summaries, run.expected)
			if got := run.verdict().String(); !strings.Contains(got, test.want) || (test.want == "VALID") != (got == "VALID") {
				t.Errorf("verdict %s, want %s", got, test.want)
			}
		})
	}
}

// A run's record has a share of each kind that it had or should have had. The parts of scans
// are no operations.
func TestKindShares(t *testing.T) {
	run := allKinds()
	run.expected.kinds[2], run.expected.kinds[4] = 0, 0
	for i := range run.Nodes {
		s := run.Nodes[i].Summary
		s.Total.Deletes, s.Total.ReadModifyWrites = 0, 0
		for j := range s.Peers {
			s.Peers[j].Counts.Deletes, s.Peers[j].Counts.ReadModifyWrites = 0, 0
		}
	}
	run.verdict()
	var names []string
	for _, k := range run.Skew.Kinds {
		names = append(names, k.Kind)
	}
	if got := strings.Join(names, ", "); got != "gets, puts, inserts, scans" {
		t.Errorf("shares of %s", got)
	}
}
