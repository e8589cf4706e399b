package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"kvlab/kvs/cluster/sweep"
	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/plots"
)

// conclude prints what came out of all trials, the verdict last, and returns the
// error that the exit status is made of.
func (c *campaign) conclude(done []metrics.Trial, ended error) error {
	interrupted := errors.Is(ended, errInterrupted) || errors.Is(ended, context.Canceled)
	if err := c.writeBenchmarks(done); err != nil && ended == nil {
		ended = err
	}
	if interrupted {
		fmt.Fprintf(c.Stderr, "%s finished, %d to go; go on with: run-cluster.sh --resume %s\n",
			format.Plural(len(done), "trial"), len(sweep.Next(c.plan, done)), format.QuoteWord(string(c.dir)))
		verdict := metrics.Verdict{Reason: errInterrupted.Error()}
		fmt.Fprintf(c.Stdout, "logs %s\nverdict %s\n", c.dir, verdict)
		return &InvalidError{Verdict: verdict, Err: errInterrupted}
	}
	if ended != nil {
		return fmt.Errorf("%w (go on with --resume %s)", ended, format.QuoteWord(string(c.dir)))
	}
	c.picture(c.drawMany, c.dir)
	points := metrics.Summarize(c.plan, done)
	if len(c.plan.Knobs) == 0 {
		fmt.Fprint(c.Stdout, totalLines(points[0]))
	} else {
		fmt.Fprint(c.Stdout, c.pointTable(points))
	}
	fmt.Fprint(c.Stdout, c.remarks(points))
	if len(c.plan.Sides) > 0 {
		fmt.Fprintf(c.Stdout, "\n%s\n", c.comparison())
	}
	if c.scale != nil {
		fmt.Fprintf(c.Stdout, "\n%s\n", c.scale.GradeTrials(c.plan, done))
	}
	verdict := c.verdict(done)
	fmt.Fprintf(c.Stdout, "\nlogs %s\nverdict %s\n", c.dir, verdict)
	if verdict.Valid {
		return nil
	}
	return &InvalidError{Verdict: verdict}
}

// comparison is what kvsplot compare says of the folder.
func (c *campaign) comparison() string {
	compared, err := plots.CompareSides(string(c.dir))
	if err != nil {
		return "no comparison: " + err.Error()
	}
	return compared.String()
}

// totalLines are the labs' total line with the median of the trials, and what it
// is worth. A point that failed has no total.
func totalLines(point metrics.Point) string {
	if !point.OK() {
		return ""
	}
	estimate, ok := point.Estimate()
	text := fmt.Sprintf("\ntotal %.0f op/s\nmedian of %s, ", estimate.Median, format.Plural(estimate.N, "trial"))
	if !ok {
		text += "too few for a 95 % interval, which needs 6\n"
	} else {
		text += fmt.Sprintf("%.1f %% interval %.0f to %.0f op/s, half-width %.2g %%\n",
			100*estimate.Coverage, estimate.Low, estimate.High, 100*estimate.HalfWidth())
	}
	if h := headroom(point); h != "-" {
		text += "harness ceiling " + h + "\n"
	}
	return text + "limited by: " + limitedBy(point) + "\n"
}

// pointTable is a line for each point.
func (c *campaign) pointTable(points []metrics.Point) string {
	var out strings.Builder
	out.WriteByte('\n')
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, knob := range c.plan.Knobs {
		fmt.Fprintf(table, "%s\t", knob.Name)
	}
	fmt.Fprintln(table, "trials\tfailed\tmedian op/s\t95 % interval\thalf-width\theadroom\tlimited by\t")
	for _, point := range points {
		for _, value := range point.Values {
			fmt.Fprintf(table, "%s\t", value)
		}
		median, interval, width := "failed", "-", "-"
		if point.OK() {
			estimate, ok := point.Estimate()
			if median, interval = fmt.Sprintf("%.0f", estimate.Median), "too few trials"; ok {
				interval = fmt.Sprintf("%.0f to %.0f", estimate.Low, estimate.High)
				width = fmt.Sprintf("%.2g %%", 100*estimate.HalfWidth())
			}
		}
		fmt.Fprintf(table, "%d\t%d\t%s\t%s\t%s\t%s\t%s\t\n", point.Trials(), len(point.Failed), median, interval, width, headroom(point), limitedBy(point))
	}
	table.Flush()
	return out.String()
}

// remarks name what the figures do not show: whether --until was met, trials that
// had not settled, the points that failed, and every trial that did.
func (c *campaign) remarks(points []metrics.Point) string {
	var b strings.Builder
	for _, point := range points {
		at := ""
		if name := metrics.PointName(c.plan.Knobs, point.Values); name != "" {
			at = " at " + name
		}
		if c.plan.Until > 0 {
			met := "met"
			if !point.Met(c.plan.Until) {
				met = fmt.Sprintf("not met after %s", format.Plural(point.Trials(), "trial"))
			}
			fmt.Fprintf(&b, "--until %g%%%s: %s\n", 100*c.plan.Until, at, met)
		}
		stamped := make(map[string]int)
		for _, trial := range point.Valid {
			for _, stamp := range trial.Stamps() {
				stamped[stamp]++
			}
		}
		for _, stamp := range slices.Sorted(maps.Keys(stamped)) {
			fmt.Fprintf(&b, "%s%s: %d of the %s\n", stamp, at, stamped[stamp], format.Plural(len(point.Valid), "valid trial"))
		}
		if !point.OK() {
			fmt.Fprintf(&b, "no result%s: %d of %s failed, and at most one in five may\n", at, len(point.Failed), format.Plural(point.Trials(), "trial"))
		}
		for _, trial := range point.Failed {
			fmt.Fprintf(&b, "failed%s: trial %d, %s\n", at, trial.Number, trial.Verdict)
		}
	}
	return b.String()
}

// headroom is how much faster the harness would be than a point's trials.
func headroom(point metrics.Point) string {
	if h := point.Headroom(); h > 0 {
		return fmt.Sprintf("%.2fx", h)
	}
	return "-"
}

// limitedBy is what limits a point's trials, or most of them.
func limitedBy(point metrics.Point) string {
	limit, n := point.LimitedBy()
	switch {
	case limit == "":
		return "-"
	case n == len(point.Valid):
		return string(limit)
	}
	return fmt.Sprintf("%s (%d of %d)", limit, n, len(point.Valid))
}

// verdict is that on all trials: one that failed fails the whole.
func (c *campaign) verdict(done []metrics.Trial) metrics.Verdict {
	failed := 0
	var first metrics.Trial
	for _, trial := range done {
		if !trial.Verdict.Valid {
			if failed++; failed == 1 {
				first = trial
			}
		}
	}
	if failed == 0 {
		return valid
	}
	which := strings.Join(nonEmpty(fmt.Sprintf("trial %d", first.Number), metrics.PointName(c.plan.Knobs, first.Point)), " ")
	return invalid(first.Verdict.Node, "%d of %s failed, first %s: %s", failed, format.Plural(len(done), "trial"), which, first.Verdict.Reason)
}

// writeBenchmarks writes summary.txt: a benchmark line for each valid trial, in
// the order of the points.
func (c *campaign) writeBenchmarks(done []metrics.Trial) error {
	var all []pointRuns
	for _, point := range metrics.Summarize(c.plan, done) {
		runs := pointRuns{values: point.Values}
		for _, trial := range point.Valid {
			text, err := os.ReadFile(folder(c.dir.path(trial.Folder)).path("run.json"))
			if err != nil {
				return err
			}
			var run metrics.Run
			if err := json.Unmarshal(text, &run); err != nil {
				return fmt.Errorf("%s/run.json: %w", trial.Folder, err)
			}
			runs.runs = append(runs.runs, run)
		}
		all = append(all, runs)
	}
	return c.dir.write("summary.txt", []byte(benchmarkLines(c.plan, all)))
}
