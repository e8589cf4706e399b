package evening

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"kvlab/metrics"
)

// term makes up a term: the stores of 30 teams, in groups of three equal ones.
type term struct {
	random *rand.Rand
	Term
}

// speedOf returns the ratio to the reference of a team's store; the newer one of team 4 is twice as
// fast.
func speedOf(team int, newer bool) float64 {
	speed := 0.55 * math.Pow(1.06, float64(team/3))
	if team == 4 && newer {
		speed *= 2
	}
	return speed
}

func nameOf(team int) string { return fmt.Sprintf("team-%02d", team) }

// hold makes the trials of an evening of some teams, or of a subject among them, on a day with a
// speed of its own.
func (t *term) hold(teams []int, newer bool, subject string) {
	l := newLab(t.random.Uint64(), map[string]float64{})
	class := *l.plan.Class
	class.Precision, class.Subject = 1.5, subject
	standings := metrics.Standings{}
	if subject != "" {
		_, _, standings = t.Whole()
	}
	for _, team := range teams {
		e := metrics.Entry{Name: nameOf(team), Source: fmt.Sprint(team, newer && team == 4)}
		if i := slices.IndexFunc(standings.Entries, func(s metrics.Standing) bool { return s.Entry == e.Name && s.Entry != subject }); i >= 0 {
			e.Ratio = standings.Entries[i].Ratio
		}
		l.speed[e.Name], class.Entries = speedOf(team, newer), append(class.Entries, e)
	}
	l.plan = Planned(metrics.Sweep{ID: fmt.Sprint(len(t.Evenings)), Seed: l.plan.Seed, Started: begun.Add(time.Duration(len(t.Evenings)) * 24 * time.Hour)}, class)
	day := math.Exp(0.3 * t.random.NormFloat64())
	var done []metrics.Trial
	for c := courseOf(l.plan, nil); len(c.left) > 0; c = courseOf(l.plan, done) {
		rounds := 1
		if at := slices.IndexFunc(Looks, func(look int) bool { return look > c.complete }); subject == "" || c.complete > 0 { // nothing changes before the next look
			rounds = Looks[at] - c.complete
		}
		for round := c.complete + 1; rounds > 0; round, rounds = round+1, rounds-1 {
			for _, p := range c.leftOf(round, len(done)) {
				ops := 1e6 * day * l.speed[p.Point[0]] * math.Exp(0.01*t.random.NormFloat64())
				run := &metrics.Run{Result: metrics.Result{OpsPerS: ops, Verdict: metrics.Verdict{Valid: true}}}
				done = append(done, metrics.Trial{PlannedTrial: p, Result: run.Result, Run: run})
			}
		}
	}
	t.Evenings = append(t.Evenings, Evening{fmt.Sprint(len(t.Evenings)), l.plan, done})
}

// A term of two evenings, with three late teams, one that is measured again and one that hands in a
// faster store, has the ranks and the scores of one long evening, within their intervals. The scale
// that counts is the last one.
func TestTerm(t *testing.T) {
	const first = 100
	seeds := 2
	if os.Getenv("KVLAB_LONG") == "1" {
		seeds = 500
	}
	var teams []int
	for team := range 30 {
		teams = append(teams, team)
	}
	scores, outside, apart, ranges, wrong, trials := 0, 0, 0, 0, 0, 0
	for seed := first; seed < first+seeds; seed++ {
		random := rand.New(rand.NewPCG(uint64(seed), 0))
		long, of := term{random: random}, term{random: random}
		long.hold(teams, true, "")
		of.hold(teams[:27], false, "")
		of.hold(teams[:27], false, "")
		for _, late := range []int{27, 28, 29} {
			of.hold(teams[:late+1], false, nameOf(late))
		}
		of.hold(teams, false, nameOf(11)) // again
		of.hold(teams, true, nameOf(4))   // another store
		for _, most := range []float64{50, 90} {
			scale := ScaleOf(*of.Evenings[0].Plan.Class)
			scale.Score = []metrics.ScoreStep{{Ratio: 0.5, Percent: 20}, {Ratio: 2, Percent: most}}
			of.Scale, long.Scale = &scale, &scale
		}
		plan, made, s := of.Whole()
		_, _, want := long.Whole()
		trials += len(made)
		for i, trial := range made {
			if trial.Number != i+1 {
				t.Fatalf("seed %d: trial %d is %d", seed, i+1, trial.Number)
			}
		}
		if n := len(plan.Class.Entries); n != 32 || len(s.Entries) != 32 {
			t.Fatalf("seed %d: %d entries, want 30, the reference and an earlier one", seed, n)
		}
		overlap, order := true, true
		for team := range 30 {
			name, truth := nameOf(team), speedOf(team, true)
			a, b := standingOf(t, s, name), standingOf(t, want, name)
			scores++
			if truth < a.RatioLow || truth > a.RatioHigh {
				outside++
			}
			if a.ScoreLow > b.ScoreHigh || b.ScoreLow > a.ScoreHigh {
				apart++
			}
			if score := 20 + 70*(truth-0.5)/1.5; math.Abs(a.Score-score) > 2.5 || a.Earlier {
				t.Errorf("seed %d: %+v, want a score of %.1f", seed, a, score)
			}
			overlap = overlap && a.RankLow <= b.RankHigh && b.RankLow <= a.RankHigh
			for _, faster := range a.Faster {
				var other int
				fmt.Sscanf(faster, "team-%d", &other)
				order = order && speedOf(other, true) > truth
			}
		}
		if !overlap {
			ranges++
		}
		if !order {
			wrong++
		}
		earlier := standingOf(t, s, "team-04@4 false")
		if old := speedOf(4, false); !earlier.Earlier || earlier.Rank != 0 || earlier.Ratio < 0.97*old || earlier.Ratio > 1.03*old {
			t.Errorf("seed %d: %+v, want %.3f", seed, earlier, old)
		}
	}
	t.Logf("of %d scores, %d have an interval without the true one, and %d none in common with the long evening's; of %d terms, %d have such a range of a rank, and %d a wrong order; %d trials each", scores, outside, apart, seeds, ranges, wrong, trials/seeds)
	// Five, and half a per cent of scores; two per cent of the terms, for each of both evenings:
	// with four standard deviations.
	for what, n := range map[string][3]float64{"intervals without the true score": {float64(outside), float64(scores), 0.05}, "scores apart": {float64(apart), float64(scores), 0.01},
		"ranges of ranks apart": {float64(ranges), float64(seeds), 2 * Alpha}, "wrong orders": {float64(wrong), float64(seeds), Alpha}} {
		if most := n[1]*n[2] + 4*math.Sqrt(n[1]*n[2]*(1-n[2])); n[0] > most {
			t.Errorf("%s: %v of %v, want at most %.1f", what, n[0], n[1], most)
		}
	}
}

// Evenings that measure otherwise are none of one class, and the difference is named.
func TestUnlike(t *testing.T) {
	for want, change := range map[string]func(*Evening){
		"":                     func(e *Evening) { e.Plan.Class.Title, e.Plan.Class.Score, e.Plan.Class.BudgetS = "U", nil, 9 },
		"work or reference: ":  func(e *Evening) { e.Plan.Class.Entries[0].Args = "--records 9" },
		"reference: ":          func(e *Evening) { e.Plan.Class.Entries[0].Source = "ff" },
		"gate memory: ":        func(e *Evening) { e.Plan.Class.MemoryMB = 7 },
		"allow: ":              func(e *Evening) { e.Plan.Class.Allow = nil },
		"launcher: commit: ":   func(e *Evening) { e.Plan.GitCommit = "1234" },
		"launcher: program of": func(e *Evening) { e.Plan.Programs = map[metrics.Role]string{metrics.Client: "1234"} },
		"kind of machine: ":    func(e *Evening) { e.Done[0].Run.Nodes[0].Config.Host.Cores = 64 },
	} {
		var both []Evening
		for range 2 {
			l := newLab(1, map[string]float64{"a": 1})
			l.plan.Programs = map[metrics.Role]string{metrics.Client: "abcd"}
			both = append(both, Evening{".", l.plan, l.run(t, nil, 2)})
		}
		change(&both[1])
		if why := Unlike(both[0], both[1]); !strings.HasPrefix(why, want) || (why == "") != (want == "") {
			t.Errorf("%q, want %q", why, want)
		}
	}
}
