package plots

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"

	"gonum.org/v1/plot/plotter"

	"kvlab/metrics"
	"kvlab/metrics/format"
)

// Reading is what a figure says at one place of its x axis, to whoever points at
// it: a head and some rows.
type Reading struct {
	At   float64 // on the panels' x axis
	Head string
	Rows []string
}

// readable is the lines of one panel by name, with how their values are written.
type readable struct {
	total  plotter.XYs // of all together; nil for none
	series []Series
	what   string // before each name, "" for nothing
	write  func(float64) string
}

// The measures of readings: places along an axis, and names beyond which only the
// highest and the lowest are named.
const (
	maxReadings = 200
	maxNames    = 8
)

// timeReadings are what panels over time say, at places all along the axis.
func timeReadings(r *Run, panels ...readable) []Reading {
	start, end := workSpan(r)
	start = math.Floor(start)
	step := max(1, math.Ceil((end-start)/maxReadings))
	phases := Phases(r)
	var all []Reading
	for at := start + step/2; at < end+step/2; at += step {
		reading := Reading{At: at, Head: tenths(at) + " s" + phaseAt(phases, at)}
		for _, panel := range panels {
			reading.Rows = append(reading.Rows, panel.rows(at, step)...)
		}
		if len(reading.Rows) > 0 {
			all = append(all, reading)
		}
	}
	return all
}

// phaseAt is the name of what the run was in, after a comma.
func phaseAt(phases map[metrics.Phase]Span, at float64) string {
	for phase, name := range phaseNames {
		if span, ok := phases[phase]; ok && at >= span.Start && at < span.End {
			return ", " + name
		}
	}
	return ""
}

// rows are the panel's values next to a place and within reach of it.
func (p readable) rows(at, reach float64) (rows []string) {
	row := func(name string, y float64) string { return label(p.what+name, 40) + ": " + p.write(y) }
	if y, ok := nearest(p.total, at, reach); ok {
		rows = append(rows, row("all clients", y))
	}
	type value struct {
		name string
		y    float64
	}
	var values []value
	for _, s := range p.series {
		if y, ok := nearest(s.Points, at, reach); ok {
			values = append(values, value{s.Node, y})
		}
	}
	if len(values) > maxNames {
		slices.SortStableFunc(values, func(a, b value) int { return -cmp.Compare(a.y, b.y) })
		last := len(values) - 1
		return append(rows, row("highest, "+values[0].name, values[0].y), row("lowest, "+values[last].name, values[last].y))
	}
	for _, v := range values {
		rows = append(rows, row(v.name, v.y))
	}
	return rows
}

// nearest is the value of the point nearest to a place, if one is within reach.
// Points are in the order of X.
func nearest(points plotter.XYs, at, reach float64) (y float64, ok bool) {
	i := sort.Search(len(points), func(i int) bool { return points[i].X >= at })
	if i == len(points) || i > 0 && at-points[i-1].X < points[i].X-at {
		i--
	}
	if i < 0 || math.Abs(points[i].X-at) > reach {
		return 0, false
	}
	return points[i].Y, true
}

// latencyReadings are what curves of latency by percentile say.
func latencyReadings(names []string, curves []plotter.XYs) []Reading {
	if len(curves) == 0 {
		return nil
	}
	const each = 5 // points of a curve
	var all []Reading
	for i := 0; i < len(curves[0]); i += each {
		at := curves[0][i].X
		reading := Reading{At: at, Head: percentile(at)}
		for k, curve := range curves {
			reading.Rows = append(reading.Rows, fmt.Sprintf("%s: %s ms", names[k], milliseconds(curve[min(i, len(curve)-1)].Y*microsPerMs)))
		}
		all = append(all, reading)
	}
	return all
}

// percentile names a place on a latency figure's x axis: "p99.5".
func percentile(nines float64) string {
	digits := max(1, int(nines)-1)
	return fmt.Sprintf("p%.*f", digits, 100*(1-math.Pow(10, -nines)))
}

// spotReadings are what lines along a knob say at each of its values.
func spotReadings(all []Line, knob string) []Reading {
	place := map[float64]int{}
	var readings []Reading
	for _, line := range all {
		for _, spot := range line.Spots {
			i, seen := place[spot.Place]
			if !seen {
				i = len(readings)
				place[spot.Place] = i
				readings = append(readings, Reading{At: spot.Place, Head: label(knob+" "+spot.Value, 60)})
			}
			readings[i].Rows = append(readings[i].Rows, spot.reading(line.Name))
		}
	}
	slices.SortFunc(readings, func(a, b Reading) int { return cmp.Compare(a.At, b.At) })
	return readings
}

// reading is the spot in a row.
func (s Spot) reading(line string) string {
	row := "no result"
	if s.Estimate.N > 0 {
		row = s.Estimate.String() + " ops/s"
	}
	if line != "" {
		row = label(line, 40) + ": " + row
	}
	if s.Ideal > 0 && s.Estimate.N > 0 {
		row += ", " + percent(s.Efficiency()) + " of the ideal"
	}
	if n := len(s.Failed); n > 0 {
		row += fmt.Sprintf(", %d failed", n)
	}
	return row
}

// trialReadings are what the trials came to, in their order.
func trialReadings(trials []metrics.Trial) []Reading {
	var all []Reading
	for _, trial := range trials {
		reading := Reading{At: float64(trial.Number), Head: fmt.Sprintf("trial %d", trial.Number)}
		if !trial.Verdict.Valid {
			reading.Rows = []string{label(trial.Verdict.String(), 120)}
		} else {
			reading.Rows = []string{format.Count(trial.OpsPerS) + " ops/s"}
		}
		if trial.Verdict.Valid && trial.P99 != nil {
			reading.Rows = append(reading.Rows, "p99 of a call: "+milliseconds(*trial.P99)+" ms")
		}
		all = append(all, reading)
	}
	return all
}
