// Package latency records latencies in HdrHistograms: a recorder for each worker, a
// collector for each node, their sums, quantiles, and an interval log for a run.
package latency

import "kvlab/metrics"

// Collector merges the workers' recorders each second into the histograms of an
// interval, and those of the window into its total. One goroutine uses it while the
// workers go on observing.
type Collector struct {
	recorders []*Recorder
	spare     observations
	interval  [len(phaseOrder)]*Set // by phase; nil until the phase is seen
	Window    *Set                  // sums of the whole window as far as it has been collected

	// Tallies are the operations that were put into Window and those whose replies came
	// in it, by the server's number.
	Tallies []metrics.Tally
}

// NewCollector returns a collector and one recorder for each of the workers, which talk
// to a number of servers.
func NewCollector(workers, servers int) (*Collector, []*Recorder) {
	l := &Collector{Window: NewSet(), recorders: make([]*Recorder, workers), Tallies: make([]metrics.Tally, servers)}
	for i := range l.recorders {
		l.recorders[i] = new(Recorder)
	}
	return l, l.recorders
}

// Collect takes the observations since the last call. It returns the histograms that are
// not empty, in the order of the phases and of Names. startS and lengthS are the
// interval's, as in Interval.
func (l *Collector) Collect(startS, lengthS float64) ([]metrics.Histogram, error) {
	for _, r := range l.recorders {
		l.spare = r.take(l.spare)
		ops := l.spare.ops
		for _, o := range l.spare.calls {
			l.tally(o)
			if o.call == 0 {
				continue
			}
			if l.interval[o.phase] == nil {
				l.interval[o.phase] = NewSet()
			}
			l.interval[o.phase].observe(o, ops[:o.each])
			ops = ops[o.each:]
		}
	}
	var histograms []metrics.Histogram
	for i, interval := range l.interval {
		if interval == nil || interval.Call.empty() {
			continue
		}
		phase := phaseOrder[i]
		some, err := interval.histograms(phase, startS, lengthS)
		if err != nil {
			return nil, err
		}
		histograms = append(histograms, some...)
		if phase == metrics.Window {
			l.Window.join(interval)
		}
		interval.reset()
	}
	return histograms, nil
}

// tally counts an observation's operations.
func (l *Collector) tally(o observation) {
	t := &l.Tallies[o.peer]
	var ops Kinds
	for kind, n := range o.ops {
		ops[kind] = uint64(n)
	}
	counts := metrics.CountsOf(ops, 0, 0, 1)
	if o.call == 0 {
		counts.Calls = 0
	}
	if phaseOrder[o.phase] == metrics.Window {
		t.Due = t.Due.Add(counts)
	}
	if o.inside {
		t.Replied = t.Replied.Add(counts)
	}
}
