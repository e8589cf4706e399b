package study

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"kvlab/kvs/experiment"
	"kvlab/metrics"
)

// planted is a study without arguments, whose points have these true values of ops/s.
type planted struct {
	values map[string]float64
	claims []metrics.Claim
	noise  float64 // of a trial, beside that of its round
	rounds int
	alpha  float64
}

func (p planted) plan(seed uint64) metrics.Sweep {
	knob := metrics.Knob{Name: metrics.PointKnob}
	for name := range p.values {
		knob.Values = append(knob.Values, name)
	}
	slices.Sort(knob.Values)
	for i := range p.claims {
		p.claims[i].Measure = Measures[0].Name
	}
	knobs := []metrics.Knob{knob}
	return metrics.Sweep{Knobs: knobs, Trials: p.rounds, Order: experiment.Order(knobs, p.rounds, seed), Study: &metrics.Study{Alpha: p.alpha, Claims: p.claims}}
}

// trials are made in the plan's order. Each round has an effect on all, and the machine
// becomes slower by 10 % from the first to the last.
func (p planted) trials(plan metrics.Sweep, rng *rand.Rand) (trials []metrics.Trial) {
	round := 0.0
	for i, planned := range plan.Order {
		if i%len(p.values) == 0 {
			round = 0.03 * rng.NormFloat64()
		}
		drift := -0.1 * float64(i) / float64(len(plan.Order))
		rate := p.values[planned.Point[0]] * math.Exp(round+drift+p.noise*rng.NormFloat64())
		trials = append(trials, metrics.Trial{PlannedTrial: planned, Result: metrics.Result{OpsPerS: rate, Verdict: metrics.Verdict{Valid: true}}, Run: &metrics.Run{Result: metrics.Result{OpsPerS: rate}}})
	}
	return trials
}

// outcomes decides a number of studies.
func (p planted) outcomes(rng *rand.Rand, times int) (all [][]metrics.ClaimResult) {
	for range times {
		plan := p.plan(rng.Uint64())
		all = append(all, Decide(plan, p.trials(plan, rng)))
	}
	return all
}

func claim(kind metrics.ClaimKind, value, tolerance float64, points ...string) metrics.Claim {
	c := metrics.Claim{Study: "planted", Name: string(kind), Kind: kind, Points: points, Value: value, Tolerance: tolerance}
	if kind == metrics.ClaimLinear {
		for i := range points {
			c.Sizes = append(c.Sizes, float64(int(2)<<i))
		}
	}
	return c
}

// Three studies are planted, whose claims of every kind are true, are false, and cannot be
// told. True values are two margins away from what the claims deny or say; a margin is the
// tolerance, 6 %, or as much where a claim has none. Noise is 1 %, with seven rounds; where
// nothing can be told it is 30 %. The outcomes are right 20 times of 20.
func TestPlantedStudies(t *testing.T) {
	const seed, times, margin, alpha = 16, 20, 0.06, 0.01
	t.Logf("seed %d", seed)
	up := 1 + 2*margin
	points := map[string]float64{"one": 1e6, "two": 1e6 * up, "four": 1e6 * up * up, "half": 1e6 / up, "same": 1e6, "twice": 2e6, "fourfold": 4e6, "flat": 1e6 * 4 * (1 - 3*margin)}
	right := []metrics.Claim{
		claim(metrics.ClaimRatio, 2, 2*margin, "one", "twice"),
		claim(metrics.ClaimAtLeast, 1, 0, "one", "two"),
		claim(metrics.ClaimAtMost, 1, 0, "two", "one"),
		claim(metrics.ClaimAtLeast, 0.8e6, 0, "one"),
		claim(metrics.ClaimOrder, 0, 0, "half", "one", "two", "four"),
		claim(metrics.ClaimPeak, 0, margin, "two", "one", "half"),
		claim(metrics.ClaimLinear, 0, 2*margin, "one", "twice", "fourfold"),
		claim(metrics.ClaimSame, 0, 2*margin, "one", "same"),
	}
	wrong := []metrics.Claim{
		claim(metrics.ClaimRatio, 2/(1+margin)/up, margin, "one", "twice"),
		claim(metrics.ClaimAtLeast, 1, 0, "two", "one"),
		claim(metrics.ClaimAtMost, 1, 0, "one", "two"),
		claim(metrics.ClaimAtMost, 0.8e6, 0, "one"),
		claim(metrics.ClaimOrder, 0, 0, "half", "two", "one", "four"),
		claim(metrics.ClaimPeak, 0, margin, "half", "two", "one"),
		claim(metrics.ClaimLinear, 0, margin, "one", "flat"),
		claim(metrics.ClaimSame, 0, margin, "one", "same", "four"),
	}
	for _, test := range []struct {
		name   string
		claims []metrics.Claim
		noise  float64
		want   metrics.Outcome
	}{
		{"true", right, 0.01, metrics.Reproduced},
		{"false", wrong, 0.01, metrics.Contradicted},
		{"cannot be told", right, 0.3, metrics.CannotTell},
	} {
		p := planted{points, test.claims, test.noise, 7, alpha}
		if test.want == metrics.CannotTell { // the others can be told, with so large an effect
			p.claims = []metrics.Claim{right[1], right[2], right[4], right[5], right[7]}
		}
		good := 0
		for _, results := range p.outcomes(rand.New(rand.NewPCG(seed, 0)), times) {
			fine := true
			for _, r := range results {
				if r.Outcome != test.want {
					fine = false
					t.Logf("%s: %s %v: %s: %s", test.name, r.Claim.Kind, r.Claim.Points, r.Outcome, r.Reason)
				}
				if strings.Contains(r.Reason, "; needs ") != (r.Outcome == metrics.CannotTell) || r.Rounds != 7 || len(r.Pairs) == 0 || len(r.Values) != len(r.Claim.Points) {
					t.Fatalf("%+v", r)
				}
			}
			if fine {
				good++
			}
		}
		if good != times {
			t.Errorf("%s: right in %d of %d", test.name, good, times)
		}
	}
}

// At the end of what a claim of any kind says, neither answer is wrong more often than
// alpha; within it, a page of claims that hold has a contradicted one as rarely.
func TestOutcomesAtTheBorder(t *testing.T) {
	const seed, alpha = 4, 0.05
	times := 100.
	if os.Getenv("KVLAB_LONG") == "1" {
		times = 2000
	}
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	points := map[string]float64{"a": 100, "b": 110, "c": 200, "d": 90, "e": 100, "f": 100 * math.Pow(2, 0.9)}
	bound := alpha + 4*math.Sqrt(alpha*(1-alpha)/times)
	count := func(p planted) (reproduced, contradicted float64) {
		for _, results := range p.outcomes(rng, int(times)) {
			some := metrics.CannotTell
			for _, r := range results {
				if r.Outcome == metrics.Contradicted || some == metrics.CannotTell {
					some = r.Outcome
				}
			}
			switch some {
			case metrics.Reproduced:
				reproduced += 1 / times
			case metrics.Contradicted:
				contradicted += 1 / times
			}
		}
		return reproduced, contradicted
	}
	border := []metrics.Claim{
		claim(metrics.ClaimRatio, 2/1.1, 0.1, "a", "c"),
		claim(metrics.ClaimAtLeast, 1.1, 0, "a", "b"),
		claim(metrics.ClaimAtMost, 1.1, 0, "a", "b"),
		claim(metrics.ClaimAtLeast, 100*math.Exp(-0.05), 0, "a"), // the mean of the drift
		claim(metrics.ClaimOrder, 0, 0, "a", "e", "c"),
		claim(metrics.ClaimPeak, 0, 0.1, "d", "a", "e"),
		claim(metrics.ClaimLinear, 0, 0.1, "a", "f"),
		claim(metrics.ClaimSame, 0, 0.1, "a", "b"),
	}
	for _, c := range border {
		reproduced, contradicted := count(planted{points, []metrics.Claim{c}, 0.02, 6, alpha})
		t.Logf("%s: reproduced %.3f, contradicted %.3f", c.Kind, reproduced, contradicted)
		if reproduced > bound || contradicted > bound {
			t.Errorf("%s at its border: reproduced %.3f, contradicted %.3f, want at most %.3f", c.Kind, reproduced, contradicted, bound)
		}
	}
	if _, contradicted := count(planted{points, border, 0.02, 6, alpha}); contradicted > bound {
		t.Errorf("a page of claims that hold has a contradicted one in %.3f, want at most %.3f", contradicted, bound)
	}
}

// An INVALID trial of one of its points leaves a claim without an outcome. Trials that are
// not made yet are none.
func TestInvalidTrials(t *testing.T) {
	p := planted{map[string]float64{"a": 100, "b": 200, "c": 300}, []metrics.Claim{claim(metrics.ClaimRatio, 2, 0.1, "a", "b"), claim(metrics.ClaimAtLeast, 2, 0, "a", "c")}, 0.001, 6, 0.05}
	plan := p.plan(1)
	trials := p.trials(plan, rand.New(rand.NewPCG(1, 1)))
	spoil := func(point string, rounds ...int) []metrics.Trial {
		all, round := slices.Clone(trials), 0
		for i := range all {
			if all[i].Point[0] == point {
				if slices.Contains(rounds, round) {
					all[i].Verdict, all[i].Run, all[i].OpsPerS = metrics.Verdict{Reason: "a node died"}, nil, 1
				}
				round++
			}
		}
		return all
	}
	idle := slices.Clone(trials)
	for i := range idle {
		if idle[i].Point[0] == "c" {
			idle[i].OpsPerS = 0
		}
	}
	if r := Decide(plan, idle)[1]; r.Outcome != metrics.CannotTell || !strings.HasSuffix(r.Reason, "cannot be used: no ops/s") {
		t.Errorf("without values: %+v", r)
	}
	for _, test := range []struct {
		trials []metrics.Trial
		rounds [2]int
		reason string // of the first claim; "" where it is reproduced
	}{
		{trials, [2]int{6, 6}, ""},
		{spoil("b", 2), [2]int{0, 6}, "1 of the 6 trials of b cannot be used: a node died"},
		{spoil("b", 0, 1, 2), [2]int{0, 6}, "3 of the 6 trials of b cannot be used"},
		{trials[:6], [2]int{2, 2}, "2 rounds with valid trials of all its points, and an interval needs 3"},
		{nil, [2]int{0, 0}, "0 rounds with valid trials"},
	} {
		results := Decide(plan, test.trials)
		if got := [2]int{results[0].Rounds, results[1].Rounds}; got != test.rounds {
			t.Errorf("%d trials: rounds %v, want %v", len(test.trials), got, test.rounds)
		}
		want := map[bool]metrics.Outcome{true: metrics.Reproduced, false: metrics.CannotTell}[test.reason == ""]
		if r := results[0]; r.Outcome != want || !strings.HasPrefix(r.Reason, test.reason) {
			t.Errorf("%s: %s, want %s: %s", r.Outcome, r.Reason, want, test.reason)
		}
	}
}

func TestReasons(t *testing.T) {
	points := map[string]float64{"a": 1e6, "b": 2e6, "c": 4e6}
	p := planted{points, []metrics.Claim{
		claim(metrics.ClaimRatio, 2, 0.1, "a", "b"), claim(metrics.ClaimAtMost, 3, 0, "a", "c"), claim(metrics.ClaimAtLeast, 1.5e6, 0, "b"),
		claim(metrics.ClaimLinear, 0, 0.1, "a", "b", "c"), claim(metrics.ClaimOrder, 0, 0, "a", "c", "b"), {Name: "z", Cannot: "not built"},
	}, 1e-9, 5, 0.05}
	p.claims[5].Kind = ""
	plan := p.plan(3)
	trials := p.trials(plan, rand.New(rand.NewPCG(3, 3)))
	for i := range trials {
		trials[i].OpsPerS = points[trials[i].Point[0]]
		trials[i].OpsPerS *= 1 + 1e-6*float64(i%3)
	}
	for i, r := range Decide(plan, trials) {
		want := []string{
			"b over a: 2x, 90 % interval 2x to 2x, is within 1.8x to 2.2x",
			"c over a: 4x, 90 % interval 4x to 4x, is not at most 3x (p 1e-09)",
			"b: 2M ops/s, 90 % interval 2M ops/s to 2M ops/s, is at least 1.5M ops/s",
			"c over a: 4x, 90 % interval 4x to 4x, is at least 3.6x",
			"b over c: 0.5x, 90 % interval 0.5x to 0.5x, is not at least 1x (p 1e-09)",
			"not built",
		}[i]
		if !strings.HasPrefix(r.Reason, want) {
			t.Errorf("%s, want %s", r.Reason, want)
		}
	}
}

// The table has 80 columns, with the longest names and figures; the page has a part for
// each claim.
func TestTableAndPage(t *testing.T) {
	p := planted{map[string]float64{"a": 1e6, "b": 2e6, "c": 4e6}, []metrics.Claim{
		claim(metrics.ClaimRatio, 2, 0.1, "a", "b"), claim(metrics.ClaimOrder, 0, 0, "a", "c", "b"), {Study: "planted", Name: "never", Cannot: strings.Repeat("not built ", 20)},
	}, 0.3, 5, 0.05}
	p.claims[0].Study, p.claims[0].Name = strings.Repeat("long-study", 4), strings.Repeat("long-claim", 4)
	plan := p.plan(3)
	trials := p.trials(plan, rand.New(rand.NewPCG(3, 3)))
	results := Decide(plan, trials)
	text := table(results)
	for line := range strings.Lines(text) {
		if len([]rune(line)) > 81 {
			t.Errorf("more than 80 columns: %s", line)
		}
	}
	md := page(plan, trials, results)
	for _, r := range results {
		if !strings.Contains(text, string(r.Outcome)) || !strings.Contains(md, "\n### "+r.Claim.Name+": "+string(r.Outcome)+"\n") {
			t.Errorf("no %s in\n%s\n%s", nameOf(r.Claim), text, md)
		}
	}
}
