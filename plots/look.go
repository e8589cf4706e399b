package plots

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"kvlab/metrics"
	"kvlab/metrics/curve"
	"kvlab/metrics/format"
	"kvlab/metrics/latency"
	"kvlab/plots/chart"
	"kvlab/plots/figure"
	"kvlab/plots/folder"
)

// Look is how figures are drawn and written. The zero Look is a screen's.
type Look struct {
	figure.Style
	Labels []string // other names of the systems, in their order; none for their own
	Format string   // pdf, svg or png; "" for PNG and PDF
}

// With returns the drawing in another look. On paper it is figures alone, one of them the
// distribution of latencies, and what a screen's figures say of failures is in the notes.
func (d Drawing) With(l Look) (Drawing, error) {
	d.format = l.Format
	if l.Paper {
		d.files, d.failed = nil, nil
		if len(d.figures) == 0 {
			return d, errors.New("the folder has pages and no figures: want a run, a sweep or several of them")
		}
		if d.paper != nil {
			more, notes, err := d.paper()
			if err != nil {
				return d, err
			}
			d.figures, d.Notes = slices.Concat(d.figures, more), slices.Concat(d.Notes, notes)
		}
	}
	d.figures = slices.Clone(d.figures)
	named, wanted := len(l.Labels) == 0, "figures of one system have none"
	for i := range d.figures {
		f := &d.figures[i]
		f.Style = l.Style
		if legend, words := f.Systems(); len(legend)+len(words) > 0 {
			wanted = "want a name for each of " + strings.Join(slices.Concat(legend, words), ", ")
		}
		if len(l.Labels) > 0 {
			named = f.Label(l.Labels) || named
		}
	}
	if !named {
		return d, fmt.Errorf("--labels has %s: %s", format.Plural(len(l.Labels), "name"), wanted)
	}
	return d, nil
}

// paperOfRun returns what a paper has of a run besides its figures.
func paperOfRun(r *folder.Run) (figures []figure.Figure, notes []string, err error) {
	if !r.Verdict.Valid {
		notes = []string{format.Label(fmt.Sprintf("the run is %s: the figures do not say so", r.Verdict), 300)}
	}
	if r.HasLatencies() && r.Offered.Saturated(r.Ops) == "" {
		calls := r.Latencies.Call.TotalCount()
		figures = []figure.Figure{chart.LatencyCDF("latency (ms)", []chart.Latencies{{Name: "operation, from due", Of: r.Latencies.Op, Calls: calls}, {Name: "call, from its send", Of: r.Latencies.Call, Calls: calls}})}
	}
	return figures, notes, nil
}

// mostSystems is how many distributions a column of a paper can tell apart.
const mostSystems = 6

// paperOfSweep returns what a paper has of a sweep besides its figures: the latencies of
// its points, if they are few.
func paperOfSweep(s *folder.Sweep) (figures []figure.Figure, notes []string, err error) {
	few := len(s.Points) <= mostSystems && !curve.Is(s.Sweep)
	var all []chart.Latencies
	open := true // every loop: latencies are from due then, and else of calls
	for _, r := range s.Runs {
		open = open && r.Offered != nil
	}
	for _, point := range s.Points {
		if !few || !point.OK() {
			continue
		}
		l := chart.Latencies{Name: pointName(s, point), Of: latency.NewDistribution(), Several: true}
		for _, trial := range point.Valid {
			r := s.Runs[slices.IndexFunc(s.Trials, func(t metrics.Trial) bool { return t.Number == trial.Number })]
			if r.Latencies == nil {
				if r, err = folder.Load(r.Dir); err != nil {
					return nil, nil, err
				}
			}
			of := r.Latencies.Call
			if open {
				of = r.Latencies.Op
			}
			l.Of.Add(of)
			l.Calls += r.Latencies.Call.TotalCount()
			l.Saturated = l.Saturated || r.Offered.Saturated(r.Ops) != ""
		}
		switch {
		case l.Saturated:
			notes = append(notes, "left out of latency_cdf: "+l.Name+", which was saturated")
		case l.Calls > 0:
			all = append(all, l)
		}
	}
	if len(all) > 0 {
		what := "latency of calls (ms)"
		if open {
			what = "latency from due to reply (ms)"
		}
		figures = []figure.Figure{chart.LatencyCDF(what, all)}
	}
	return figures, notes, nil
}

// pointName names a point by the knobs that have several values.
func pointName(s *folder.Sweep, point folder.Point) string {
	var words []string
	for i, knob := range s.Knobs {
		if len(knob.Values) > 1 {
			words = append(words, knob.Name+" "+knob.Label(point.Values[i]))
		}
	}
	return format.Label(strings.Join(words, ", "), 60)
}
