package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/plots/chart"
	"kvlab/plots/figure"
	"kvlab/plots/folder"
)

// lineTables are the lines of the figures by the first knob that has several
// values.
func lineTables(s *folder.Sweep) []table {
	if len(s.Knobs) == 0 {
		points := chart.PointsOf(s)
		points[0].Value = "all trials"
		return []table{tableOf("", figure.Axis{}, chart.Line{Points: points})}
	}
	along := max(0, slices.IndexFunc(s.Knobs, func(k metrics.Knob) bool { return len(k.Values) > 1 }))
	x := chart.AxisOf(s.Knobs[along])
	var tables []table
	for _, line := range chart.LinesOf(s, along, x) {
		tables = append(tables, tableOf(s.Knobs[along].Name, x, line))
	}
	return tables
}

// tableOf is one line's table, with the law's parameters.
func tableOf(knob string, x figure.Axis, line chart.Line) table {
	head := strings.Trim(line.Name+": "+knob, ": ")
	t := table{Names: []int{0}, Columns: []string{head, "servers + clients", "valid trials", "failed", "median ops/s", "95 % interval", "half-width"}}
	if x.Grows {
		t.Columns = append(t.Columns, "efficiency", "of this step")
	}
	limited := slices.ContainsFunc(line.Points, func(s chart.PointOnLine) bool { return s.Limit > 0 })
	if limited {
		t.Columns = append(t.Columns, "the links' limit", "share of it")
	}
	ceiling := slices.ContainsFunc(line.Points, func(s chart.PointOnLine) bool { return s.Headroom() > 0 })
	if ceiling {
		t.Columns = append(t.Columns, "headroom", "limited by")
		t.Names = append(t.Names, len(t.Columns)-1)
	}
	for _, spot := range line.Points {
		cells := pointCells(spot)
		if x.Grows {
			cells = append(cells, percent(spot.Efficiency()), percent(spot.Step))
		}
		if limited {
			share := 0.0
			if spot.Limit > 0 {
				share = spot.Estimate.Median / spot.Limit
			}
			cells = append(cells, format.Count(spot.Limit), percent(share))
		}
		if ceiling {
			limit, n := spot.Bottleneck()
			cells = append(cells, fmt.Sprintf("%.2f x", spot.Headroom()), fmt.Sprintf("%s (%d of %d)", limit, n, len(spot.Valid)))
		}
		t.add(cells...)
	}
	switch {
	case line.Law != nil:
		t.Caption = "Universal Scalability Law: " + chart.DescribeLaw(*line.Law, knob) + "."
	case line.NoLaw != "":
		t.Caption = "No Universal Scalability Law: " + line.NoLaw + "."
	}
	return t
}

// pointCells are the cells that every table has of a point.
func pointCells(s chart.PointOnLine) []string {
	roles, median, width := absent, absent, absent
	if s.Run != nil {
		roles = fmt.Sprintf("%d + %d", s.Run.Count(metrics.Server), s.Run.Count(metrics.Client))
	}
	switch {
	case s.Estimate.N > 0:
		median = format.Count(s.Estimate.Median)
	case s.Trials() > 0:
		median = "no result"
	}
	if s.Estimate.Coverage > 0 {
		width = fmt.Sprintf("%.2g %%", 100*s.Estimate.HalfWidth())
	}
	return []string{s.Value, roles, fmt.Sprint(len(s.Valid)), fmt.Sprint(len(s.Failed)), median, intervalWords(s.Estimate), width}
}

// trialTable has every trial that has ended, in the order of their execution.
func trialTable(s *folder.Sweep) table {
	t := table{Names: []int{1, 7, 8}, Columns: []string{"trial", "point", "ops/s", "p50 call (ms)", "p99 call (ms)", "sent (B/op)", "received (B/op)", "verdict", "folder"}}
	for _, trial := range s.Trials {
		verdict := cell{trial.Verdict.String(), "bad"}
		if trial.Verdict.Valid {
			verdict.Class = "good"
		}
		if trial.NonStationary {
			verdict.Text += ", NON-STATIONARY"
		}
		t.add(fmt.Sprint(trial.Number), metrics.PointName(s.Knobs, trial.Point), format.Count(trial.OpsPerS), milliseconds(trial.P50), milliseconds(trial.P99),
			format.Tenths(trial.BytesPerOpSent), format.Tenths(trial.BytesPerOpReceived), "", trial.Folder)[7] = verdict
	}
	return t
}

// sweepSettings are the settings that repeat the sweep, and those that all of its
// trials share.
func sweepSettings(s *folder.Sweep, shown *folder.Run) []setting {
	all := []setting{{"command", format.CommandLine(s.Command)}, {"git commit", s.GitCommit}, {"seed of the order", fmt.Sprint(s.Seed)},
		{"started", s.Started.UTC().Format(time.DateTime + " UTC")}, {"trials of a point", fmt.Sprint(s.Sweep.Trials)}}
	for _, knob := range s.Knobs {
		all = append(all, setting{"knob " + knob.Name, strings.Join(knob.Values, ", ")})
	}
	if s.Until > 0 {
		all = append(all, setting{"until", fmt.Sprintf("half-width of %g %%", 100*s.Until)})
	}
	if shown == nil {
		return all
	}
	varied := func(s2 setting) bool {
		return !strings.HasPrefix(s2.Name, "-") && !strings.HasPrefix(s2.Name, "servers'") ||
			slices.ContainsFunc(s.Knobs, func(k metrics.Knob) bool { return strings.HasSuffix(s2.Name, "-"+k.Name) })
	}
	return append(all, slices.DeleteFunc(settings(shown), varied)...)
}
