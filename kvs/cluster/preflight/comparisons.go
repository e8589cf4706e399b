package preflight

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"kvlab/metrics"
	"kvlab/metrics/stats"
)

// differences reports the machines that differ from the first: a benchmark of unequal
// nodes measures the slowest.
func (a *assessment) differences(machines []*machine) {
	var first *machine
	for _, m := range machines {
		if m.err != nil {
			continue
		}
		first = cmp.Or(first, m)
		for _, fact := range []struct{ name, own, first string }{
			{"cpu", cpuText(m.Facts), cpuText(first.Facts)},
			{"kernel", m.Facts.Host.Kernel, first.Facts.Host.Kernel},
			{"link", linkText(m.Facts.Data), linkText(first.Facts.Data)},
		} {
			if fact.own != fact.first {
				a.add(m, metrics.Warn, fact.name, "has %s, and %s has %s", fact.own, first.Name(), fact.first)
			}
		}
	}
}

func cpuText(f *metrics.Facts) string {
	return fmt.Sprintf("%s, %d cores", cmp.Or(f.Host.CPUModel, "an unnamed processor"), f.Host.Cores)
}

func linkText(l metrics.Link) string {
	speed := "speed unknown"
	if l.BitsPerS > 0 {
		speed = fmt.Sprintf("%g Gb/s", float64(l.BitsPerS)/1e9)
	}
	return fmt.Sprintf("%s, MTU %d", speed, l.MTUBytes)
}

// clocks compares the wall clocks with their median. No figure depends on them,
// but the machines' other logs are comparable only if they agree.
func (a *assessment) clocks(machines []*machine) {
	var offsets []float64
	for _, m := range machines {
		if m.ClockBefore != nil {
			offsets = append(offsets, m.ClockBefore.OffsetS)
		}
	}
	slices.Sort(offsets)
	for _, m := range machines {
		if m.ClockBefore == nil {
			continue
		}
		ahead := m.ClockBefore.OffsetS - offsets[(len(offsets)-1)/2]
		way := "ahead of"
		if ahead < 0 {
			way = "behind"
		}
		if math.Abs(ahead)-m.ClockBefore.BoundS > warnClockS {
			a.add(m, metrics.Warn, "clock", "its wall clock is %.3f s %s the others", math.Abs(ahead), way)
		}
	}
}

// rtts reports missing paths between machines, and those with much longer round
// trips than the others.
func (a *assessment) rtts(machines []*machine, rtts []metrics.RTT) {
	var times []float64
	for _, r := range rtts {
		if r.Err == "" {
			times = append(times, r.US)
		}
	}
	median := stats.Median(times)
	for _, r := range rtts {
		from := machines[slices.IndexFunc(machines, func(m *machine) bool { return m.Name() == r.From })]
		switch {
		case r.Err != "":
			a.add(from, metrics.Fail, "rtt", "cannot reach %s over the data network: %s", r.To, r.Err)
		case r.US > fastRTT && r.US > slowRTT*median:
			a.add(from, metrics.Warn, "rtt", "is %.1f ms away from %s, and most nodes are %.2f ms apart", r.US/1e3, r.To, median/1e3)
		}
	}
}
