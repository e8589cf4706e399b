package plots

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"kvlab/metrics"
	"kvlab/metrics/format"
)

// Line is throughput along one knob, with all the others fixed.
type Line struct {
	Name  string // of what is fixed, as in "batch 8192"; "" when nothing is
	Spots []Spot // in the order of their places on the axis
	Law   *USL   // nil when it was not fitted
	NoLaw string // why not; "" where no law is looked for
}

// Spot is one point of a line.
type Spot struct {
	Point
	Value    string // of the line's knob
	Place    float64
	Estimate metrics.Estimate // of a point that is OK; its Coverage is 0 without an interval
	Ideal    float64          // ops/s if throughput grew in proportion from the smallest; 0 where there is no such hope
	Step     float64          // the gain over the spot before, over that of the knob; 0 unknown
	Limit    float64          // ops/s that the links allow; 0 unknown
}

// Efficiency is the median's share of the ideal; 0 unknown.
func (s Spot) Efficiency() float64 {
	if s.Ideal == 0 {
		return 0
	}
	return s.Estimate.Median / s.Ideal
}

// lines are the sweep's points along a knob, one line for each combination of
// the other knobs' values.
func lines(s *Sweep, along int, x axis) []Line {
	var all []Line
	place := map[string]int{}
	for _, point := range s.Points {
		name := fixedName(s.Knobs, point.Values, along)
		i, seen := place[name]
		if !seen {
			i = len(all)
			place[name] = i
			all = append(all, Line{Name: name})
		}
		spot := Spot{Point: point, Value: point.Values[along], Place: x.place(point.Values[along]), Limit: wireLimit(point)}
		if point.OK() {
			spot.Estimate, _ = point.Estimate()
		}
		all[i].Spots = append(all[i].Spots, spot)
	}
	for i := range all {
		slices.SortStableFunc(all[i].Spots, func(a, b Spot) int { return cmp.Compare(a.Place, b.Place) })
		if x.grows {
			all[i].compareWithIdeal()
			all[i].fit(s.Seed)
		}
	}
	return all
}

// fixedName is the values of all knobs but one, for people.
func fixedName(knobs []metrics.Knob, values []string, but int) string {
	var words []string
	for i, knob := range knobs {
		if i != but && len(knob.Values) > 1 {
			words = append(words, knob.Name+" "+values[i])
		}
	}
	return strings.Join(words, ", ")
}

// compareWithIdeal fills in Ideal and Step, from the first spot with a result.
func (l *Line) compareWithIdeal() {
	var least, before *Spot
	for i := range l.Spots {
		spot := &l.Spots[i]
		if spot.Estimate.N == 0 {
			continue
		}
		if least == nil {
			least = spot
		}
		spot.Ideal = least.Estimate.Median / least.Place * spot.Place
		if before != nil && before.Estimate.Median > 0 {
			spot.Step = spot.Estimate.Median / before.Estimate.Median / (spot.Place / before.Place)
		}
		before = spot
	}
}

// fit looks for the Universal Scalability Law in the trials of the spots with a
// result.
func (l *Line) fit(seed uint64) {
	var n, x []float64
	for _, spot := range l.Spots {
		if spot.Estimate.N == 0 {
			continue
		}
		for _, rate := range spot.Rates() {
			n, x = append(n, spot.Place), append(x, rate)
		}
	}
	law, err := FitUSL(n, x, seed)
	if err != nil {
		l.NoLaw = err.Error()
		return
	}
	l.Law = &law
}

// best is the spot with the highest median, and false when no spot has one.
func best(spots []Spot) (Spot, bool) {
	var best Spot
	for _, spot := range spots {
		if spot.Estimate.N > 0 && (best.Estimate.N == 0 || spot.Estimate.Median > best.Estimate.Median) {
			best = spot
		}
	}
	return best, best.Estimate.N > 0
}

// describe is the law's parameters with their intervals, and where it peaks.
func (u USL) describe(knob string) string {
	bounded := func(b Bounded) string {
		return fmt.Sprintf("%s [%s, %s]", format.Count(b.Value), format.Count(b.Low), format.Count(b.High))
	}
	peak := fmt.Sprintf("%s [%s, ", tenths(u.Peak.Value), tenths(u.Peak.Low))
	if math.IsInf(u.Peak.High, 1) {
		peak += "no bound)"
	} else {
		peak += tenths(u.Peak.High) + "]"
	}
	return fmt.Sprintf("contention %s, coherency %s, peak of %s ops/s at %s %s",
		bounded(u.Alpha), bounded(u.Beta), format.Count(u.At(u.Peak.Value)), peak, knob)
}
