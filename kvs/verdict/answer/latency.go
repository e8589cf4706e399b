package answer

import (
	"strings"

	"kvlab/metrics"
	"kvlab/metrics/format"
)

// latencyOf has the main percentiles: of operations from when they were due in an open
// loop, of calls in a closed one. It tells the kinds of operation apart if they differ.
func latencyOf(run metrics.Run) string {
	name, of, loop := metrics.CallLatency, "of a call", "closed loop"
	if run.Offered != nil {
		name, of, loop = metrics.OpLatency, "of an operation since it was due", format.Count(run.Offered.OpsPerS)+" ops/s offered"
	}
	q := run.Latency[name]
	if q.Refused != "" {
		return "n/a: " + q.Refused
	}
	parts := percentiles(q)
	if parts == "" {
		return ""
	}
	return strings.Join(format.NonEmpty(of+": "+parts+" ms; "+loop, kindsOf(run), MixedKinds(run)), "; ")
}

// percentiles lists the known percentiles in milliseconds, but p90.
func percentiles(q metrics.Quantiles) string {
	var parts []string
	for i, us := range q.All() {
		if us != nil && metrics.QuantileNames[i] != "p90" {
			parts = append(parts, metrics.QuantileNames[i]+" "+format.Milliseconds(*us))
		}
	}
	return strings.Join(parts, ", ")
}

// kindsOf has the percentiles of each kind of operation, if the 95 % intervals of the medians
// or of the p99 of two kinds are apart; else "".
func kindsOf(run metrics.Run) string {
	var parts []string
	apart := false
	for kind, name := range metrics.KindNames {
		q := run.Latency[name]
		for _, other := range metrics.KindNames[:kind] {
			for _, key := range []string{"p50", "p99"} {
				a, known := q.CI95[key]
				b, both := run.Latency[other].CI95[key]
				apart = apart || known && both && (a[1] < b[0] || b[1] < a[0])
			}
		}
		if text := percentiles(q); text != "" {
			parts = append(parts, name+" "+text)
		}
	}
	if !apart {
		return ""
	}
	return strings.Join(parts, "; ") + " ms"
}

// MixedKinds says that an operation's kind has the time of the kinds beside it, if a round
// has several operations of more than one kind; else "".
func MixedKinds(run metrics.Run) string {
	kinds := 0
	for _, name := range metrics.KindNames {
		if run.Latency[name].Values > 0 {
			kinds++
		}
	}
	if kinds < 2 || run.InWindow().PerCall() <= 1 && (run.Offered != nil || run.Count(metrics.Server) == 1) {
		return ""
	}
	return "a kind has its call's time"
}
