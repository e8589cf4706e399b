// Package latency records latencies in HdrHistograms: a recorder for each worker, a
// collector for each node, their sums, quantiles, and an interval log for a run.
package latency

import "kvlab/metrics"

// Collector merges the workers' recorders each second into the histograms of an
// interval, and the window's into its total. One goroutine uses it while the
// workers go on observing.
type Collector struct {
	recorders []*Recorder
	spare     observations
	interval  [len(phaseOrder)]*Set // by phase; nil until the phase is seen
	Window    *Set                  // sums of what has been collected of the window so far

	// By the server's number: the operations that were put into Window, and the operations
	// whose replies came in it.
	due, replied []tally
}

// tally is numbers of operations by kind, and of the calls that carried them.
type tally struct {
	ops   Kinds
	calls uint64
}

// NewCollector returns a collector and one recorder for each of the workers, which talk
// to a number of servers.
func NewCollector(workers, servers int) (*Collector, []*Recorder) {
	l := &Collector{Window: NewSet(), recorders: make([]*Recorder, workers), due: make([]tally, servers), replied: make([]tally, servers)}
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
		l.observe(l.spare)
	}
	var histograms []metrics.Histogram
	for i, interval := range l.interval {
		if interval == nil || interval.Call.empty() {
			continue
		}
		phase := phaseOrder[i]
		for _, d := range interval.Kinds {
			if d != nil {
				interval.Op.Add(d)
			}
		}
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

// observe counts one worker's observations.
func (l *Collector) observe(all observations) {
	ops, kinds, call := all.ops, all.kinds, uint32(0)
	for i := range all.calls {
		o := &all.calls[i]
		if o.phase == inWindow {
			l.due[o.peer].add(o)
		}
		if o.inside {
			l.replied[o.peer].add(o)
		}
		if l.interval[o.phase] == nil {
			l.interval[o.phase] = NewSet()
		}
		interval := l.interval[o.phase]
		if o.call != 0 {
			call = o.call
			interval.observe(o, ops[:o.each], kinds)
			ops, kinds = ops[o.each:], kinds[o.each:]
		}
		if o.op != 0 && int(o.kind) < metrics.OpKinds {
			interval.operations(o.kind, o.op, call, o.ops)
		}
	}
}

func (t *tally) add(o *observation) {
	t.ops[o.kind] += uint64(o.ops)
	if o.call != 0 {
		t.calls++
	}
}

func (t tally) counts() metrics.Counts { return metrics.CountsOf(t.ops, 0, 0, t.calls) }

// Tally returns, for the calls to a server, the operations that were put into Window and the
// operations whose replies came in it.
func (l *Collector) Tally(server int) metrics.Tally {
	return metrics.Tally{Due: l.due[server].counts(), Replied: l.replied[server].counts()}
}
