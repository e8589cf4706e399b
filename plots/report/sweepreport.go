package report

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"kvlab/kvs/verdict/answer"
	"kvlab/metrics"
	"kvlab/metrics/curve"
	"kvlab/metrics/format"
	"kvlab/metrics/stats"
	"kvlab/plots/chart"
	"kvlab/plots/compare"
	"kvlab/plots/figure"
	"kvlab/plots/folder"
)

// SweepReport returns a sweep as one HTML page, like Report. The sections that only a run
// has, such as usage over time, show one trial of the best point: the one nearest to
// the median.
func SweepReport(s *folder.Sweep) ([]byte, error) {
	if s.Study != nil {
		return studyReport(s)
	}
	shown, trial, err := shownTrial(s)
	if err != nil {
		return nil, err
	}
	p := page{Kind: "sweep", ID: s.ID, Run: shown, Trials: s}
	switch {
	case len(s.Knobs) == 0:
		p.Kind = "trials"
	case curve.Is(s.Sweep):
		p.Kind = "curve"
	}
	scaling := chart.ScalingFigures(s)
	p.Answer, p.Lead = AnswerOf(s), scaling[:min(1, len(scaling))]
	files := []rawFile{{metrics.SweepFile, s.Sweep}, {metrics.TrialsFile, s.Trials}}
	if shown != nil {
		files = append(files, rawFile{"run.json", shown.Run})
	}
	of := ""
	if shown != nil {
		of = s.TrialName(trial)
	}
	p.Sections = append(sweepSections(s, shown, of, scaling[len(p.Lead):]), setupSections(shown, s, of, files...)...)
	return p.render()
}

// AnswerOf returns the answer of a sweep. Of a comparison, the headline is the ratio; of a
// study, the outcomes of its claims.
func AnswerOf(s *folder.Sweep) answer.Answer {
	if s.Study != nil {
		return answer.OfClaims(s.Sweep, s.Trials, s.Claims)
	}
	a := answer.OfTrials(s.Sweep, s.Trials)
	if len(s.Variants) > 0 && a.Good {
		if c, err := compare.Variants(s.Dir); err == nil {
			a.Headline, a.Basis = c.Headline()
		}
	}
	return a
}

// shownTrial returns the valid trial of the best point that is nearest to its median, with
// its nodes' records; nil if no point has a result.
func shownTrial(s *folder.Sweep) (*folder.Run, metrics.Trial, error) {
	top, ok := chart.Best(chart.PointsOf(s))
	if !ok || s.Dir == "" {
		return nil, metrics.Trial{}, nil
	}
	off := func(t metrics.Trial) float64 { return math.Abs(t.OpsPerS - top.Estimate.Median) }
	median := slices.MinFunc(top.Valid, func(a, b metrics.Trial) int { return cmp.Compare(off(a), off(b)) })
	r, err := folder.Load(filepath.Join(s.Dir, median.Folder))
	return r, median, err
}

// sweepSections returns the throughput of all trials, and the other sections of one trial,
// which is named of. scaling are the figures of all trials but the main one.
func sweepSections(s *folder.Sweep, shown *folder.Run, of string, scaling []figure.Figure) []section {
	sections := []section{
		{ID: "comparison", Brief: true, Title: "Comparison", Trials: s, Absent: len(s.Variants) == 0},
		{ID: "throughput", Title: "Scaling", Trials: s, Figures: scaling},
	}
	switch {
	case len(s.Knobs) == 0:
		sections[1].Title = "Throughput"
	case curve.Is(s.Sweep):
		sections[1].Title = "Latency by throughput"
	}
	if shown != nil {
		var over []figure.Figure
		if len(shown.Logs) > 0 {
			over = chart.Figures(shown)
		}
		single := runSections(shown, over)
		trial := slices.IndexFunc(single, func(one section) bool { return one.ID == "throughput" })
		single[trial].ID, single[trial].Title, single[trial].Figures = "trial", "One trial", named(over, "throughput")
		for _, section := range single {
			section.Of, section.Trials = of, s
			sections = append(sections, section)
		}
	}
	return append(sections, section{ID: "trials", Title: "Trials", Trials: s})
}

// sweepLatencies returns the table of all trials' latencies, a row for each point.
func sweepLatencies(s *folder.Sweep) table {
	t := table{Caption: "Medians of the valid trials, in milliseconds, each with its 95 % interval where there are 6", Columns: []string{"point", "call p50", "call p99", "op p50", "op p99"}, Names: []int{0}}
	for _, point := range s.Points {
		t.add(cmp.Or(metrics.PointName(s.Knobs, point.Values), "all trials"),
			medianOf(point.Valid, func(t metrics.Trial) *float64 { return t.P50 }), medianOf(point.Valid, func(t metrics.Trial) *float64 { return t.P99 }),
			medianOf(point.Valid, func(t metrics.Trial) *float64 { return t.OpP50 }), medianOf(point.Valid, func(t metrics.Trial) *float64 { return t.OpP99 }))
	}
	return t
}

// medianOf returns the median of a latency over trials and its interval; n/a when one
// of them has too few calls for it.
func medianOf(trials []metrics.Trial, of func(metrics.Trial) *float64) string {
	var values []float64
	for _, trial := range trials {
		us := of(trial)
		if us == nil {
			return "n/a"
		}
		values = append(values, *us)
	}
	if len(values) == 0 {
		return absent
	}
	e, bounded := stats.MedianInterval(values, 0.95)
	if !bounded {
		return format.Milliseconds(e.Median)
	}
	return fmt.Sprintf("%s [%s, %s]", format.Milliseconds(e.Median), format.Milliseconds(e.Low), format.Milliseconds(e.High))
}

// curveTables returns the tables of a sweep's curves.
func curveTables(s *folder.Sweep) (tables []table) {
	for _, c := range chart.CurvesOf(s) {
		columns, rows := c.Table()
		caption := "Latency in milliseconds, from the moment an operation was due; medians of the trials"
		tables = append(tables, table{Caption: strings.TrimPrefix(c.Name+": "+caption, ": "), Columns: columns, Rows: rows, Names: []int{0, len(columns) - 1}})
	}
	return tables
}

// SweepSummary returns the sweep's result and verdict for a terminal: a line each, and a
// curve's table.
func SweepSummary(s *folder.Sweep) string {
	a := AnswerOf(s)
	result := strings.Join(format.NonEmpty(a.Headline, a.Basis), ", ")
	if curves := chart.CurvesOf(s); curve.Is(s.Sweep) && len(curves) > 0 {
		result = curves[0].String()
	}
	if !a.Good {
		return fmt.Sprintf("%s\nverdict %s(%s)\n", a.Basis, a.Verdict, a.Headline)
	}
	return fmt.Sprintf("%s\nverdict %s (%s)\n", result, metrics.Together(s.Trials), format.Plural(len(s.Trials), "trial"))
}

// intervalWords returns an estimate's interval; absent if it has none.
func intervalWords(e stats.Estimate) string {
	if e.Coverage == 0 {
		return absent
	}
	return format.Count(e.Low) + " to " + format.Count(e.High)
}

// compared returns the comparison of the two variants, in sentences, the answer first.
func compared(s *folder.Sweep) (sentences []template.HTML) {
	c, err := compare.Variants(s.Dir)
	if err != nil {
		return []template.HTML{sentence(err.Error())}
	}
	for _, line := range slices.Backward(strings.Split(c.String(), "\n")) {
		sentences = append(sentences, sentence(line)+".")
	}
	return sentences
}

// lineTable is a line of the figures by a knob, as a table with the law's parameters.
type lineTable struct {
	chart.Line
	Caption, Head           string
	Grows, Limited, Ceiling bool // it has the columns of the ideal, of the links' limit, of the ceiling
}

// lineTables returns the lines of the figures by the first knob that has several
// values. A curve has none.
func lineTables(s *folder.Sweep) []lineTable {
	if len(s.Knobs) == 0 {
		points := chart.PointsOf(s)
		points[0].Value = "all trials"
		return []lineTable{tableOf("", figure.Axis{}, chart.Line{Points: points})}
	}
	if curve.Is(s.Sweep) {
		return nil
	}
	along := max(0, slices.IndexFunc(s.Knobs, func(k metrics.Knob) bool { return len(k.Values) > 1 }))
	x := chart.AxisOf(s.Knobs[along])
	var tables []lineTable
	for _, line := range chart.LinesOf(s, along, x) {
		tables = append(tables, tableOf(s.Knobs[along].Name, x, line))
	}
	return tables
}

// tableOf returns one line's table.
func tableOf(knob string, x figure.Axis, line chart.Line) lineTable {
	t := lineTable{Line: line, Head: strings.Trim(line.Name+": "+knob, ": "), Grows: x.Grows,
		Limited: slices.ContainsFunc(line.Points, func(p chart.PointOnLine) bool { return p.Limit > 0 }),
		Ceiling: slices.ContainsFunc(line.Points, func(p chart.PointOnLine) bool { return p.Headroom() > 0 })}
	switch {
	case line.Law != nil:
		t.Caption = "Universal Scalability Law: " + chart.DescribeLaw(*line.Law, knob) + "."
	case line.NoLaw != "":
		t.Caption = "No Universal Scalability Law: " + line.NoLaw + "."
	}
	return t
}
