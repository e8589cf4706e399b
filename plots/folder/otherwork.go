package folder

import (
	"cmp"
	"slices"
	"time"
)

// OtherWork returns the stretches of time in which processes that are not the run's took
// a share of a machine's processors or more, in per cent. A stretch is its start and its
// end, in seconds after the window's start; in their order. Network interrupts are the
// run's. A sample in which the run's processes used nothing
// says nothing.
func (r *Run) OtherWork(percent float64) (spans [][2]float64) {
	machines := map[string][]Log{}
	for _, log := range r.Logs {
		if log.Config != nil && log.Config.Host.Cores > 0 {
			name := log.Config.Host.Hostname
			machines[name] = append(machines[name], log)
		}
	}
	for _, logs := range machines {
		first := logs[0]
		cores, interrupts := float64(first.Config.Host.Cores), 0.0
		if first.Summary != nil && first.Summary.Saturation != nil {
			interrupts = first.Summary.Saturation.InterruptPercent
		}
		for _, s := range first.Usages {
			own := 0.0
			for _, log := range logs {
				own += log.processCPU(s.Time.Add(-time.Duration(s.LengthS/2*float64(time.Second)))) / cores
			}
			if end := r.seconds(s.Time); own > 0 && s.Values[CPU]-interrupts-own >= percent && !s.isRest() {
				spans = append(spans, [2]float64{end - s.LengthS, end})
			}
		}
	}
	return joined(spans)
}

// joined joins stretches that overlap or are less than half a second apart, as samples are
// when the end of a phase cuts one off.
func joined(spans [][2]float64) (all [][2]float64) {
	slices.SortFunc(spans, func(a, b [2]float64) int { return cmp.Compare(a[0], b[0]) })
	for _, span := range spans {
		if last := len(all) - 1; last >= 0 && span[0] < all[last][1]+0.5 {
			all[last][1] = max(all[last][1], span[1])
		} else {
			all = append(all, span)
		}
	}
	return all
}

// processCPU returns what the node's process used in the sample that holds a moment, in per
// cent of one core; 0 without one.
func (l Log) processCPU(at time.Time) float64 {
	for _, s := range l.Usages {
		if !s.Time.Before(at) {
			return s.Values[ProcessCPU]
		}
	}
	return 0
}
