package chart

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/plotter"

	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/metrics/stats"
	"kvlab/plots/figure"
	"kvlab/plots/folder"
)

// Line is throughput along one knob, with all the others fixed.
type Line struct {
	Name   string        // the other knobs' values, as in "batch 8192"; "" for none
	Points []PointOnLine // in the order of their places on the axis
	Law    *stats.USL    // nil when it was not fitted
	NoLaw  string        // why not; "" if no law is expected
}

// PointOnLine is a point of a line.
type PointOnLine struct {
	folder.Point
	Value    string // of the line's knob
	Place    float64
	Estimate stats.Estimate // of a point that is OK; its Coverage is 0 without an interval
	Ideal    float64        // ops/s if throughput grew in proportion from the smallest; 0 if the knob does not grow it
	Step     float64        // the gain over the point before, over that of the knob; 0 unknown
	Limit    float64        // ops/s that the links allow; 0 unknown
}

// Efficiency returns the median's share of the ideal; 0 unknown.
func (p PointOnLine) Efficiency() float64 {
	if p.Ideal == 0 {
		return 0
	}
	return p.Estimate.Median / p.Ideal
}

// LinesOf returns the sweep's points along a knob, one line for each combination
// of the other knobs' values.
func LinesOf(s *folder.Sweep, along int, x figure.Axis) []Line {
	var all []Line
	for _, group := range groupsOf(s, along) {
		line := Line{Name: group.name}
		for _, point := range group.points {
			value := s.Knobs[along].Label(point.Values[along])
			line.Points = append(line.Points, onLine(point, value, x.Place(value)))
		}
		slices.SortStableFunc(line.Points, func(a, b PointOnLine) int { return cmp.Compare(a.Place, b.Place) })
		if x.Grows {
			line.compareWithIdeal()
			line.fit(s.Seed)
		}
		all = append(all, line)
	}
	return all
}

// group is the points of a sweep that differ in one knob alone.
type group struct {
	name   string // the other knobs' values, as in "batch 8192"; "" for none
	points []folder.Point
}

// groupsOf returns the groups of a sweep's points that differ in a knob alone; -1 for
// no knob.
func groupsOf(s *folder.Sweep, along int) (all []group) {
	for _, point := range s.Points {
		var words []string
		for i, knob := range s.Knobs {
			if i != along && len(knob.Values) > 1 {
				words = append(words, knob.Name+" "+knob.Label(point.Values[i]))
			}
		}
		name := strings.Join(words, ", ")
		i := slices.IndexFunc(all, func(g group) bool { return g.name == name })
		if i < 0 {
			i = len(all)
			all = append(all, group{name: name})
		}
		all[i].points = append(all[i].points, point)
	}
	return all
}

// PointsOf returns a sweep's points by their names, on no line.
func PointsOf(s *folder.Sweep) (all []PointOnLine) {
	for _, point := range s.Points {
		all = append(all, onLine(point, metrics.PointName(s.Knobs, point.Values), 0))
	}
	return all
}

// onLine returns a sweep's point at a place of a line.
func onLine(point folder.Point, value string, place float64) PointOnLine {
	p := PointOnLine{Point: point, Value: value, Place: place, Limit: WireLimit(point)}
	if point.OK() {
		p.Estimate, _ = point.Estimate()
	}
	return p
}

// compareWithIdeal fills in Ideal and Step, from the first point with a result.
func (l *Line) compareWithIdeal() {
	var least, before *PointOnLine
	for i := range l.Points {
		point := &l.Points[i]
		if point.Estimate.N == 0 {
			continue
		}
		if least == nil {
			least = point
		}
		point.Ideal = least.Estimate.Median / least.Place * point.Place
		if before != nil && before.Estimate.Median > 0 {
			point.Step = point.Estimate.Median / before.Estimate.Median / (point.Place / before.Place)
		}
		before = point
	}
}

// fit looks for the Universal Scalability Law in the trials of the points with a
// result.
func (l *Line) fit(seed uint64) {
	var n, x []float64
	for _, dot := range l.dots() {
		n, x = append(n, dot.X), append(x, dot.Y)
	}
	law, err := stats.FitUSL(n, x, seed)
	if err != nil {
		l.NoLaw = err.Error()
		return
	}
	l.Law = &law
}

// measured returns the points with a result.
func (l Line) measured() []PointOnLine {
	return slices.DeleteFunc(slices.Clone(l.Points), func(p PointOnLine) bool { return p.Estimate.N == 0 })
}

// Standing returns what the line's trials with a result are: "valid", "CLAIMED", or both.
func (l Line) Standing() string {
	var all []metrics.Trial
	for _, p := range l.Points {
		all = append(all, p.Valid...)
	}
	return metrics.ResultWord(all)
}

// dots returns the rates of the valid trials of the points with a result.
func (l Line) dots() (all plotter.XYs) {
	for _, point := range l.measured() {
		for _, rate := range point.Rates() {
			all = append(all, plotter.XY{X: point.Place, Y: rate})
		}
	}
	return all
}

// Best returns the point with the highest median, and false if no point has one.
func Best(points []PointOnLine) (best PointOnLine, ok bool) {
	for _, point := range points {
		if point.Estimate.N > 0 && (best.Estimate.N == 0 || point.Estimate.Median > best.Estimate.Median) {
			best = point
		}
	}
	return best, best.Estimate.N > 0
}

// text returns the point in a tooltip.
func (p PointOnLine) text() string {
	text := "no result"
	if p.Estimate.N > 0 {
		text = p.Estimate.String() + " ops/s"
		if p.Ideal > 0 {
			text += fmt.Sprintf(", %.1f %% of the ideal", 100*p.Efficiency())
		}
	}
	if n := len(p.Failed); n > 0 {
		text += fmt.Sprintf(", %d failed", n)
	}
	return text
}

// DescribeLaw returns the law's parameters with their intervals, and where it peaks.
func DescribeLaw(u stats.USL, knob string) string {
	bounded := func(b stats.Bounded) string {
		return fmt.Sprintf("%s [%s, %s]", format.Count(b.Value), format.Count(b.Low), format.Count(b.High))
	}
	peak := fmt.Sprintf("%s [%s, ", format.Tenths(u.Peak.Value), format.Tenths(u.Peak.Low))
	if math.IsInf(u.Peak.High, 1) {
		peak += "no bound)"
	} else {
		peak += format.Tenths(u.Peak.High) + "]"
	}
	return fmt.Sprintf("contention %s, coherency %s, peak of %s ops/s at %s %s",
		bounded(u.Alpha), bounded(u.Beta), format.Count(u.At(u.Peak.Value)), peak, knob)
}

// WireLimit returns the operations per second that the links between a point's nodes
// allow, from the bytes that the median operation of its valid trials took and
// the servers' shares of the first; 0 where the links' rate or the bytes are not
// known, or no link is needed.
func WireLimit(p folder.Point) float64 {
	if p.Run == nil {
		return 0
	}
	var sent, received []float64
	for _, trial := range p.Valid {
		sent, received = append(sent, trial.BytesPerOpSent), append(received, trial.BytesPerOpReceived)
	}
	rate := p.Valid[0].LinkBitsPerS
	if p.Run.Lab != nil {
		rate = p.Run.Lab.LinkBitsPerS
	}
	served, loaded := machineOps(p.Run, metrics.Server), machineOps(p.Run, metrics.Client)
	wire := stats.Wire{
		Goodput:  stats.Goodput(rate, p.Run.Lab != nil),
		Servers:  len(served),
		Clients:  len(loaded),
		Shared:   p.Run.Symmetric,
		ToServer: stats.Median(sent),
		ToClient: stats.Median(received),
		Balance:  stats.Balance(slices.Collect(maps.Values(served))),
	}
	limit := wire.Limit()
	if math.IsInf(limit, 1) || math.IsNaN(limit) {
		return 0
	}
	return limit
}

// machineOps returns the operations in the window of each machine that has a role,
// by its name. All nodes of a machine share its link.
func machineOps(r *folder.Run, role metrics.Role) map[string]uint64 {
	ops := map[string]uint64{}
	for _, node := range r.InRole(role) {
		machine := cmp.Or(node.Machine, node.Name)
		ops[machine] += 0
		if node.Summary != nil {
			ops[machine] += node.Summary.InWindow.Ops()
		}
	}
	return ops
}
