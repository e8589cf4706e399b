package compare

import (
	"fmt"
	"strings"

	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/metrics/stats"
	"kvlab/plots/folder"
)

// Cost is how the processor time that an operation takes compares, on servers or on
// clients, between trials that were made at the same time.
type Cost struct {
	Role  metrics.Role
	Pairs int         // in which both trials are valid and have said what they used
	Ratio stats.Ratio // B over A
	Known bool        // the ratio has an interval
}

// compareCosts fills in what trials at the same time tell apart. Operations per second
// are not it: each side has as many as the other leaves it.
func (c *Comparison) compareCosts(trials []metrics.Trial, runs []*folder.Run) {
	for _, role := range []metrics.Role{metrics.Server, metrics.Client} {
		a, b := pairs(trials, func(i int) float64 { return runs[i].CPUPerOp(role) })
		cost := Cost{Role: role, Pairs: len(a)}
		if len(a) > 0 {
			cost.Ratio, cost.Known = stats.RatioOf(a, b, true, stats.TogetherConfidence)
		}
		c.Costs = append(c.Costs, cost)
	}
}

// costs says whether an operation costs more or less with B, if that can be told, in a
// line for each role.
func (c Comparison) costs() string {
	lines := []string{"trials at the same time on the same nodes: each had the operations per second that the other left it; what an operation costs tells them apart"}
	for _, cost := range c.Costs {
		lines = append(lines, cost.String())
	}
	return strings.Join(lines, "\n")
}

// String is the cost for people, the answer last.
func (c Cost) String() string {
	what := fmt.Sprintf("processor time per operation, %ss", c.Role)
	switch {
	case c.Pairs == 0:
		return what + ": cannot tell: no pair of trials says what it used"
	case !c.Known:
		return fmt.Sprintf("%s: cannot tell apart: B/A is %.3f, but with %s it has no interval, which needs %d", what, c.Ratio.Value, format.Plural(c.Pairs, "pair"), stats.RatioTrials)
	}
	text := fmt.Sprintf("%s: B/A is %.3f, %g %% interval %.3f to %.3f (the mean of %s); %s is the smallest difference that 4 of 5 such comparisons see; ",
		what, c.Ratio.Value, 100*stats.TogetherConfidence, c.Ratio.Low, c.Ratio.High, format.Plural(c.Pairs, "pair"), c.Ratio.SmallestPercent())
	switch {
	case c.Ratio.Low > 1:
		return text + fmt.Sprintf("B costs more, by %.1f to %.1f %%", 100*(c.Ratio.Low-1), 100*(c.Ratio.High-1))
	case c.Ratio.High < 1:
		return text + fmt.Sprintf("B costs less, by %.1f to %.1f %%", 100*(1-c.Ratio.High), 100*(1-c.Ratio.Low))
	}
	return text + "cannot tell apart: the interval holds 1"
}
