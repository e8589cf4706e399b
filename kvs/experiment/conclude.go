package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"kvlab/kvs/verdict/answer"
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
	brief := s.table(points, false)
	if brief != "" {
		brief += "\n"
	}
	return Conclusion{Brief: brief, Full: s.table(points, true) + s.notes(points) + "\n", Verdict: s.verdict(done), Answer: answer.OfTrials(s.Plan, done), Drawn: len(done) > 0}
}

// table returns the labs' total line, "" of a point that failed; of several points a line
// each, in at most 80 columns, or with two more figures.
func (s Sweep) table(points []metrics.Point, more bool) string {
	if len(s.Plan.Knobs) == 0 {
		if !points[0].OK() {
			return ""
		}
		estimate, _ := points[0].Estimate()
		return fmt.Sprintf("\ntotal %.0f op/s\n", estimate.Median)
	}
	rows := [][]string{{"point", "", "ops/s", "95 % interval", "limited by", "half-width", "no store"}}
	columns := 5
	if more {
		columns = len(rows[0])
	}
	var standing []metrics.Trial
	for _, point := range points {
		standing = append(standing, point.Valid...)
		median, interval, width, ceiling := "failed", "-", "-", "-"
		if point.OK() {
			estimate, ok := point.Estimate()
			if median = format.Count(estimate.Median); ok {
				interval = format.Count(estimate.Low) + " to " + format.Count(estimate.High)
				width = fmt.Sprintf("%.2g %%", 100*estimate.HalfWidth())
			}
		}
		if h := point.Headroom(); h > 0 {
			ceiling = fmt.Sprintf("%.2fx", h)
		}
		rows = append(rows, []string{format.Label(metrics.PointName(s.Plan.Knobs, point.Values), 24),
			fmt.Sprintf("%d/%d", len(point.Valid), point.Trials()), median, interval, cmp.Or(answer.Limit(point), "-"), width, ceiling})
	}
	rows[0][1] = metrics.ResultWord(standing) + " trials"
	for i := range rows {
		rows[i] = rows[i][:columns]
	}
	return "\n" + format.Aligned(rows)
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

// verdict returns the verdict on all trials. One failed trial fails the sweep.
func (s Sweep) verdict(done []metrics.Trial) metrics.Verdict {
	failed := slices.DeleteFunc(slices.Clone(done), func(t metrics.Trial) bool { return t.Verdict.Stands() })
	if len(failed) == 0 {
		return metrics.Together(done)
	}
	first := failed[0]
	which := strings.Join(format.NonEmpty(fmt.Sprintf("trial %d", first.Number), metrics.PointName(s.Plan.Knobs, first.Point)), " ")
	reason := fmt.Sprintf("%d of %s failed, first %s: %s", len(failed), format.Plural(len(done), "trial"), which, first.Verdict.Reason)
	return metrics.Verdict{Reason: reason, Node: first.Verdict.Node}
}
