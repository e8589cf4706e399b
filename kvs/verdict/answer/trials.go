package answer

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"kvlab/kvs/verdict"
	"kvlab/kvs/verdict/claimed"
	"kvlab/metrics"
	"kvlab/metrics/curve"
	"kvlab/metrics/format"
	"kvlab/metrics/stats"
)

// OfTrials returns the answer of the trials of a plan that were made so far. A trial that
// failed leaves no result: the others would be a selection. Caveats about a trial come
// from its Trial.Run, if there is one.
func OfTrials(plan metrics.Sweep, done []metrics.Trial) Answer {
	points := metrics.Summarize(plan, done)
	failed := slices.DeleteFunc(slices.Clone(done), func(t metrics.Trial) bool { return t.Verdict.Stands() })
	if len(failed) > 0 {
		return Answer{Verdict: "INVALID", Checked: metrics.MadeAgain(done), Next: "read " + failed[0].Folder + ", the folder of the first trial that failed",
			Headline: fmt.Sprintf("%d of %s failed, first trial %d: %s", len(failed), format.Plural(len(done), "trial"), failed[0].Number, because(failed[0].Verdict))}
	}
	a := Answer{Good: true, Headline: "no result", Caveats: caveatsOfTrials(plan, points)}
	a.Verdict = with(metrics.Together(done).Word(), len(a.Caveats))
	if best, ok := bestOf(points); ok {
		a.describe(plan, points, best, len(done))
		a.Checked = strings.Join(format.NonEmpty(a.Checked, metrics.MadeAgain(done)), "; ")
	}
	if a.Left = len(plan.Order) - len(done); a.Left > 0 {
		a.Good, a.Verdict, a.Next = false, "INCOMPLETE", "go on with --resume"
		a.Basis = fmt.Sprintf("%d of %s made; so far %s", len(done), format.Plural(len(plan.Order), "trial"), strings.Join(format.NonEmpty(a.Headline, a.Basis), ", "))
		a.Headline = "some trials are left"
	}
	return a
}

// OfClaims returns the answer of a study's trials, which has the outcomes of its claims
// in place of the best point.
func OfClaims(plan metrics.Sweep, done []metrics.Trial, claims []metrics.ClaimResult) Answer {
	a := OfTrials(plan, done)
	if a.Basis = metrics.OutcomesOf(claims); a.Good {
		a.Headline, a.Latency, a.Limit, a.Next = a.Basis, "", "", ""
		a.Basis = fmt.Sprintf("%s of %s; that it contradicts a claim which holds has a probability of at most %.3g %%",
			format.Plural(len(done), "trial"), format.Plural(len(plan.Study.Points), "point"), 100*plan.Study.Alpha)
	}
	return a
}

// describe fills in the result of trials. The best point has the highest median.
func (a *Answer) describe(plan metrics.Sweep, points []metrics.Point, best metrics.Point, made int) {
	estimate, bounded := best.Estimate()
	at := ""
	if len(points) > 1 {
		at = " at " + metrics.PointName(plan.Knobs, best.Values)
	}
	a.Headline, a.Basis = scalingOf(plan, points)
	lines := curveLines(plan, points)
	if last := len(lines) - 1; last >= 0 {
		a.Headline, a.Basis = lines[last], strings.Join(lines[:last], "; ")
	}
	if a.Headline == "" {
		a.Headline, a.Basis = rateOn(estimate.Median, best.Valid[0].Store), basisOn(estimateWords(estimate), best.Valid[0].Durability)
		if len(points) > 1 {
			a.Headline += at
			a.Basis = fmt.Sprintf("the best of %s: %s", format.Plural(len(points), "point"), a.Basis)
		}
	}
	a.Latency, a.Limit = latencyOfPoint(best, at), limitOfPoint(best, at)
	a.Checked = fmt.Sprintf("%s, each with %s, and right values", format.Plural(made, "trial"), countsOfTrials(points))
	if run := best.Valid[0].Run; run != nil && run.HostsClient() {
		a.Checked = fmt.Sprintf("%s, each %s", format.Plural(made, "trial"), claimed.Word(*run))
	}
	a.Next = "add --ab to compare two versions by pairs of trials"
	switch {
	case len(lines) > 0 && plan.SLO == "":
		a.Latency, a.Next = "", "add --slo p99=5ms for the highest rate that keeps such an objective"
	case len(lines) > 0:
		a.Latency, a.Next = "", "draw it with another system's: bin/kvsplot curves A B"
	case len(plan.Variants) > 0:
		a.Next = "add --trials 20, to tell smaller differences apart"
	case !bounded:
		a.Next = "add --trials 6, for medians with 95 % intervals"
	}
}

// countsOfTrials says how strongly the counts of the valid trials were compared.
func countsOfTrials(points []metrics.Point) string {
	var all []string
	for _, p := range points {
		for _, t := range p.Valid {
			all = append(all, string(cmp.Or(t.Counting, metrics.CountsExact)))
		}
	}
	slices.Sort(all)
	return "counts " + strings.Join(slices.Compact(all), " or ")
}

// bestOf returns the point with the highest median, and false if no point has a result.
func bestOf(points []metrics.Point) (best metrics.Point, ok bool) {
	points = slices.DeleteFunc(slices.Clone(points), func(p metrics.Point) bool { return !p.OK() })
	if len(points) == 0 {
		return best, false
	}
	return slices.MaxFunc(points, func(a, b metrics.Point) int {
		return cmp.Compare(stats.Median(a.Rates()), stats.Median(b.Rates()))
	}), true
}

// estimateWords returns how sure a median is.
func estimateWords(e stats.Estimate) string {
	if e.Coverage == 0 {
		return fmt.Sprintf("the median of %s, too few for a 95 %% interval, which needs 6", format.Plural(e.N, "trial"))
	}
	return fmt.Sprintf("the median of %s; %.1f %% interval %s to %s, half-width %.2g %%",
		format.Plural(e.N, "trial"), 100*e.Coverage, format.Count(e.Low), format.Count(e.High), 100*e.HalfWidth())
}

// scalingOf returns how the throughput grows with a number of nodes, servers or clients; "" for
// other plans.
func scalingOf(plan metrics.Sweep, points []metrics.Point) (headline, basis string) {
	if len(plan.Knobs) != 1 || !slices.Contains([]string{"nodes", "servers", "clients"}, plan.Knobs[0].Name) {
		return "", ""
	}
	number := func(p metrics.Point) float64 {
		n, _ := strconv.ParseFloat(p.Values[0], 64) // the launcher has checked it
		return n
	}
	points = slices.DeleteFunc(slices.Clone(points), func(p metrics.Point) bool { return !p.OK() })
	slices.SortFunc(points, func(a, b metrics.Point) int { return cmp.Compare(number(a), number(b)) })
	if len(points) < 2 {
		return "", ""
	}
	least, most := points[0], points[len(points)-1]
	growth := stats.Median(most.Rates()) / stats.Median(least.Rates())
	headline = fmt.Sprintf("%.2fx from %s to %s %s", growth, least.Values[0], most.Values[0], plan.Knobs[0].Name)
	basis = fmt.Sprintf("%s to %s ops/s, %.0f %% of linear growth", format.Count(stats.Median(least.Rates())), format.Count(stats.Median(most.Rates())),
		100*growth*number(least)/number(most))
	return headline, basis
}

// curveLines returns the peak, the knee and the objective's rate of a curve, as far as there
// are any; none of other plans.
func curveLines(plan metrics.Sweep, points []metrics.Point) []string {
	if !curve.Is(plan) {
		return nil
	}
	return curve.Of(plan, points).Lines()
}

// latencyOfPoint has the medians of the trials' percentiles: of operations since they were due
// in an open loop, of calls in a closed one. at names the point, unless it is the only one.
func latencyOfPoint(p metrics.Point, at string) string {
	var parts []string
	of, open := "of a call", p.Valid[0].OfferedOpsPerS > 0
	if open {
		of = "of an operation since it was due"
	}
	for _, quantile := range []struct {
		name     string
		call, op func(metrics.Trial) *float64
	}{
		{"p50", func(t metrics.Trial) *float64 { return t.P50 }, func(t metrics.Trial) *float64 { return t.OpP50 }},
		{"p99", func(t metrics.Trial) *float64 { return t.P99 }, func(t metrics.Trial) *float64 { return t.OpP99 }},
	} {
		value := quantile.call
		if open {
			value = quantile.op
		}
		var values []float64
		for _, trial := range p.Valid {
			if us := value(trial); us != nil {
				values = append(values, *us)
			}
		}
		if len(values) == len(p.Valid) {
			parts = append(parts, quantile.name+" "+format.Milliseconds(stats.Median(values)))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return of + at + ": " + strings.Join(parts, ", ") + " ms, the medians of the trials"
}

// limitOfPoint returns what limits most trials of a point, which at names.
func limitOfPoint(p metrics.Point, at string) string {
	limit, ceiling := Limit(p), ""
	if limit != "" {
		limit += at
	}
	if h := p.Headroom(); h > 0 {
		ceiling = fmt.Sprintf("%.2fx as fast without a store", h)
	}
	return strings.Join(format.NonEmpty(limit, ceiling), "; ")
}

// Limit returns what limits the valid trials of a point, such as "server CPU", or most of
// them, as in "server CPU (2 of 3)"; "" where no trial says it.
func Limit(p metrics.Point) string {
	limit, n := p.Bottleneck()
	if limit != "" && n < len(p.Valid) {
		return fmt.Sprintf("%s (%d of %d)", limit, n, len(p.Valid))
	}
	return string(limit)
}

const (
	// maxLean is the difference of clients' and servers' counts in a window that trials may
	// have in common: the drift that stats.CheckStationary allows.
	maxLean = 0.02
	// fewestLeaning are the trials from which one sign in all of them says something.
	fewestLeaning = 3
)

// windowsOfTrials returns caveats about the windows of trials: their lengths, and whether in
// all of them the clients counted more than the servers, or fewer.
func windowsOfTrials(points []metrics.Point) (all []Caveat) {
	lengths := make(map[float64][]float64) // by those that were asked for
	var leans []float64
	for _, p := range points {
		for _, t := range p.Valid {
			if t.Run == nil {
				continue
			}
			if w := t.Run.Window; w != nil && w.NeedsS > 0 {
				lengths[w.AskedS] = append(lengths[w.AskedS], w.UsedS)
			}
			if least, most, known := verdict.AppliedInWindow(*t.Run); known {
				leans = append(leans, float64(t.Run.Ops)/min(max(float64(t.Run.Ops), least), most)-1)
			}
		}
	}
	for _, asked := range slices.Sorted(maps.Keys(lengths)) {
		if least, most := slices.Min(lengths[asked]), slices.Max(lengths[asked]); least < (1-metrics.WindowsApart)*most {
			all = append(all, Caveat{Name: "WINDOWS", Do: fmt.Sprintf("add --secs %.0f", math.Ceil(most)),
				Text: fmt.Sprintf("the trials' windows are %.3g to %.3g s long, as their rounds became longer and longer", least, most)})
		}
	}
	if len(leans) >= fewestLeaning && (slices.Min(leans) > maxLean || slices.Max(leans) < -maxLean) {
		all = append(all, Caveat{Name: "LEAN", Do: "warm up longer, or measure longer",
			Text: fmt.Sprintf("in all trials the clients counted %+.1f to %+.1f %% against what the servers applied in the window", 100*slices.Min(leans), 100*slices.Max(leans))})
	}
	return all
}

// caveatsOfTrials joins the caveats of all valid trials by their kinds, and adds
// those of the points.
func caveatsOfTrials(plan metrics.Sweep, points []metrics.Point) (all []Caveat) {
	valid, count := 0, map[string]int{}
	for _, point := range points {
		for _, trial := range point.Valid {
			valid++
			if trial.Run == nil {
				continue
			}
			for _, r := range caveatsOf(*trial.Run) {
				if r.Name == saturated && curve.Is(plan) {
					continue // the end of a curve is
				}
				if count[r.Name]++; count[r.Name] == 1 {
					all = append(all, r)
				}
			}
		}
	}
	for i := range all {
		switch n := count[all[i].Name]; {
		case n == valid:
		case n == 1:
			all[i].Text += fmt.Sprintf(", in 1 of %d trials", valid)
		default:
			all[i].Text += fmt.Sprintf(", and likewise in %d more of %d trials", n-1, valid)
		}
	}
	if v := plan.Variants; len(v) == 2 && v[0].GitCommit != v[1].GitCommit {
		all = append(all, Caveat{Name: "TWO CLIENTS", Text: "A and B were measured by the clients of different commits", Do: "type server:REV, to compare servers by one client"})
	}
	var runs []*metrics.Run
	var varied []string
	for _, point := range points {
		if len(point.Valid) > 0 && point.Valid[0].Run != nil {
			runs = append(runs, point.Valid[0].Run)
		}
	}
	for _, knob := range plan.Knobs {
		varied = append(varied, knob.Name)
	}
	if text := metrics.UnlikeStores(runs, varied...); text != "" {
		all = append(all, Caveat{Name: "CLASSES", Text: text, Do: "state it beside a ranking"})
	}
	all = append(all, windowsOfTrials(points)...)
	for _, point := range points {
		if at := metrics.PointName(plan.Knobs, point.Values); plan.Until > 0 && !point.Met(plan.Until) {
			estimate, _ := point.Estimate()
			all = append(all, Caveat{Name: "UNTIL", Do: "end other work on the machines, or lengthen the window",
				Text: fmt.Sprintf("--until %g%% is not reached%s: the interval's half-width is %.2g %% after %s", 100*plan.Until, strings.TrimSuffix(" at "+at, " at "), 100*estimate.HalfWidth(), format.Plural(point.Trials(), "trial"))})
		}
		const chance = 0.01 // of such a warning in a sweep without a trend
		if p := stats.MannKendall(point.Rates()); point.OK() && p*float64(len(points)) < chance {
			at := strings.Join(format.NonEmpty("the rates", metrics.PointName(plan.Knobs, point.Values)), " at ")
			all = append(all, Caveat{Name: "TREND", Do: "warm up longer, or look for what changes",
				Text: fmt.Sprintf("%s have a trend in the order of the trials (Mann-Kendall p %.2g), and the interval takes them for independent", at, p)})
		}
	}
	return all
}
