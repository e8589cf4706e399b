package metrics

// Latency collects what the workers' recorders took: each second into the
// histograms of an interval, and of these the window's into its total. It is
// for one goroutine, beside which the workers go on observing.
type Latency struct {
	recorders []*Recorder
	spare     observations
	interval  [len(phaseOrder)]*Latencies // by phase; nil until the phase is seen
	window    *Latencies
}

// NewLatency returns a collector and one recorder for each of the workers.
func NewLatency(workers int) (*Latency, []*Recorder) {
	l := &Latency{window: NewLatencies(), recorders: make([]*Recorder, workers)}
	for i := range l.recorders {
		l.recorders[i] = new(Recorder)
	}
	return l, l.recorders
}

// Collect takes what was observed since the last call and returns its
// histograms: those that are not empty for each phase that occurred, in the
// order of the phases and of LatencyNames. startS and lengthS are the interval's, as in Interval.
func (l *Latency) Collect(startS, lengthS float64) ([]Histogram, error) {
	for _, r := range l.recorders {
		l.spare = r.take(l.spare)
		ops := l.spare.ops
		for _, o := range l.spare.calls {
			n := 0
			if o.each {
				n = int(o.ops)
			}
			l.of(o.phase).observe(o, ops[:n])
			ops = ops[n:]
		}
	}
	var histograms []Histogram
	for i, interval := range l.interval {
		if interval == nil || interval.empty() {
			continue
		}
		phase := phaseOrder[i]
		some, err := interval.histograms(phase, startS, lengthS)
		if err != nil {
			return nil, err
		}
		histograms = append(histograms, some...)
		if phase == Window {
			l.window.join(interval)
		}
		interval.reset()
	}
	return histograms, nil
}

func (l *Latency) of(phase phaseIndex) *Latencies {
	if l.interval[phase] == nil {
		l.interval[phase] = NewLatencies()
	}
	return l.interval[phase]
}

// Quantiles returns the latencies of the whole window as far as it has been
// collected.
func (l *Latency) Quantiles() map[string]Quantiles {
	return l.window.Quantiles()
}
