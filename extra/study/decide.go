package study

import (
	"fmt"
	"math"
	"strings"

	statistics "gonum.org/v1/gonum/stat"

	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/metrics/stats"
)

// Decide returns the outcome of each claim of a study, whose trials may not all be made.
// Each claim is reproduced if it is shown at plan.Study.Alpha that it holds. It is
// contradicted if it is shown that it does not, with Holm's correction over all claims that
// are tested: so one or more claims that hold are called contradicted with a probability of
// at most Alpha.
func Decide(plan metrics.Sweep, done []metrics.Trial) []metrics.ClaimResult {
	trials, alpha := roundsOf(plan, done), plan.Study.Alpha
	results := make([]metrics.ClaimResult, len(plan.Study.Claims))
	var tested []int
	var tests [][]part // of those that are tested
	var against []float64
	for i, c := range plan.Study.Claims {
		r := &results[i]
		*r = metrics.ClaimResult{Claim: c, Outcome: metrics.CannotTell, Reason: c.Cannot, P: 1}
		if c.Cannot != "" {
			continue
		}
		values, reason := trials.samples(c)
		r.Rounds, r.Values = len(values[0]), valuesOf(c, values)
		parts, ok := partsOf(c, values)
		r.Pairs = pairsOf(parts)
		switch {
		case reason != "":
			r.Reason = reason
		case !ok:
			r.Reason = fmt.Sprintf("%s with valid trials of all its points, and an interval needs %d", format.Plural(r.Rounds, "round"), stats.RatioTrials)
		default:
			r.P = stats.AnyOutside(testsOf(parts))
			tested, tests, against = append(tested, i), append(tests, parts), append(against, r.P)
		}
	}
	for n, rejected := range stats.Holm(against, alpha) {
		decide(&results[tested[n]], tests[n], rejected, alpha, len(tested))
	}
	return results
}

// decide fills in the outcome of a claim that was tested beside others, and the reason.
func decide(r *metrics.ClaimResult, parts []part, rejected bool, alpha float64, claims int) {
	tests := testsOf(parts)
	switch {
	case rejected:
		p := worst(parts, func(t stats.RangeTest) float64 { return -t.Outside })
		confidence := 1 - 2*alpha
		if p.from > 0 && !math.IsInf(p.to, 1) {
			confidence = 1 - alpha
		}
		r.Outcome, r.Reason = metrics.Contradicted, p.says("is not", confidence)+fmt.Sprintf(" (p %.2g)", max(r.P, 1e-9))
		return
	case stats.AllInside(tests) <= alpha:
		r.Outcome, r.Reason = metrics.Reproduced, worst(parts, inside).says("is", 1-2*alpha)
		return
	}
	r.Reason = worst(parts, inside).says("may or may not be", 1-2*alpha)
	if r.P <= alpha {
		r.Reason += fmt.Sprintf("; p %.2g would contradict it alone, and does not beside %s (Holm)", r.P, format.Plural(claims-1, "other claim"))
	}
	if n := stats.RoundsNeeded(tests, alpha, alpha/float64(claims)); n > 0 {
		r.Needed = max(n, r.Rounds+1)
		r.Reason += fmt.Sprintf("; needs about %d rounds", r.Needed)
	} else {
		r.Reason += "; needs more than 1000 rounds"
	}
}

func inside(t stats.RangeTest) float64 { return t.Inside }

// part is one comparison of a claim.
type part struct {
	pair     metrics.ClaimPair
	test     stats.RangeTest
	from, to float64                    // the claimed range; 0 and +Inf are no ends
	plain    bool                       // the test is of the quantity itself, an exponent, not of its logarithm
	what     string                     // names the quantity
	show     func(value float64) string // writes it
}

// says says what a part found.
func (p part) says(verb string, confidence float64) string {
	low, high := p.interval(confidence)
	claimed := "within " + p.show(p.from) + " to " + p.show(p.to)
	if math.IsInf(p.to, 1) {
		claimed = "at least " + p.show(p.from)
	} else if p.from == 0 {
		claimed = "at most " + p.show(p.to)
	}
	return fmt.Sprintf("%s: %s, %g %% interval %s to %s, %s %s", p.what, p.show(p.pair.Value), math.Round(1e4*confidence)/100,
		p.show(low), p.show(high), verb, claimed)
}

// worst returns the part for which a figure is highest.
func worst(parts []part, figure func(stats.RangeTest) float64) part {
	at := parts[0]
	for _, p := range parts[1:] {
		if figure(p.test) > figure(at.test) {
			at = p
		}
	}
	return at
}

// interval returns the interval of the quantity; 0 and 0 if there is none.
func (p part) interval(confidence float64) (low, high float64) {
	if p.plain {
		return p.test.Interval(confidence)
	}
	return p.test.RatioInterval(confidence)
}

// tested returns the part with the test of a comparison.
func (p part) tested(c stats.Comparison) part {
	from, to := p.from, p.to
	if !p.plain {
		from, to = math.Log(from), math.Log(to)
	}
	p.test, p.pair.Value = c.In(from, to), c.Mean()
	if !p.plain {
		p.pair.Value = c.Ratio()
	}
	p.pair.Low, p.pair.High = p.interval(0.95)
	p.pair.Low90, p.pair.High90 = p.interval(0.9)
	return p
}

// partsOf returns the comparisons that a claim consists of. ok is false with too few values.
func partsOf(c metrics.Claim, values [][]float64) (parts []part, ok bool) {
	if len(values[0]) == 0 {
		return nil, false
	}
	add := func(p part, c stats.Comparison) { parts = append(parts, p.tested(c)) }
	ratio := func(a, b int, from, to float64) {
		add(part{pair: metrics.ClaimPair{A: c.Points[a], B: c.Points[b]}, from: from, to: to, what: c.Points[b] + " over " + c.Points[a], show: times}, stats.Compare(values[a], values[b], stats.Paired))
	}
	none, t, last := math.Inf(1), c.Tolerance, len(c.Points)-1
	from, to := c.Value, none
	if c.Kind == metrics.ClaimAtMost {
		from, to = 0, c.Value
	}
	switch c.Kind {
	case metrics.ClaimRatio:
		ratio(0, 1, c.Value*(1-t), c.Value*(1+t))
	case metrics.ClaimAtLeast, metrics.ClaimAtMost:
		if last == 0 {
			m, _ := measureOf(c.Measure) // samples has seen it
			add(part{pair: metrics.ClaimPair{B: c.Points[0]}, from: from, to: to, what: c.Points[0], show: m.show}, stats.Compare(nil, values[0], stats.Paired))
			break
		}
		ratio(0, 1, from, to)
	case metrics.ClaimOrder:
		for i := range last {
			ratio(i, i+1, 1, none)
		}
	case metrics.ClaimPeak:
		for i := range last {
			ratio(i+1, 0, 1-t, none)
		}
	case metrics.ClaimSame:
		for i := range last {
			ratio(i, i+1, 1/(1+t), 1+t)
		}
	case metrics.ClaimLinear:
		add(part{pair: metrics.ClaimPair{B: strings.Join(c.Points, ", ")}, from: 1 - t, to: 1 + t, plain: true, what: "exponent", show: format.Count}, stats.MeanOf(exponents(c.Sizes, values)))
		growth := c.Sizes[last] / c.Sizes[0]
		ratio(0, last, (1-t)*growth, none)
	}
	return parts, parts[0].test.Known
}

// times writes a ratio, with more digits near 1.
func times(ratio float64) string {
	if math.Abs(ratio-1) < 0.1 {
		return fmt.Sprintf("%.5gx", ratio)
	}
	return format.Count(ratio) + "x"
}

// exponents returns the exponent of the growth with the size in each round: the least-squares
// slope of the logarithms of the values over the logarithms of the sizes.
func exponents(sizes []float64, values [][]float64) []float64 {
	x, slopes := make([]float64, len(sizes)), make([]float64, len(values[0]))
	for i, size := range sizes {
		x[i] = math.Log(size)
	}
	for round := range slopes {
		y := make([]float64, len(x))
		for i := range x {
			y[i] = math.Log(values[i][round])
		}
		_, slopes[round] = statistics.LinearRegression(x, y, nil, false)
	}
	return slopes
}

func testsOf(parts []part) (tests []stats.RangeTest) {
	for _, p := range parts {
		tests = append(tests, p.test)
	}
	return tests
}

func pairsOf(parts []part) []metrics.ClaimPair {
	pairs := make([]metrics.ClaimPair, len(parts))
	for i, p := range parts {
		pairs[i] = p.pair
	}
	return pairs
}

// valuesOf returns the measures of a claim's points.
func valuesOf(c metrics.Claim, values [][]float64) []metrics.ClaimValue {
	all := make([]metrics.ClaimValue, len(c.Points))
	for i, name := range c.Points {
		all[i].Point = name
		c := stats.Compare(nil, values[i], stats.Paired)
		if len(values[i]) > 0 {
			all[i].Value = c.Ratio()
		}
		all[i].Low, all[i].High = c.RatioInterval(0.95)
	}
	return all
}
