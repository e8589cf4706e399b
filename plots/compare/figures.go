package compare

import (
	"cmp"
	"fmt"

	"kvlab/metrics"
	"kvlab/metrics/curve"
	"kvlab/metrics/format"
	"kvlab/metrics/stats"
	"kvlab/plots/folder"
)

// Figure is a figure that a folder's result consists of, and by which a rerun of it is
// compared.
type Figure struct {
	Name string // such as "ops/s", "ops/s at batch=64", "B/A", "knee", or a claim
	Text string // its value, with a 95 % interval where there is one
	Says string // the sentence of a claim

	values    []float64       // of the valid trials or pairs
	low, high float64         // of a figure without values: its 95 % interval
	outcome   metrics.Outcome // of a claim
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
		if run.Verdict.Valid {
			rates = []float64{run.OpsPerS}
		}
		return []Figure{throughput("ops/s", rates)}, nil
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
		all = append(all, throughput(name, p.Rates()))
	}
	return all, nil
}

// throughput returns the figure of the rates of valid trials.
func throughput(name string, rates []float64) Figure {
	e, _ := stats.MedianInterval(rates, 0.95)
	return Figure{Name: name, Text: e.String(), values: rates}
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
		if e.Verdict.Valid {
			text = fmt.Sprintf("rank %d, %.3f of the reference [%.3f, %.3f]", e.Rank, e.Ratio, e.RatioLow, e.RatioHigh)
		}
		all = append(all, Figure{Name: e.Entry, Text: text, low: e.RatioLow, high: e.RatioHigh})
	}
	return all
}

// variants returns the ratios of a comparison, with the ratio of each pair.
func variants(dir string) (all []Figure, err error) {
	c, err := Variants(dir)
	if err != nil {
		return nil, err
	}
	for _, r := range c.Results {
		f := Figure{Name: "B/A", Text: fmt.Sprintf("%.3f (%s, no interval)", r.Ratio(), format.Plural(r.A, "pair")), values: r.ratios}
		if r.CostOf != "" {
			f.Name = fmt.Sprintf("B/A of the processor time per operation, %ss", r.CostOf)
		}
		if low, high := r.RatioInterval(r.confidence); r.Known {
			f.Text = fmt.Sprintf("%.3f [%.3f, %.3f] (%g %% interval of %s)", r.Ratio(), low, high, 100*r.confidence, format.Plural(r.A, "pair"))
		}
		all = append(all, f)
	}
	return all, nil
}

// ofCurve returns the peak, the throughput at the knee, and the rate that keeps the objective.
func ofCurve(s *folder.Sweep) (all []Figure) {
	var points []metrics.Point
	for _, p := range s.Points {
		if points = append(points, p.Point); p.Values[0] == curve.Peak {
			all = append(all, throughput("peak, ops/s", p.Rates()))
		}
	}
	c := curve.Of(s.Sweep, points)
	if knee := c.Knee(); knee >= 0 {
		all = append(all, throughput("knee, ops/s", c.Points[knee].Rates()))
	}
	if c.Objective != (curve.Objective{}) {
		r := c.Rate()
		f := Figure{Name: "highest ops/s with " + c.Objective.String(), Text: "no rate", low: r.Low, high: r.High}
		if value := cmp.Or(r.OpsPerS, r.Low); value > 0 {
			f.Text = fmt.Sprintf("%s [%s, %s] (95 %% interval)", format.Count(value), format.Count(r.Low), format.Count(r.High))
		}
		all = append(all, f)
	}
	return all
}
