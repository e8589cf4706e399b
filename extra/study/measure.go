package study

import (
	"cmp"
	"fmt"
	"strings"

	"kvlab/internal/cli"
	"kvlab/metrics"
	"kvlab/metrics/format"
)

// Measure is a quantity of a trial that claims compare.
type Measure struct {
	Name, Unit string
	of         func(metrics.Trial) float64 // of a valid trial with its Run; 0: not known
}

// Measures are all of them, the default first.
var Measures = []Measure{
	{"ops/s", "ops/s", func(t metrics.Trial) float64 { return t.OpsPerS }},
	{"mean", "us", func(t metrics.Trial) float64 { return t.Run.Latency[metrics.CallLatency].Mean }},
	{"p50", "us", func(t metrics.Trial) float64 { return known(t.P50) }}, // of the calls
	{"p95", "us", func(t metrics.Trial) float64 { return known(t.Run.Latency[metrics.CallLatency].P95) }},
	{"p99", "us", func(t metrics.Trial) float64 { return known(t.P99) }},
	{"cpu/op", "ns", func(t metrics.Trial) float64 { return t.Run.CPUPerOp(metrics.Server, metrics.Client) }},
	{"server-cpu/op", "ns", func(t metrics.Trial) float64 { return t.Run.CPUPerOp(metrics.Server) }},
	{"client-cpu/op", "ns", func(t metrics.Trial) float64 { return t.Run.CPUPerOp(metrics.Client) }},
	{"memory", "MB", func(t metrics.Trial) float64 { return float64(t.Run.LargestServer()) / 1e6 }},
	{"bytes/op", "B", func(t metrics.Trial) float64 { return t.BytesPerOpSent + t.BytesPerOpReceived }}, // of clients, both ways
	{"imbalance", "x", imbalance},
	{"accounted", "", func(t metrics.Trial) float64 { // of the operations that clients verified, those that servers counted
		return float64(t.Run.Applied.Ops()) / float64(t.Run.Total.Ops())
	}},
}

func known(value *float64) float64 {
	if value == nil {
		return 0
	}
	return *value
}

// imbalance returns the share of the operations that the hottest server has, over the mean.
func imbalance(t metrics.Trial) (most float64) {
	if t.Run.Skew == nil {
		return 0
	}
	for _, s := range t.Run.Skew.Servers {
		most = max(most, s.Share.Observed)
	}
	return most * float64(len(t.Run.Skew.Servers))
}

// measureOf returns the measure of a name, the first of "".
func measureOf(name string) (Measure, error) {
	var names []string
	for _, m := range Measures {
		if m.Name == cmp.Or(name, Measures[0].Name) {
			return m, nil
		}
		names = append(names, m.Name)
	}
	return Measure{}, fmt.Errorf("measure %q: want one of %q%s", name, names, cli.DidYouMean(name, "", names))
}

// show writes a value of the measure with its unit.
func (m Measure) show(value float64) string {
	return strings.TrimSpace(format.Count(value) + " " + m.Unit)
}
