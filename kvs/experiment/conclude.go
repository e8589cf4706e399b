package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"kvlab/kvs/verdict"
	"kvlab/metrics"
	"kvlab/metrics/format"
)

// Conclude returns the points' results and the verdict on all trials. After an error
// there is no result, but a broken sweep has figures.
func (s Sweep) Conclude(done []metrics.Trial, err error) Conclusion {
	if err != nil {
		return Conclusion{Drawn: len(done) > 0 && !errors.Is(err, context.Canceled)}
	}
	points := metrics.Summarize(s.Plan, done)
	text := s.pointTable(points)
	if len(s.Plan.Knobs) == 0 {
		text = totalLines(points[0])
	}
	return Conclusion{Brief: s.brief(points), Full: text + s.notes(points) + "\n", Verdict: s.verdict(done), Answer: verdict.AnswerOfTrials(s.Plan, done), Drawn: len(done) > 0}
}

// brief returns the labs' total line, or a line for each point, in at most 80 columns.
func (s Sweep) brief(points []metrics.Point) string {
	if len(s.Plan.Knobs) == 0 {
		if !points[0].OK() {
			return ""
		}
		return totalLine(points[0]) + "\n"
	}
	var out strings.Builder
	out.WriteByte('\n')
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "point\tvalid trials\tops/s\t95 % interval\tlimited by")
	for _, point := range points {
		median, interval := "failed", "-"
		if point.OK() {
			estimate, ok := point.Estimate()
			if median = format.Count(estimate.Median); ok {
				interval = format.Count(estimate.Low) + " to " + format.Count(estimate.High)
			}
		}
		limit, _ := point.Bottleneck()
		fmt.Fprintf(table, "%s\t%d/%d\t%s\t%s\t%s\n", format.Label(metrics.PointName(s.Plan.Knobs, point.Values), 24),
			len(point.Valid), point.Trials(), median, interval, cmp.Or(string(limit), "-"))
	}
	table.Flush()
	return out.String() + "\n"
}

// totalLine returns the labs' total line of a point with a result.
func totalLine(point metrics.Point) string {
	estimate, _ := point.Estimate()
	return fmt.Sprintf("\ntotal %.0f op/s\n", estimate.Median)
}

// totalLines are the labs' total line, with the median of the trials, and its interval. A
// failed point has no total.
func totalLines(point metrics.Point) string {
	if !point.OK() {
		return ""
	}
	estimate, ok := point.Estimate()
	text := totalLine(point) + fmt.Sprintf("median of %s, ", format.Plural(estimate.N, "trial"))
	if !ok {
		text += "too few for a 95 % interval, which needs 6\n"
	} else {
		text += fmt.Sprintf("%.1f %% interval %.0f to %.0f op/s, half-width %.2g %%\n",
			100*estimate.Coverage, estimate.Low, estimate.High, 100*estimate.HalfWidth())
	}
	if h := headroom(point); h != "-" {
		text += h + " as fast without a store\n"
	}
	return text + "limited by: " + limitedBy(point) + "\n"
}

// pointTable has a line for each point.
func (s Sweep) pointTable(points []metrics.Point) string {
	var out strings.Builder
	out.WriteByte('\n')
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, knob := range s.Plan.Knobs {
		fmt.Fprintf(table, "%s\t", knob.Name)
	}
	fmt.Fprintln(table, "trials\tfailed\tmedian op/s\t95 % interval\thalf-width\tno store\tlimited by\t")
	for _, point := range points {
		for i, value := range point.Values {
			fmt.Fprintf(table, "%s\t", s.Plan.Knobs[i].Label(value))
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

// notes tell whether --until was met, and name stamped trials, failed points, failed trials
// and those that were made again.
func (s Sweep) notes(points []metrics.Point) string {
	var b strings.Builder
	for _, point := range points {
		at := ""
		if name := metrics.PointName(s.Plan.Knobs, point.Values); name != "" {
			at = " at " + name
		}
		if s.Plan.Until > 0 {
			met := "met"
			if !point.Met(s.Plan.Until) {
				met = fmt.Sprintf("not met after %s", format.Plural(point.Trials(), "trial"))
			}
			fmt.Fprintf(&b, "--until %g%%%s: %s\n", 100*s.Plan.Until, at, met)
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
			fmt.Fprintf(&b, "no result%s: %d of %s failed\n", at, len(point.Failed), format.Plural(point.Trials(), "trial"))
		}
		for _, trial := range point.Failed {
			fmt.Fprintf(&b, "failed%s: trial %d, %s\n", at, trial.Number, trial.Verdict)
		}
		if again := metrics.MadeAgain(slices.Concat(point.Valid, point.Failed)); again != "" {
			fmt.Fprintf(&b, "%s%s\n", again, at)
		}
	}
	return b.String()
}

// headroom is how many times as fast the clients are without a store.
func headroom(point metrics.Point) string {
	if h := point.Headroom(); h > 0 {
		return fmt.Sprintf("%.2fx", h)
	}
	return "-"
}

// limitedBy is the bottleneck of a point's trials, or of most of them.
func limitedBy(point metrics.Point) string {
	limit, n := point.Bottleneck()
	switch {
	case limit == "":
		return "-"
	case n == len(point.Valid):
		return string(limit)
	}
	return fmt.Sprintf("%s (%d of %d)", limit, n, len(point.Valid))
}

// verdict is the verdict on all trials. One failed trial fails the sweep.
func (s Sweep) verdict(done []metrics.Trial) metrics.Verdict {
	failed := slices.DeleteFunc(slices.Clone(done), func(t metrics.Trial) bool { return t.Verdict.Valid })
	if len(failed) == 0 {
		return metrics.Verdict{Valid: true}
	}
	first := failed[0]
	which := strings.Join(format.NonEmpty(fmt.Sprintf("trial %d", first.Number), metrics.PointName(s.Plan.Knobs, first.Point)), " ")
	reason := fmt.Sprintf("%d of %s failed, first %s: %s", len(failed), format.Plural(len(done), "trial"), which, first.Verdict.Reason)
	return metrics.Verdict{Reason: reason, Node: first.Verdict.Node}
}
