package chart

import (
	"fmt"
	"math"
	"regexp"

	"gonum.org/v1/plot/plotter"

	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/plots/figure"
	"kvlab/plots/folder"
)

// claimFigures returns the figures of a study: one for each claim whose points have values.
func claimFigures(s *folder.Sweep) (figures []figure.Figure) {
	for _, r := range s.Claims {
		if ClaimName(r) != "" {
			figures = append(figures, claimFigure(r))
		}
	}
	return figures
}

// unsafe matches characters that the name of a file does not have.
var unsafe = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// ClaimName returns the name of a claim's figure; "" if it has none, because its points have no
// values.
func ClaimName(r metrics.ClaimResult) string {
	if len(r.Values) == 0 || r.Rounds == 0 {
		return ""
	}
	return unsafe.ReplaceAllString("claim_"+r.Claim.Study+"_"+r.Claim.Name, "-")
}

// claimFigure shows the measure of a claim's points, with its intervals, before what the
// claim allows.
func claimFigure(r metrics.ClaimResult) figure.Figure {
	mean, allowed := figure.Stroke(figure.Cool[0], 2), figure.Stroke(figure.Busy, 44)
	p := figure.NewPanel("", r.Claim.Measure)
	var names []string
	for _, v := range r.Values {
		names = append(names, v.Point)
	}
	x := figure.NewAxis(names, func(string) float64 { return math.Inf(1) }, false)
	p.Y.Min, p.Y.Max = claimRange(r)
	var intervals []figure.Interval
	var means plotter.XYs
	var labels []figure.Label
	for i, v := range r.Values {
		at := plotter.XY{X: x.Places[i], Y: v.Value}
		means, labels = append(means, at), append(labels, figure.Label{At: at, Words: format.Count(v.Value)})
		if low, high := allows(r, i); high > low {
			p.Line(allowed, plotter.XYs{{X: at.X, Y: max(low, p.Y.Min)}, {X: at.X, Y: min(high, p.Y.Max)}})
		}
		if v.High > 0 {
			intervals = append(intervals, figure.Interval{XY: at, Low: v.Low, High: v.High})
		}
	}
	p.Intervals(mean, intervals)
	p.Glyphs(figure.Box(mean), means)
	p.Labels(figure.Cool[0], labels)
	p.Tooltip("", means, func(i int) string { return valueText(r.Values[i]) + " " + r.Claim.Measure })
	low, high := p.Y.Min, p.Y.Max // what was added has widened the axes
	x.Apply(p, "point", format.Label)
	p.Y.Min, p.Y.Max = low, high
	p.Y.Tick.Marker = figure.Ticks(format.Count)
	return figure.Figure{Name: ClaimName(r), Title: fmt.Sprintf("%s: %s", r.Outcome, r.Claim.Text), Subtitle: r.Reason, Panels: []*figure.Panel{p}, Legend: []figure.Group{{Entries: []figure.Entry{
		{Name: "mean of the valid trials, with its 95 % interval", Brief: "mean, 95 % interval", Line: mean, Glyph: figure.Box(mean)},
		{Name: "allowed by the claim: " + r.Claim.Condition(), Brief: "claimed", Line: figure.Stroke(figure.Busy, 9)},
	}}}}
}

// valueText returns a measure with its interval, if it has one.
func valueText(v metrics.ClaimValue) string {
	if v.High == 0 {
		return format.Count(v.Value)
	}
	return fmt.Sprintf("%s [%s, %s]", format.Count(v.Value), format.Count(v.Low), format.Count(v.High))
}

// claimRange returns the range of the y axis: from 0, or from below all values if they are near
// to each other.
func claimRange(r metrics.ClaimResult) (low, high float64) {
	low = math.Inf(1)
	for i, v := range r.Values {
		low, high = min(low, v.Value), max(high, v.Value, v.High)
		if v.High > 0 {
			low = min(low, v.Low)
		}
		least, most := allows(r, i)
		if most > least {
			if least > 0 {
				low, high = min(low, least), max(high, least)
			}
			if !math.IsInf(most, 1) {
				low, high = min(low, most), max(high, most)
			}
		}
	}
	if low < high/2 {
		return 0, figure.Top(high)
	}
	room := max(0.2*(high-low), 0.01*high)
	return low - room, high + room
}

// allows returns the range in which a claim has the i-th of its points, from the values of the
// points before it; an empty one if it says nothing of the point.
func allows(r metrics.ClaimResult, i int) (low, high float64) {
	c, first, before := r.Claim, r.Values[0].Value, r.Values[max(0, i-1)].Value
	if len(r.Values) == 1 {
		first = 1
	} else if i == 0 {
		return 0, 0
	}
	switch c.Kind {
	case metrics.ClaimRatio:
		return first * c.Value * (1 - c.Tolerance), first * c.Value * (1 + c.Tolerance)
	case metrics.ClaimAtLeast:
		return first * c.Value, math.Inf(1)
	case metrics.ClaimAtMost:
		return 0, first * c.Value
	case metrics.ClaimOrder:
		return before, math.Inf(1)
	case metrics.ClaimPeak:
		return 0, first / (1 - c.Tolerance)
	case metrics.ClaimLinear:
		ideal := first * c.Sizes[i] / c.Sizes[0]
		return ideal * (1 - c.Tolerance), ideal * (1 + c.Tolerance)
	case metrics.ClaimSame:
		return before / (1 + c.Tolerance), before * (1 + c.Tolerance)
	}
	return 0, 0
}
