// Package stages computes and judges the stages of an open loop whose rate changes.
package stages

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/metrics/latency"
	"kvlab/workload/profile"
)

// Of returns the stages of a run, all clients together, with the window's latencies, and why the
// store has not recovered from the last burst; "" if it has, or if that cannot be told. It needs
// the summaries of all clients, and returns no stages if one is missing.
func Of(run metrics.Run, window *latency.Set) (all []metrics.Stage, unrecovered string) {
	rate := profile.Parsed(run.Workload.Rate())
	var opens time.Time
	for _, node := range run.Clients() {
		if rate.Stages == nil || lacks(node, rate) {
			return nil, ""
		}
		all = sum(all, node.Summary.Offered.Stages)
		if begun := node.Summary.WindowStart; begun.After(opens) {
			opens = begun
		}
	}
	for i := range all {
		all[i].Latency, all[i].Late = new(window.Stage(i+1).Operations()), new(window.Stage(i+1).Late())
		refuse(&all[i])
	}
	ends := opens // of the stage
	for i := range all {
		ends = ends.Add(rate.Stages[i].Length)
		before, high := rate.Burst(i)
		if !high || all[before].Latency.P99 == nil {
			continue
		}
		all[i].CalmS = new(-1.0)
		if calm, ok := window.Stage(i + 2).Until(metrics.CalmLatency * *all[before].Latency.P99); ok {
			all[i].CalmS = new(calm.Sub(ends).Seconds())
		}
	}
	if burst, ok := rate.LastBurst(); ok && all != nil {
		for _, s := range rate.Stages[:burst+1] {
			opens = opens.Add(s.Length)
		}
		unrecovered = recovery(all, burst, window.Stage(len(all)), opens, ends)
	}
	return all, unrecovered
}

// lacks reports whether a client does not tell of the stages of its rate.
func lacks(client metrics.RunNode, rate profile.Rate) bool {
	return client.Summary == nil || client.Summary.Offered == nil || len(client.Summary.Offered.Stages) != len(rate.Stages)
}

// sum adds the stages of another client.
func sum(all, more []metrics.Stage) []metrics.Stage {
	if all == nil {
		return append(all, more...)
	}
	for i, m := range more {
		s := &all[i]
		s.Due, s.Answered, s.Behind = s.Due+m.Due, s.Answered+m.Answered, s.Behind+m.Behind
		if a, b := s.DrainedS, m.DrainedS; a != nil && b != nil && *a >= 0 && (*b < 0 || *b > *a) {
			s.DrainedS = b // all have drained when the last one has
		}
	}
	return all
}

// refuse takes away the latencies of a stage in which too few of its operations were answered, or
// says that no second was whole.
func refuse(s *metrics.Stage) {
	why := saturated(s)
	if why == "" && s.Latency.Values == 0 {
		why = "no whole second"
	}
	one := map[string]metrics.Quantiles{"": *s.Latency}
	metrics.Refuse(one, why)
	*s.Latency = one[""]
}

// saturated says that the store did not keep up with a stage; "" if it did.
func saturated(s *metrics.Stage) string {
	offered := metrics.Offered{Ops: s.Due, OpsPerS: float64(s.Due) / s.LengthS}
	return offered.Saturated(s.Answered)
}

// settled is the length of an interval, in which the backlog may still drain.
const settled = time.Second

// recovery says why the last stage, which ends at a time, has not recovered from a burst that ended
// earlier, though its level is no higher than the first one's: its backlog has not drained; or since
// then no second had a p99 of at most CalmLatency times the first one's, and their intervals have
// nothing in common. One calm second tells a store that stays slow from a machine that is busy at times.
func recovery(all []metrics.Stage, burst int, last *latency.Stage, ended, ends time.Time) string {
	n, drained := len(all), all[burst].DrainedS
	if drained == nil || saturated(&all[0]) != "" { // it did not keep up before the burst either
		return ""
	}
	text, before := "the backlog has drained, and ", *all[0].Latency
	from := ended.Add(time.Duration(*drained*1e9) + settled)
	if *drained < 0 {
		text = fmt.Sprintf("at all times more operations were behind than ever in stage 1, %s at its end; ", format.Count(float64(all[n-1].Behind)))
		from = ends.Add(-time.Duration(all[n-1].LengthS / 2 * 1e9)) // its second half
	}
	last = last.Since(from)
	after := last.Operations()
	if all[n-1].Latency.Refused != "" {
		after = *all[n-1].Latency
	}
	if *drained >= 0 {
		low, high := before.CI95["p99"], after.CI95["p99"]
		if before.P99 == nil || after.P99 == nil || low[1] == 0 || high[0] <= low[1] {
			return ""
		}
		if _, calm := last.Until(metrics.CalmLatency * *before.P99); calm {
			return ""
		}
	}
	return fmt.Sprintf("stage %d, %s, after stage %d, %s: %sits p99 is %s, at the same rate in stage 1 %s", n, all[n-1].Level, burst+1, all[burst].Level, text, p99(after), p99(before))
}

// p99 writes a p99 with its interval, as far as they are known.
func p99(q metrics.Quantiles) string {
	if q.P99 == nil {
		return "n/a (" + cmp.Or(q.Refused, "too few calls") + ")"
	}
	text := format.Milliseconds(*q.P99)
	if ci, ok := q.CI95["p99"]; ok {
		text += fmt.Sprintf(" [%s, %s]", format.Milliseconds(ci[0]), format.Milliseconds(ci[1]))
	}
	return text + " ms"
}

// rareDeviations: a Poisson count is further from its mean once in 10^9 times.
const rareDeviations = 6

// Judge compares the clients' counts of each stage with what the rate gives, with each other and
// with their counts in the window. It needs the summaries of all clients.
func Judge(run metrics.Run) metrics.CheckResult {
	rate := profile.Parsed(run.Workload.Rate())
	if rate.Stages == nil {
		return metrics.CheckResult{Outcome: metrics.CheckInapplicable, Evidence: "-rate: no stages"}
	}
	failed := func(node, layout string, args ...any) metrics.CheckResult {
		return metrics.CheckResult{Outcome: metrics.CheckFailed, Node: node, Evidence: fmt.Sprintf(layout, args...)}
	}
	for _, node := range run.Clients() {
		if lacks(node, rate) {
			return failed(node.Name, "the client does not tell of the stages of -rate")
		}
		s := node.Summary
		course := rate.Course(s.Offered.OpsPerS)
		due, answered, begins, sum := uint64(0), uint64(0), time.Duration(0), 0.0
		for i, stage := range s.Offered.Stages {
			if begins += rate.Stages[i].Length; i+1 == len(rate.Stages) {
				begins = max(begins, time.Duration(s.WindowLengthS*float64(time.Second)))
			}
			before := sum
			sum = course.Sum(begins)
			due, answered = due+stage.Due, answered+stage.Answered
			switch want := sum - before; {
			case math.Abs(float64(stage.Due)-want) > rareDeviations*math.Sqrt(want)+float64(len(s.Workers)):
				return failed(node.Name, "%d operations were due in stage %d, %s gives %.0f", stage.Due, i+1, stage.Level, want)
			case stage.Behind != due-answered:
				return failed(node.Name, "%d operations were behind at the end of stage %d: %d had been due and %d answered", stage.Behind, i+1, due, answered)
			}
		}
		if due != s.Offered.Ops || answered > s.InWindow.Ops() {
			return failed(node.Name, "in its stages %d operations were due and %d answered, in its window %d and %d", due, answered, s.Offered.Ops, s.InWindow.Ops())
		}
	}
	var timed uint64
	for _, s := range run.Stages {
		timed += s.Latency.Values
	}
	if whole := run.Latency[metrics.OpLatency].Values; timed > whole {
		return failed("", "the stages have the latencies of %d operations, the window those of %d", timed, whole)
	}
	return metrics.CheckResult{Outcome: metrics.CheckPassed, Evidence: fmt.Sprintf("the operations of %s are those of its rate", format.Plural(len(rate.Stages), "stage"))}
}

// Opening doubts a run that answered clearly more in its first stage than was due in it. It needs the
// run's stages.
func Opening(run metrics.Run) metrics.CheckResult {
	first, before := run.Stages[0], run.InWindow().Ops() // what was due before the window
	for _, s := range run.Stages {
		before -= min(before, s.Answered)
	}
	o := metrics.Offered{Ops: first.Due}
	if done := first.Answered + before; o.Ahead(done) {
		return metrics.CheckResult{Outcome: metrics.CheckDoubted, Evidence: fmt.Sprintf("%.1f %% of the operations that were due in stage 1 were answered in it: the warm-up left some behind", 100*o.Achieved(done))}
	}
	return metrics.CheckResult{Outcome: metrics.CheckPassed, Evidence: fmt.Sprintf("%d operations were due in stage 1, and %d had been due before it", first.Due, before)}
}
