package evening

import (
	"fmt"
	"kvlab/metrics"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// Entries that fail a gate in two rounds leave the later ones, with the reason.
func TestGates(t *testing.T) {
	l := newLab(5, map[string]float64{"dies": 2, "large": 3, "quick": 2, "once": 1.2, "good": 0.6})
	l.plan.Class.MemoryMB = 2000
	l.plan.Class.Entries = append(l.plan.Class.Entries, metrics.Entry{Name: "odd", Broken: "main.go:1: syntax error"})
	l.spoil = func(round, attempt int, t *metrics.Trial) {
		switch t.Point[0] {
		case "dies":
			fail(t)
		case "once":
			if round == 2 {
				fail(t)
			}
		case "large":
			t.Run.Nodes[0].PeakBytes = 2_300e6 // of all its processes; one of them says 500 MB
		case "quick":
			if t.Run.Quick = round == 2 || round == 5; t.Run.Quick {
				t.OpsPerS *= 10
			}
		}
	}
	done := l.run(t, nil, all)
	s := Decide(l.plan, done)
	for name, want := range map[string]string{
		"dies":  `trial \d+: INVALID(died, node0); and trial \d+`,
		"large": `trial \d+: a server held 2300 MB of memory, and the limit is 2000 MB`,
		"quick": `trial \d+: the caveat QUICK, which the class does not allow: the run was a short look, with few records; and trial \d+`,
		"odd":   "it does not build: main.go:1: syntax error",
	} {
		e := standingOf(t, s, name)
		want = strings.ReplaceAll(want, `\d+`, "N")
		got := e.Reason
		for _, n := range e.Failed {
			got = strings.Replace(got, fmt.Sprintf("trial %d", n), "trial N", 1)
		}
		if got != want || e.Verdict.Valid || e.Rank != 0 || e.Score != 0 || e.Verdict.Reason != e.Reason {
			t.Errorf("%s: %+v, want %s", name, e, want)
		}
	}
	for name, trials := range map[string]int{"dies": 2, "large": 1, "quick": 5, "odd": 0, "once": s.Rounds} {
		n := len(slices.DeleteFunc(slices.Clone(done), func(t metrics.Trial) bool { return t.Point[0] != name }))
		if n != trials {
			t.Errorf("%s has %d trials, want %d", name, n, trials)
		}
	}
	once := standingOf(t, s, "once")
	if !once.Verdict.Valid || once.Rank != 1 || once.RankHigh != 1 || once.Valid != s.Rounds-1 || len(once.Failed) != 1 || s.Rounds != 6 {
		t.Errorf("%+v in %d rounds", once, s.Rounds)
	}
	e := l.experiment()
	end := e.Conclude(done, nil)
	text, v := end.Full, end.Verdict
	if a := e.Answer(done); !v.Valid || !a.Good || a.Headline != "2 stores ranked, 4 INVALID" || !strings.Contains(text, "\nrank  entry") {
		t.Errorf("%v, %+v\n%s", v, a, text)
	}
	for line := range strings.Lines(end.Brief) {
		if utf8.RuneCountInString(line) > 81 {
			t.Errorf("a line of more than 80 columns: %s", line)
		}
	}
	if outline := e.Outline(); !strings.Contains(outline, "T: 6 trials in each round, at least 1.5 minutes, in random order by --seed 5\ndecides after 6, 10, 16, 24 rounds\n") {
		t.Errorf("outline:\n%s", outline)
	}
	if files := e.Files(done, false); !reflect.DeepEqual(files[metrics.StandingsFile], s) {
		t.Errorf("files %+v", files)
	}
}
