package verdict

import (
	"strings"
	"testing"

	"kvlab/metrics"
	"kvlab/metrics/account"
)

// restartedRun returns goodRun after a kill of s1: its first process reported half of what it
// applied, and applied two gets more. Of each client, a call of 3 gets and a put has an
// unknown outcome, and the first process applied that of c0.
func restartedRun() *judged {
	run := goodRun()
	half := metrics.Counts{Gets: 50, Puts: 3, ReadModifyWrites: 1, Hits: 51, Calls: 2}
	s1 := run.Nodes[1].Summary
	reported := half.Add(half)
	s1.Total = metrics.Counts{}
	for i := range s1.Peers {
		s1.Peers[i].Counts = s1.Peers[i].Counts.Sub(half)
		s1.Total = s1.Total.Add(s1.Peers[i].Counts)
	}
	reported.Gets += 3 - 2
	reported.Puts++
	run.Restart = &metrics.Restart{Server: "s1", Reported: reported, Unreported: metrics.Counts{Gets: 2, Hits: 2}}
	for i := range 2 {
		s := run.Nodes[2+i].Summary
		s.Peers[1].Unknown = metrics.Counts{Gets: 3, Puts: 1, Calls: 1}
		s.Workers[0].Unknown = 4
		s.Workers[0].Drawn += 4
	}
	return run
}

func TestRestart(t *testing.T) {
	for _, test := range []struct {
		name  string
		spoil func(run *judged, c0 *metrics.Summary)
		want  string
	}{
		{"good", func(*judged, *metrics.Summary) {}, "VALID"},
		{"nobody asked for it", func(run *judged, _ *metrics.Summary) { run.Restart = nil },
			"INVALID(the outcome of 4 operations of c0 is unknown: the server's process ended, and --restart-at did not ask for it, s1)"},
		{"another server", func(_ *judged, c0 *metrics.Summary) {
			c0.Peers[0].Unknown, c0.Peers[1].Unknown = c0.Peers[1].Unknown, metrics.Counts{}
		},
			"INVALID(the outcome of 4 operations of c0 is unknown: the server's process ended, and --restart-at did not ask for it, s0)"},
		{"more calls than workers", func(_ *judged, c0 *metrics.Summary) { c0.Peers[1].Unknown.Calls = 2 },
			"INVALID(the outcome of 2 calls to server s1 is unknown, of 1 that were in flight at most, c0)"},
		{"more calls, which were in flight", func(run *judged, c0 *metrics.Summary) {
			c0.Peers[1].Unknown.Calls = 2
			run.Workload = metrics.Settings{"inflight": "2"}
		}, "VALID"},
		{"other accounts", func(_ *judged, c0 *metrics.Summary) { c0.Workers[0].Unknown++; c0.Workers[0].Drawn++ },
			"INVALID(the outcome of 5 operations is unknown by its workers' accounts, and of 4 by its servers', c0)"},
		{"applied twice", func(run *judged, _ *metrics.Summary) { run.Restart.Reported.Puts += 2 },
			"INVALID(the server's two processes applied 13 puts, of which the clients sent 12: some were applied twice, or a third-party client's, s1)"},
		{"as many as were sent", func(run *judged, _ *metrics.Summary) { run.Restart.Reported.Puts++; run.Restart.Reported.Gets += 4 }, "VALID"},
		{"more than were sent", func(run *judged, _ *metrics.Summary) { run.Restart.Reported.Gets += 6 },
			"INVALID(the server's two processes applied 197 gets, of which the clients sent 196"},
		{"fewer than were verified", func(run *judged, _ *metrics.Summary) { run.Restart.Reported.Gets -= 4 },
			"INVALID(the clients verified 190 gets, of which the server's two processes applied at most 189: the others were answered without it, s1)"},
		{"fewer puts", func(run *judged, _ *metrics.Summary) { run.Restart.Reported.Puts -= 2 },
			"INVALID(the clients verified 10 puts, of which the server's two processes applied at most 9: the others were answered without it, s1)"},
		{"the other server's counts", func(run *judged, c0 *metrics.Summary) {
			run.Nodes[0].Summary.Peers[0].Counts.Puts--
			run.Nodes[0].Summary.Total.Puts--
		},
			"INVALID(the client verified 5 puts of server s0, which applied 4 for it"},
		{"dropped operations", func(_ *judged, c0 *metrics.Summary) { c0.Workers[0].Drawn++ }, "INVALID(worker 0 drew 207 operations and 206 of them were done: the others were dropped, c0)"},
		{"a lost write", func(run *judged, _ *metrics.Summary) {
			run.Audit = &metrics.Audit{Keys: 5, Failures: 1, First: "key 7"}
		},
			"INVALID(the audit found 1 of 5 reads wrong: key 7)"},
		{"no such server", func(run *judged, c0 *metrics.Summary) {
			run.Restart.Server = "s7"
			for i := range 2 {
				run.Nodes[2+i].Summary.Peers[1].Unknown = metrics.Counts{}
				run.Nodes[2+i].Summary.Workers[0].Unknown = 0
			}
		}, "INVALID(the server s7 that was killed is none of the run's"},
	} {
		run := restartedRun()
		test.spoil(run, run.Nodes[2].Summary)
		account.Total(&run.Run)
		if got := run.made(counting).String(); !strings.HasPrefix(got, test.want) {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
		if test.name == "good" && (run.Counting != metrics.CountsBounded || !strings.Contains(run.Durability, "killed")) {
			t.Errorf("counts %s, durability %q", run.Counting, run.Durability)
		}
	}
}
