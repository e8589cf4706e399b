package folder

import "time"

// OtherWork returns the stretches of time in which processes that are not the run's took
// a share of a machine's processors or more, in per cent. A stretch is its start and its
// end, in seconds after the window's start. Network interrupts are the run's. Stretches
// of different machines may overlap. A sample in which the run's processes used nothing
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
	return spans
}

// processCPU is what the node's process used in the sample that holds a moment, in per
// cent of one core; 0 without one.
func (l Log) processCPU(at time.Time) float64 {
	for _, s := range l.Usages {
		if !s.Time.Before(at) {
			return s.Values[ProcessCPU]
		}
	}
	return 0
}
