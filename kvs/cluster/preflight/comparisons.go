package preflight

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"kvlab/metrics"
	"kvlab/metrics/stats"
)

// differences finds the machines that differ from the first: a benchmark of unequal
// nodes measures the slowest.
func differences(sites []*machine) []metrics.Finding {
	var found []metrics.Finding
	var first *machine
	for _, s := range sites {
		switch {
		case s.err != nil:
			continue
		case first == nil:
			first = s
			continue
		}
		for _, fact := range []struct{ name, mine, firsts string }{
			{"cpu", cpuText(s.Facts), cpuText(first.Facts)},
			{"kernel", s.Facts.Host.Kernel, first.Facts.Host.Kernel},
			{"link", linkText(s.Facts.Data), linkText(first.Facts.Data)},
		} {
			if fact.mine != fact.firsts {
				found = append(found, s.finding(metrics.Warn, fact.name,
					"has %s, and %s has %s", fact.mine, first.Name(), fact.firsts))
			}
		}
	}
	return found
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

// clockFindings compares the wall clocks with their median. No figure depends on them,
// but the machines' other logs are comparable only if they agree.
func clockFindings(sites []*machine) []metrics.Finding {
	var offsets []float64
	for _, s := range sites {
		if s.ClockBefore != nil {
			offsets = append(offsets, s.ClockBefore.OffsetS)
		}
	}
	slices.Sort(offsets)
	var found []metrics.Finding
	for _, s := range sites {
		if s.ClockBefore == nil {
			continue
		}
		ahead := s.ClockBefore.OffsetS - offsets[(len(offsets)-1)/2]
		sure := math.Abs(ahead) - s.ClockBefore.BoundS
		way := "ahead of"
		if ahead < 0 {
			way = "behind"
		}
		if sure > warnClockS {
			found = append(found, s.finding(metrics.Warn, "clock", "its wall clock is %.3f s %s the others", math.Abs(ahead), way))
		}
	}
	return found
}

// rttFindings finds missing paths between machines, and those with much longer round
// trips than the others.
func rttFindings(sites []*machine, rtts []metrics.RTT) []metrics.Finding {
	at := make(map[string]*machine)
	for _, s := range sites {
		at[s.Name()] = s
	}
	var times []float64
	for _, r := range rtts {
		if r.Err == "" {
			times = append(times, r.US)
		}
	}
	var found []metrics.Finding
	for _, r := range rtts {
		from := at[r.From]
		switch {
		case r.Err != "":
			found = append(found, from.finding(metrics.Fail, "rtt",
				"cannot reach %s over the data network: %s", r.To, r.Err))
		case r.US > fastRTT && r.US > slowRTT*stats.Median(times):
			found = append(found, from.finding(metrics.Warn, "rtt",
				"is %.1f ms away from %s, and most nodes are %.2f ms apart", r.US/1e3, r.To, stats.Median(times)/1e3))
		}
	}
	return found
}
