package compare

import (
	"fmt"

	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/metrics/stats"
)

// Result is how one quantity of B compares with that of A.
type Result struct {
	CostOf     metrics.Role // the quantity is the processor time per operation of this role; "": operations per second
	Ratio      stats.Ratio  // B over A
	Known      bool         // the ratio has an interval
	Paired     bool
	A, B       int // values; equal numbers if they are paired
	confidence float64
}

// resultOf compares the values of A and B.
func resultOf(a, b []float64, paired bool, confidence float64) Result {
	r := Result{Paired: paired, A: len(a), B: len(b), confidence: confidence}
	if len(a) > 0 {
		r.Ratio, r.Known = stats.RatioOf(a, b, paired, confidence)
	}
	return r
}

// String says whether B is better or worse than A, or that they cannot be told apart.
func (r Result) String() string {
	what, more, less, next := "", "B is faster", "B is slower", "\n"
	if r.CostOf != "" {
		what, more, less, next = fmt.Sprintf("processor time per operation, %ss: ", r.CostOf), "B costs more", "B costs less", "; "
	}
	switch {
	case r.A == 0:
		return what + "cannot tell: no pair of trials says what it used"
	case !r.Known && r.Paired:
		return what + fmt.Sprintf("cannot tell apart: B/A is %.3f, but with %s it has no interval, which needs %d",
			r.Ratio.Value, format.Plural(r.A, "pair"), stats.RatioTrials)
	case !r.Known:
		return what + fmt.Sprintf("cannot tell apart: B/A is %.3f, but with %d and %d trials it has no interval, which needs %d of each",
			r.Ratio.Value, r.A, r.B, stats.RatioTrials)
	}
	text := what + fmt.Sprintf("B/A is %.3f, %g %% interval %.3f to %.3f", r.Ratio.Value, 100*r.confidence, r.Ratio.Low, r.Ratio.High)
	if r.Paired {
		text += " (the mean of " + format.Plural(r.A, "pair") + ")"
	}
	text += "; " + r.Ratio.SmallestPercent() + " is the smallest difference that 4 of 5 such comparisons see" + next
	switch {
	case r.Ratio.Low > 1:
		return text + fmt.Sprintf("%s, by %.1f to %.1f %%", more, 100*(r.Ratio.Low-1), 100*(r.Ratio.High-1))
	case r.Ratio.High < 1:
		return text + fmt.Sprintf("%s, by %.1f to %.1f %%", less, 100*(1-r.Ratio.High), 100*(1-r.Ratio.Low))
	}
	return text + "cannot tell apart: the interval holds 1"
}
