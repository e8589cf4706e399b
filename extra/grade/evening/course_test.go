package evening

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"kvlab/metrics"
	"kvlab/metrics/stats"
)

// lab is a class whose trials are made up from the place of each alone.
type lab struct {
	plan  metrics.Sweep
	speed map[string]float64                         // of an entry over the reference
	spoil func(round, attempt int, t *metrics.Trial) // may be nil
}

// newLab has a reference and entries of these speeds.
func newLab(seed uint64, speed map[string]float64) lab {
	graded := metrics.Class{Title: "T", Reference: "ref", Alpha: Alpha, Looks: Looks, Equal: Equal, Precision: 2.5, Allow: []string{"ONE MACHINE"},
		Score: []metrics.ScoreStep{{Ratio: 0.5, Percent: 60}, {Ratio: 1, Percent: 80}, {Ratio: 2, Percent: 100}}}
	names := []string{"ref"}
	for name := range speed {
		names = append(names, name)
	}
	slices.Sort(names[1:])
	for _, name := range names {
		graded.Entries = append(graded.Entries, metrics.Entry{Name: name, Args: "--" + name})
	}
	speed["ref"] = 1
	return lab{plan: Planned(metrics.Sweep{Seed: seed}, graded), speed: speed}
}

func (l lab) experiment() Experiment {
	return Of(l.plan, func(string) time.Duration { return 15 * time.Second })
}

// begun is when each lab's evening begins.
var begun = time.Date(2026, 11, 23, 20, 0, 0, 0, time.UTC)

// trial returns the trial of a place in the plan: a minute long.
func (l lab) trial(p metrics.PlannedTrial, done []metrics.Trial) metrics.Trial {
	attempt := 0
	for _, t := range done {
		if t.Round == p.Round && t.Point[0] == p.Point[0] {
			attempt++
		}
	}
	sum := fnv.New64()
	fmt.Fprint(sum, p.Round, p.Point, attempt)
	noise := 0.01 * rand.New(rand.NewPCG(l.plan.Seed, sum.Sum64())).NormFloat64()
	summary := &metrics.Summary{Saturation: &metrics.Saturation{ProcessRSSBytes: 500e6}}
	node := metrics.RunNode{Name: "node0", Role: metrics.Server, Config: &metrics.Config{Host: metrics.Host{Hostname: "h", Cores: 2}}, Summary: summary}
	run := metrics.Run{Nodes: []metrics.RunNode{node}, Result: metrics.Result{OpsPerS: 1e6 * l.speed[p.Point[0]] * math.Exp(noise), Verdict: metrics.Verdict{Valid: true}, Started: begun.Add(time.Duration(p.Number) * time.Hour)}}
	run.Ended = run.Started.Add(time.Minute)
	t := metrics.TrialOf(p, fmt.Sprintf("trial-%03d", p.Number), run)
	if l.spoil != nil {
		l.spoil(p.Round, attempt, &t)
	}
	t.Run.Verdict = t.Verdict
	return t
}

// run makes trials until the evening ends, or as many as most.
func (l lab) run(t *testing.T, done []metrics.Trial, most int) []metrics.Trial {
	t.Helper()
	for len(done) < most {
		groups, err := l.experiment().Next(done)
		if err != nil {
			t.Fatal(err)
		}
		if len(groups) == 0 {
			break
		}
		p := groups[0][0]
		if p.Number != len(done)+1 || p.Spec.Args != "--"+p.Point[0] {
			t.Fatalf("trial %+v after %d", p, len(done))
		}
		done = append(done, l.trial(p.PlannedTrial, done))
	}
	return done
}

const all = math.MaxInt

// disturb is other work during a trial.
func disturb(t *metrics.Trial) {
	t.Run.Nodes[0].Summary.Usage.CPUPercent.Avg = 30
}

func fail(t *metrics.Trial) {
	t.Verdict = metrics.Verdict{Reason: "died", Node: "node0"}
}

func standingOf(t *testing.T, s metrics.Standings, name string) metrics.Standing {
	t.Helper()
	i := slices.IndexFunc(s.Entries, func(e metrics.Standing) bool { return e.Entry == name })
	if i < 0 {
		t.Fatalf("no %s in %+v", name, s)
	}
	return s.Entries[i]
}

// Each round has all entries once, in an order of its own. Entries that differ are told
// apart, equal ones are not, and then the evening ends.
func TestEvening(t *testing.T) {
	l := newLab(7, map[string]float64{"fast": 1.5, "same1": 1.1, "same2": 1.1, "slow": 0.75, "slower": 0.4})
	done := l.run(t, nil, all)
	s := Decide(l.plan, done)
	if !slices.Contains(Looks, s.Rounds) || len(done) != 6*s.Rounds || s.Ended != "every pair of entries is told apart, or equal" || s.Deciding != s.Rounds {
		t.Errorf("%d trials, %+v", len(done), s)
	}
	orders := make(map[string]bool)
	for round := range slices.Chunk(done, 6) {
		var names []string
		for _, trial := range round {
			names = append(names, trial.Point[0])
			if trial.Round != round[0].Round {
				t.Errorf("trial %d is of round %d", trial.Number, trial.Round)
			}
		}
		orders[fmt.Sprint(names)] = true
		if slices.Sort(names); len(slices.Compact(names)) != 6 {
			t.Errorf("a round has %q", names)
		}
	}
	if len(orders) < 4 {
		t.Errorf("%d orders in %d rounds", len(orders), s.Rounds)
	}
	var order []string
	for _, e := range s.Entries {
		order = append(order, fmt.Sprintf("%s %d %d-%d", e.Entry, e.Rank, e.RankLow, e.RankHigh))
	}
	slices.Sort(order[1:3]) // the equal ones
	if got, want := strings.Join(order, ", "), "fast 1 1-1, same1 2 2-3, same2 2 2-3, slow 4 4-4, slower 5 5-5, ref 0 0-0"; got != want {
		t.Errorf("order %s, want %s", got, want)
	}
	for name, want := range map[string]float64{"fast": 90, "same1": 82, "ref": 80, "slow": 70, "slower": 60} {
		e := standingOf(t, s, name)
		if math.Abs(e.Score-want) > 1.2 || e.Ratio < e.RatioLow || e.Ratio > e.RatioHigh || math.Abs(e.Ratio/l.speed[name]-1) > 0.02 || e.Valid != s.Rounds {
			t.Errorf("%+v, want a score of %v", e, want)
		}
	}
	if e := standingOf(t, s, "slow"); !slices.Equal(slices.Sorted(slices.Values(e.Faster)), []string{"fast", "same1", "same2"}) || !slices.Equal(e.Slower, []string{"slower"}) {
		t.Errorf("%+v", e)
	}
}

// An evening that is cut at any place, and read back, goes on as if it had not been.
// Nothing is measured twice.
func TestEveningIsPure(t *testing.T) {
	l := newLab(3, map[string]float64{"a": 1, "b": 1.05, "drops": 1, "c": 0.9})
	l.plan.Class.BudgetS = 3600
	l.spoil = func(round, attempt int, t *metrics.Trial) {
		if t.Point[0] == "drops" {
			fail(t)
		}
		if (round+len(t.Point[0]))%4 == 0 {
			disturb(t)
		}
	}
	whole := l.run(t, nil, all)
	want, _ := json.Marshal(Decide(l.plan, whole))
	seen := make(map[string]int)
	for _, trial := range whole {
		seen[fmt.Sprint(trial.Round, trial.Point)]++
	}
	for place, times := range seen {
		if times > 1 {
			t.Errorf("%s has %d trials", place, times)
		}
	}
	for cut := range whole {
		var plan metrics.Sweep
		text, err := json.Marshal(l.plan)
		if err == nil {
			err = json.Unmarshal(text, &plan)
		}
		if err != nil {
			t.Fatal(err)
		}
		again := lab{plan, l.speed, l.spoil}.run(t, slices.Clone(whole[:cut]), all)
		if got, _ := json.Marshal(Decide(plan, again)); !reflect.DeepEqual(again, whole) || string(got) != string(want) {
			t.Errorf("cut after %d trials: %d trials, want %d\n%s\n%s", cut, len(again), len(whole), got, want)
		}
	}
}

// A round in which other processes disturbed some trials counts for no entry. None is made
// again: where all trials are disturbed, all count.
func TestDisturbedRounds(t *testing.T) {
	names := []string{"a", "b", "ref"}
	leftover := &metrics.Preflight{Findings: []metrics.Finding{{Fact: metrics.Leftover, Grade: metrics.Warn, Text: "another run is under way"}}}
	for name, test := range map[string]struct {
		spoil   func(round, entry int, t *metrics.Trial)
		dropped []int
	}{
		"quiet": {func(int, int, *metrics.Trial) {}, nil},
		"three": {func(round, entry int, t *metrics.Trial) {
			if round == 1 && entry == 0 || round == 3 && entry < 2 || round == 4 && entry == 2 {
				disturb(t)
				t.OpsPerS /= 2
			}
			if round == 3 && entry == 0 {
				fail(t) // a call without a reply in time, perhaps
			}
		}, []int{1, 3, 4}},
		"another run": {func(round, entry int, t *metrics.Trial) {
			if round == 2 && entry == 1 {
				t.Run.Preflight = leftover
				t.OpsPerS /= 2
			}
		}, []int{2}},
		"always": {func(_, entry int, t *metrics.Trial) {
			disturb(t)
			t.Run.Nodes[0].Summary.Usage.CPUPercent.Avg += 4 * float64(entry)
		}, nil},
		"always another run": {func(_, _ int, t *metrics.Trial) { t.Run.Preflight = leftover }, nil},
		"ever changing": {func(round, entry int, t *metrics.Trial) {
			if round%3 == entry {
				disturb(t)
			}
		}, []int{1, 2, 3, 8}}, // as many as cost no more than three and a quarter
		"drift": {func(_, _ int, t *metrics.Trial) { t.Run.WarmUp = &stats.Stationarity{Seconds: 2, DriftShare: 0.3} }, nil},
	} {
		l := newLab(1, map[string]float64{"a": 1.5, "b": 1})
		l.spoil = func(round, _ int, t *metrics.Trial) { test.spoil(round, slices.Index(names, t.Point[0]), t) }
		done := l.run(t, nil, all)
		s := Decide(l.plan, done)
		if !slices.Equal(s.Dropped, test.dropped) || s.Rounds != Looks[0] || len(done) != 3*(s.Rounds+len(s.Dropped)) {
			t.Errorf("%s: rounds %d, dropped %v of %d trials, want %v", name, s.Rounds, s.Dropped, len(done), test.dropped)
		}
		for entry, want := range map[string]float64{"a": 1.5, "b": 1} {
			if e := standingOf(t, s, entry); !e.Verdict.Valid || len(e.Failed) > 0 || math.Abs(e.Ratio/want-1) > 0.02 {
				t.Errorf("%s: %+v, want %v", name, e, want)
			}
		}
	}
	// A budget of one round has a result.
	l := newLab(1, map[string]float64{"a": 1.5, "b": 1})
	l.plan.Class.BudgetS = 1
	l.spoil = func(_, _ int, t *metrics.Trial) {
		if t.Point[0] == "a" {
			disturb(t)
		}
	}
	if s := Decide(l.plan, l.run(t, nil, all)); s.Rounds != 1 || s.Dropped != nil {
		t.Errorf("one round: %+v", s)
	}
}

// One folder in one round has the verdict of its trial, and whatever disturbs it.
func TestOneFolder(t *testing.T) {
	for name, check := range map[string]string{"fine": "", "crashes": "crash", "slow": "length"} {
		l := newLab(6, map[string]float64{"mine": 0.8})
		l.plan.Class.Looks = []int{1}
		l.spoil = func(_, _ int, t *metrics.Trial) {
			if t.Point[0] == "mine" {
				disturb(t)
				if check != "" {
					t.Verdict = metrics.Verdict{Check: check, Reason: "why", Node: "node0"}
				}
			}
		}
		done := l.run(t, nil, all)
		v := l.experiment().Conclude(done, nil).Verdict
		a := l.experiment().Answer(done)
		if s := Decide(l.plan, done); len(done) != 2 || s.Rounds != 1 || v.Valid != (check == "") || v.Check != check || v.Reason != map[bool]string{true: "why"}[check != ""] || a.Good != v.Valid || a.Next == "" {
			t.Errorf("%s: %d trials, %+v, %+v, %+v", name, len(done), v, a, s)
		}
	}
}

// A folder that is checked alone is INVALID in the words of the evening, with the end of its
// server's log.
func TestOneFolderInTheEveningsWords(t *testing.T) {
	spoil := func(check string, t *metrics.Trial) {
		switch check {
		case "memory":
			t.Run.Nodes[0].PeakBytes = 9e9
		case "caveat":
			t.Run.Quick = true
		default:
			t.Verdict = metrics.Verdict{Check: check, Reason: "it is wrong in some way", Node: "node0"}
		}
	}
	for _, check := range []string{"memory", "caveat", "load", "start", "crash", "audit", "length", "linearizable", "reply", "counts", "deadline", ""} {
		said := make(map[bool]string)
		for _, alone := range []bool{false, true} {
			l := newLab(8, map[string]float64{"mine": 1})
			l.plan.Class.MemoryMB = 4000
			if alone {
				l.plan.Class.Looks = []int{1}
			}
			l.spoil = func(_, _ int, t *metrics.Trial) {
				if t.Point[0] == "mine" {
					spoil(check, t)
				}
			}
			done, e := l.run(t, nil, all), l.experiment()
			e.Log = func(t metrics.Trial) string { return fmt.Sprintf("goroutine 1:\nmain.go:%d", len(t.Point[0])) }
			_, said[alone], _ = strings.Cut(standingOf(t, Decide(l.plan, done), "mine").Reason, ": ")
			said[alone], _, _ = strings.Cut(said[alone], "; and trial ")
			if brief := e.Conclude(done, nil).Brief; !strings.HasSuffix(brief, "the end of its log:\n  goroutine 1:\n  main.go:4\n\n") || said[alone] == "" || alone && !strings.Contains(strings.Join(strings.Fields(brief), " "), said[true]) {
				t.Errorf("%s: %s", check, brief)
			}
		}
		if said[true] != said[false] {
			t.Errorf("%s: alone %q, on the evening %q", check, said[true], said[false])
		}
	}
}

// What a store alone can have done is measured once, though other processes disturbed it. The
// reference may fail once.
func TestFaultsOfStores(t *testing.T) {
	l := newLab(4, map[string]float64{"loses": 1, "slow": 1, "good": 1})
	l.spoil = func(round, _ int, t *metrics.Trial) {
		switch t.Point[0] {
		case "loses":
			disturb(t)
			t.Verdict = metrics.Verdict{Check: "audit", Reason: "3 keys lost their last write", Node: "node0"}
		case "slow":
			if round == 1 {
				t.Verdict = metrics.Verdict{Check: "length", Reason: "too few calls", Node: "node1"}
			}
		case "ref":
			if round == 2 {
				t.Verdict = metrics.Verdict{Check: "crash", Reason: "died", Node: "node0"}
			}
		}
	}
	done := l.run(t, nil, all)
	s := Decide(l.plan, done)
	if n := len(slices.DeleteFunc(slices.Clone(done), func(t metrics.Trial) bool { return t.Point[0] != "loses" })); n != 1 {
		t.Errorf("one that loses writes has %d trials", n)
	}
	if e := standingOf(t, s, "loses"); e.Verdict.Valid || e.Verdict.Check != "audit" || !strings.HasSuffix(e.Reason, ": INVALID(3 keys lost their last write, node0)") {
		t.Errorf("%+v", e)
	}
	if e := standingOf(t, s, "slow"); !e.Verdict.Valid || s.Void != "" || s.Rounds < Looks[0] {
		t.Errorf("%+v: %+v", e, s)
	}
}

// An evening goes on until the scores are as precise as the class wants, or the budget ends.
func TestPrecision(t *testing.T) {
	for precision, rounds := range map[float64]int{2.5: 6, 0.45: 10, 0.01: 24} {
		l := newLab(9, map[string]float64{"a": 1.5, "b": 0.8})
		l.plan.Class.Precision = precision
		s := Decide(l.plan, l.run(t, nil, all))
		for _, e := range s.Entries {
			half, known := e.PlusMinus()
			if !known || e.Score < e.ScoreLow || e.Score > e.ScoreHigh || l.plan.Class.Precise(e) != (half <= precision) {
				t.Errorf("%+v", e)
			}
			if e.Entry == "ref" != (half == 0) {
				t.Errorf("%s has ±%v", e.Entry, half)
			}
		}
		if s.Rounds != rounds {
			t.Errorf("±%v %%: %d rounds, want %d: %+v", precision, s.Rounds, rounds, s.Entries)
		}
	}
}

// Entries whose ranges overlap, one with the next, share a rank.
func TestTies(t *testing.T) {
	var s []metrics.Standing
	for _, r := range [][2]int{{8, 9}, {1, 1}, {2, 4}, {9, 9}, {0, 0}, {5, 7}, {3, 4}, {6, 7}} {
		s = append(s, metrics.Standing{RankLow: r[0], RankHigh: r[1]})
	}
	tie(s)
	var ranks []int
	for _, e := range s {
		ranks = append(ranks, e.Rank)
	}
	if want := []int{8, 1, 2, 8, 0, 5, 2, 5}; !slices.Equal(ranks, want) {
		t.Errorf("ranks %v, want %v", ranks, want)
	}
}

// A reference that fails ends the evening, which is then INVALID. So the evening ends when
// no entry is left, or the budget leaves no time for a round.
func TestEndOfEvening(t *testing.T) {
	for name, test := range map[string]struct {
		budget, rounds, deciding int
		fails                    string
		ended                    string
	}{
		"reference": {fails: "ref", rounds: 2, ended: "the reference failed: trial "},
		"entries":   {fails: "a", rounds: 2, ended: "no entry is left"},
		"budget":    {budget: 14 * 60, rounds: 7, deciding: 7, ended: "the budget of 14 minutes leaves no time for another round"},
		"look":      {budget: 1000 * 60, rounds: 24, deciding: 24, ended: "these were the last of 24 rounds"},
		"short":     {budget: 1, rounds: 1, ended: "the budget of 0 minutes"},
	} {
		l := newLab(2, map[string]float64{"a": 1})
		l.plan.Class.BudgetS = float64(test.budget)
		l.spoil = func(_, _ int, t *metrics.Trial) {
			if t.Point[0] == test.fails {
				fail(t)
			}
		}
		done := l.run(t, nil, all)
		s := Decide(l.plan, done)
		if s.Rounds != test.rounds || s.Deciding != test.deciding || !strings.HasPrefix(s.Ended, test.ended) || len(done) != 2*test.rounds {
			t.Errorf("%s: %d trials, %+v", name, len(done), s)
		}
		v := l.experiment().Conclude(done, nil).Verdict
		if a := l.experiment().Answer(done); v.Valid != (name != "reference") || a.Good != v.Valid {
			t.Errorf("%s: %v, %+v", name, v, a)
		}
	}
}
