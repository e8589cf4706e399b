package compare

import (
	"cmp"
	"fmt"
	"strings"

	"kvlab/metrics"
	"kvlab/metrics/curve"
	"kvlab/metrics/format"
	"kvlab/metrics/stats"
	"kvlab/plots/folder"
)

// Figure is a figure that a folder's result consists of, and by which a rerun of it is
// compared.
type Figure struct {
	Name  string  `json:"name"`           // such as "ops/s", "ops/s at batch=64", "B/A", "knee", or a claim
	Text  string  `json:"text"`           // its value, with a 95 % interval where there is one
	Says  string  `json:"says,omitempty"` // the sentence of a claim
	Unit  string  `json:"unit,omitempty"` // of the next three; "" of a ratio
	Value float64 `json:"value,omitzero"` // absent without one, as is an interval
	Low   float64 `json:"low,omitzero"`   // of the interval, at least of 95 % unless Text says otherwise
	High  float64 `json:"high,omitzero"`

	values  []float64       // of the valid trials or pairs
	outcome metrics.Outcome // of a claim
}

// Figures returns the figures of the folder of a run, a sweep, a curve, a comparison, a study
// or a class. An error says that it cannot be read.
func Figures(dir string) ([]Figure, error) {
	if !folder.IsSweep(dir) {
		run, err := folder.Load(dir)
		if err != nil {
			return nil, err
		}
		var rates []float64
		if run.Verdict.Stands() {
			rates = []float64{run.OpsPerS}
		}
		return []Figure{median("ops/s", "ops/s", rates)}, nil
	}
	s, err := folder.LoadSweep(dir)
	switch {
	case err != nil:
		return nil, err
	case s.Study != nil:
		return claims(s), nil
	case s.Class != nil:
		return standings(s), nil
	case len(s.Variants) > 0:
		return variants(dir)
	case curve.Is(s.Sweep):
		return ofCurve(s), nil
	}
	var all []Figure
	for _, p := range s.Points {
		name := "ops/s"
		if point := metrics.PointName(s.Knobs, p.Values); point != "" {
			name += " at " + point
		}
		if !p.OK() {
			p.Valid = nil // the rest is a selection
		}
		all = append(all, median(name, "ops/s", p.Rates()))
	}
	return all, nil
}

// median returns the figure of the values of valid trials.
func median(name, unit string, values []float64) Figure {
	e, _ := stats.MedianInterval(values, 0.95)
	return Figure{Name: name, Text: e.String(), Unit: unit, Value: e.Median, Low: e.Low, High: e.High, values: values}
}

// Measured returns the figures of a folder, and then the latencies of its points, by which no
// rerun is compared.
func Measured(dir string) ([]Figure, error) {
	all, err := Figures(dir)
	if err != nil {
		return nil, err
	}
	if !folder.IsSweep(dir) {
		r, err := folder.LoadResult(dir)
		if err != nil || !r.Verdict.Stands() {
			return all, err
		}
		return append(all, latencyFigures("", []metrics.Trial{metrics.TrialOf(metrics.PlannedTrial{}, "", r.Run)})...), nil
	}
	s, err := folder.LoadSweep(dir)
	if err != nil || s.Study != nil || s.Class != nil {
		return all, err
	}
	for _, p := range s.Points {
		if p.OK() {
			all = append(all, latencyFigures(metrics.PointName(s.Knobs, p.Values), p.Valid)...)
		}
	}
	return all, nil
}

// latencyFigures returns the medians of the latencies of a point's trials, as far as all have them.
func latencyFigures(point string, trials []metrics.Trial) (all []Figure) {
	for i, name := range []string{"call p50", "call p99", "op p50", "op p99"} {
		var values []float64
		for _, t := range trials {
			if us := []*float64{t.P50, t.P99, t.OpP50, t.OpP99}[i]; us != nil {
				values = append(values, *us/1000)
			}
		}
		if len(values) == len(trials) {
			all = append(all, median(strings.Join(format.NonEmpty(name, point), " at "), "ms", values))
		}
	}
	return all
}

// claims returns the outcomes of a study.
func claims(s *folder.Sweep) (all []Figure) {
	for _, r := range s.Claims {
		all = append(all, Figure{Name: r.Claim.Study + "/" + r.Claim.Name, Text: string(r.Outcome), Says: r.Claim.Text, outcome: r.Outcome})
	}
	return all
}

// standings returns the ratios of a class's entries to the reference.
func standings(s *folder.Sweep) (all []Figure) {
	for _, e := range s.Standings.Entries {
		text := e.Verdict.String()
		if e.Verdict.Stands() {
			text = fmt.Sprintf("rank %d, %.3f of the reference [%.3f, %.3f]", e.Rank, e.Ratio, e.RatioLow, e.RatioHigh)
		}
		all = append(all, Figure{Name: e.Entry, Text: text, Value: e.Ratio, Low: e.RatioLow, High: e.RatioHigh})
	}
	return all
}

// variants returns the ratios of a comparison, with the ratio of each pair.
func variants(dir string) ([]Figure, error) {
	c, err := Variants(dir)
	return c.Figures(), err
}

// Figures returns the ratios of a comparison.
func (c Comparison) Figures() (all []Figure) {
	for _, r := range c.Results {
		if r.A == 0 {
			continue
		}
		of := format.Plural(r.A, "pair")
		if !r.Paired {
			of = fmt.Sprintf("%d and %d trials", r.A, r.B)
		}
		f := Figure{Name: "B/A", Text: fmt.Sprintf("%.3f (%s, no interval)", r.Ratio(), of), Value: r.Ratio(), values: r.ratios}
		if r.CostOf != "" {
			f.Name = fmt.Sprintf("B/A of the processor time per operation, %ss", r.CostOf)
		}
		if r.Known {
			f.Low, f.High = r.RatioInterval(r.confidence)
			f.Text = fmt.Sprintf("%.3f [%.3f, %.3f] (%g %% interval of %s)", r.Ratio(), f.Low, f.High, 100*r.confidence, of)
		}
		all = append(all, f)
	}
	return all
}

// ofCurve returns the peak, the throughput at the knee, and the rate that keeps the objective.
func ofCurve(s *folder.Sweep) (all []Figure) {
	var points []metrics.Point
	for _, p := range s.Points {
		if points = append(points, p.Point); p.Values[0] == curve.Peak {
			all = append(all, median("peak, ops/s", "ops/s", p.Rates()))
		}
	}
	c := curve.Of(s.Sweep, points)
	if knee := c.Knee(); knee >= 0 {
		all = append(all, median("knee, ops/s", "ops/s", c.Points[knee].Rates()))
	}
	if c.Objective != (curve.Objective{}) {
		r := c.Rate()
		f := Figure{Name: "highest ops/s with " + c.Objective.String(), Text: "no rate", Unit: "ops/s", Value: cmp.Or(r.OpsPerS, r.Low), Low: r.Low, High: r.High}
		if f.Value > 0 {
			f.Text = fmt.Sprintf("%s [%s, %s] (95 %% interval)", format.Count(f.Value), format.Count(f.Low), format.Count(f.High))
		}
		all = append(all, f)
	}
	return all
}
