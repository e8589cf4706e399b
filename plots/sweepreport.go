package plots

import (
	"fmt"
	"strings"
	"time"

	"kvlab/metrics"
)

// sweepPage is what a sweep's report shows.
type sweepPage struct {
	Sweep    *Sweep
	Good     bool
	Verdict  string
	Headline string
	More     string // of the headline
	Says     string
	Failed   []string
	Tables   []lineTable
	Pictures []picture
	Trials   []trialRow
	Settings []setting
	Hardware []hardwareRow
}

// lineTable is a line of a figure in figures, and what the law says of it.
type lineTable struct {
	Columns []string
	Rows    [][]string
	Law     string
}

// trialRow is one trial in a table.
type trialRow struct {
	metrics.Trial
	Point string
	Cells []string
}

// Valid reports whether the trial is data.
func (t trialRow) Valid() bool { return t.Verdict.Valid }

// SweepReport is a whole sweep as one HTML page that needs nothing else, like
// Report: verdict and headline first.
func SweepReport(s *Sweep) ([]byte, error) {
	p := sweepPage{Sweep: s, Says: describeSweep(s)}
	p.Verdict, p.Good = s.verdict()
	p.Headline, p.More = s.headline()
	for _, trial := range s.failed() {
		p.Failed = append(p.Failed, s.name(trial)+": "+invalidReason(trial.Verdict))
	}
	p.Tables = lineTables(s)
	for _, trial := range s.Trials {
		p.Trials = append(p.Trials, rowOf(s, trial))
	}
	p.Settings = sweepSettings(s)
	if r := s.sample(); r != nil {
		p.Hardware = hardware(r.Nodes)
	}
	var err error
	if p.Pictures, err = pictures(ScalingFigures(s)); err != nil {
		return nil, err
	}
	return layOut("sweep.html", p)
}

// String is the sweep's result and verdict for a terminal, a line each.
func (s *Sweep) String() string {
	verdict, _ := s.verdict()
	median, more := s.headline()
	if more != "" {
		median += ", " + more
	}
	return fmt.Sprintf("%s\nverdict %s\n", median, verdict)
}

// verdict says whether the whole may be believed: every trial that was planned
// has ended, and is valid.
func (s *Sweep) verdict() (words string, good bool) {
	failed, left := len(s.failed()), len(s.Order)-len(s.Trials)
	switch {
	case failed > 0:
		return fmt.Sprintf("INVALID(%d of %s failed)", failed, plural(len(s.Trials), "trial")), false
	case left > 0:
		return fmt.Sprintf("INCOMPLETE(%s: go on with run-cluster.sh --resume)", s.progress()), false
	}
	return fmt.Sprintf("VALID (%s)", plural(len(s.Trials), "trial")), true
}

// headline is the median of the best point, and what more there is to say of it:
// its interval, and where it is.
func (s *Sweep) headline() (median, more string) {
	var spots []Spot
	for _, point := range s.Points {
		spot := Spot{Point: point, Value: metrics.PointName(s.Knobs, point.Values)}
		if point.OK() {
			spot.Estimate, _ = point.Estimate()
		}
		spots = append(spots, spot)
	}
	top, ok := best(spots)
	if !ok {
		return "no result", ""
	}
	more = fmt.Sprintf("the median of %s without an interval, which needs 6", plural(top.Estimate.N, "trial"))
	if top.Estimate.Coverage > 0 {
		more = fmt.Sprintf("the median of %s; %.1f %% interval %s", plural(top.Estimate.N, "trial"), 100*top.Estimate.Coverage, intervalWords(top.Estimate))
	}
	if len(s.Points) > 1 {
		more += "; at " + top.Value + ", the best point"
	}
	return metrics.Count(top.Estimate.Median) + " ops/s", more
}

// intervalWords is an estimate's interval, or that there is none.
func intervalWords(e metrics.Estimate) string {
	if e.Coverage == 0 {
		return absent
	}
	return metrics.Count(e.Low) + " to " + metrics.Count(e.High)
}

// lineTables are the lines of the figures by the first knob that has several
// values.
func lineTables(s *Sweep) []lineTable {
	along := 0
	for i, knob := range s.Knobs {
		if len(knob.Values) > 1 {
			along = i
			break
		}
	}
	if len(s.Knobs) == 0 {
		return []lineTable{tableOf("", axis{}, Line{Spots: trialSpots(s)})}
	}
	x := axisOf(s.Knobs[along])
	var tables []lineTable
	for _, line := range lines(s, along, x) {
		tables = append(tables, tableOf(s.Knobs[along].Name, x, line))
	}
	return tables
}

// trialSpots is the only point of a sweep without knobs.
func trialSpots(s *Sweep) []Spot {
	spot := Spot{Point: s.Points[0], Value: "all trials", Limit: wireLimit(s.Points[0])}
	if spot.OK() {
		spot.Estimate, _ = spot.Point.Estimate()
	}
	return []Spot{spot}
}

// tableOf is one line's table.
func tableOf(knob string, x axis, line Line) lineTable {
	head := strings.Trim(line.Name+": "+knob, ": ")
	t := lineTable{Columns: []string{head, "servers + clients", "valid trials", "failed", "median ops/s", "95 % interval", "half-width"}}
	if x.grows {
		t.Columns = append(t.Columns, "efficiency", "of this step")
	}
	limited := false
	for _, spot := range line.Spots {
		limited = limited || spot.Limit > 0
	}
	if limited {
		t.Columns = append(t.Columns, "the links' limit", "share of it")
	}
	for _, spot := range line.Spots {
		row := spot.cells()
		if x.grows {
			row = append(row, percent(spot.Efficiency()), percent(spot.Step))
		}
		if limited {
			row = append(row, metrics.Count(spot.Limit), percent(spot.limitShare()))
		}
		t.Rows = append(t.Rows, row)
	}
	switch {
	case line.Law != nil:
		t.Law = "Universal Scalability Law: " + line.Law.describe(x.knob.Name) + "."
	case line.NoLaw != "":
		t.Law = "No Universal Scalability Law: " + line.NoLaw + "."
	}
	return t
}

// cells are what every table says of a spot.
func (s Spot) cells() []string {
	roles, median, width := absent, absent, absent
	if s.Run != nil {
		roles = fmt.Sprintf("%d + %d", s.Run.Count(metrics.Server), s.Run.Count(metrics.Client))
	}
	switch {
	case s.Estimate.N > 0:
		median = metrics.Count(s.Estimate.Median)
	case s.Trials() > 0:
		median = "no result"
	}
	if s.Estimate.Coverage > 0 {
		width = fmt.Sprintf("%.2g %%", 100*s.Estimate.HalfWidth())
	}
	return []string{s.Value, roles, fmt.Sprint(len(s.Valid)), fmt.Sprint(len(s.Failed)), median, intervalWords(s.Estimate), width}
}

// limitShare is the median's share of the links' limit; 0 unknown.
func (s Spot) limitShare() float64 {
	if s.Limit == 0 {
		return 0
	}
	return s.Estimate.Median / s.Limit
}

// percent writes a share; 0 is unknown.
func percent(share float64) string {
	if share == 0 {
		return absent
	}
	return fmt.Sprintf("%.1f %%", 100*share)
}

// rowOf is a trial's row.
func rowOf(s *Sweep, trial metrics.Trial) trialRow {
	row := trialRow{Trial: trial, Point: metrics.PointName(s.Knobs, trial.Point), Cells: []string{metrics.Count(trial.OpsPerS)}}
	for _, us := range []*float64{trial.P50, trial.P99} {
		cell := "n/a"
		if us != nil {
			cell = milliseconds(*us)
		}
		row.Cells = append(row.Cells, cell)
	}
	for _, bytes := range []float64{trial.BytesPerOpSent, trial.BytesPerOpReceived} {
		row.Cells = append(row.Cells, tenths(bytes))
	}
	return row
}

// sweepSettings are what makes the sweep repeatable.
func sweepSettings(s *Sweep) []setting {
	all := []setting{{"command", strings.Join(s.Command, " ")}, {"git commit", s.GitCommit}, {"seed of the order", fmt.Sprint(s.Seed)},
		{"started", s.Started.UTC().Format(time.DateTime + " UTC")}, {"trials of a point", fmt.Sprint(s.Sweep.Trials)}}
	for _, knob := range s.Knobs {
		all = append(all, setting{"knob " + knob.Name, strings.Join(knob.Values, ", ")})
	}
	if s.Until > 0 {
		all = append(all, setting{"until", fmt.Sprintf("half-width of %g %%", 100*s.Until)})
	}
	return all
}
