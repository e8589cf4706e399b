package experiment

import (
	"slices"

	"kvlab/metrics"
)

// Pairs compares two variants. Each pair of trials has both.
type Pairs struct {
	Sweep
	// Compare returns the comparison: what it found, from what, and every figure. The
	// trials' records are complete.
	Compare func() (headline, basis, full string, err error)
}

// PairsOf returns the comparison of a plan's variants.
func PairsOf(plan metrics.Sweep, compare func() (headline, basis, full string, err error)) Pairs {
	return Pairs{Sweep{Plan: plan, Spec: func(point []string) Spec {
		return Spec{Args: plan.Variants[slices.Index(metrics.VariantNames, point[0])].Args, Where: "--ab, variant " + point[0]}
	}}, compare}
}

// Conclude returns the variants' results, with the comparison as the headline, and the verdict
// on all trials.
func (p Pairs) Conclude(done []metrics.Trial, err error) Conclusion {
	end := p.Sweep.Conclude(done, err)
	if err != nil {
		return end
	}
	headline, basis, full, err := p.Compare()
	if err != nil {
		headline, basis, full = "no comparison: "+err.Error(), "", ""
	}
	if end.Full += full; end.Answer.Good {
		end.Answer.Headline, end.Answer.Basis = headline, basis
	}
	return end
}
