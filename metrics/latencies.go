package metrics

import "fmt"

// Latencies are the latency distributions of some stretch of a run: of a second
// or of the window, of one node or of many. Not safe for concurrent use.
type Latencies struct {
	Call   *Distribution // one value a call
	Op     *Distribution // one value an operation
	Wait   *Distribution // one value an operation
	Queue  *Distribution // one value a call that the server timed, as the next two
	Wire   *Distribution
	Server *Distribution
	Late   *Distribution // one value for each time that the generator slept
}

// NewLatencies returns empty distributions (about 1.3 MB).
func NewLatencies() *Latencies {
	return &Latencies{
		Call: NewDistribution(), Op: NewDistribution(), Wait: NewDistribution(), Queue: NewDistribution(),
		Wire: NewDistribution(), Server: NewDistribution(), Late: NewDistribution(),
	}
}

// LatencyNames are the names of the distributions, in their order.
var LatencyNames = [...]string{CallLatency, OpLatency, WaitLatency, QueueLatency, WireLatency, ServerLatency, Lateness}

// all are the distributions in the order of LatencyNames.
func (l *Latencies) all() [len(LatencyNames)]*Distribution {
	return [...]*Distribution{l.Call, l.Op, l.Wait, l.Queue, l.Wire, l.Server, l.Late}
}

// Add adds one Histogram record to the distribution that it names.
func (l *Latencies) Add(h Histogram) error {
	d, err := decode(h)
	if err != nil {
		return err
	}
	return l.add(h.Name, d)
}

// add adds to the distribution of a name.
func (l *Latencies) add(name string, d *Distribution) error {
	for i, mine := range l.all() {
		if LatencyNames[i] == name {
			mine.Add(d)
			return nil
		}
	}
	return fmt.Errorf("histogram named %q, want one of %q", name, LatencyNames)
}

// join adds all distributions of m.
func (l *Latencies) join(m *Latencies) {
	theirs := m.all()
	for i, mine := range l.all() {
		mine.Add(theirs[i])
	}
}

// Quantiles reads the distributions off, by their names: CallLatency and
// OpLatency always, the others when they have a value.
func (l *Latencies) Quantiles() map[string]Quantiles {
	calls := uint64(l.Call.TotalCount())
	quantiles := make(map[string]Quantiles)
	for i, d := range l.all() {
		name, samples := LatencyNames[i], uint64(d.TotalCount())
		switch name {
		case OpLatency, WaitLatency:
			samples = calls // the operations of one call share its fate
		}
		if name == CallLatency || name == OpLatency || !d.empty() {
			quantiles[name] = QuantilesOf(d, samples)
		}
	}
	return quantiles
}

// observe counts one call. ops are the operations' own latencies, when they have
// such.
func (l *Latencies) observe(o observation, ops []uint32) {
	l.Call.record(o.call, 1)
	if o.each {
		for _, op := range ops {
			l.Op.record(op, 1)
			l.Wait.record(rest(op, o.call), 1)
		}
	} else {
		l.Op.record(o.op, o.ops)
		l.Wait.record(rest(o.op, o.call), o.ops)
	}
	if o.server > 0 {
		l.Queue.record(o.queue, 1)
		l.Server.record(o.server, 1)
		l.Wire.record(rest(rest(o.call, o.queue), o.server), 1)
	}
	if o.late > 0 {
		l.Late.record(o.late, 1)
	}
}

// rest is what a part leaves of the whole: at least 1, the histograms' unit,
// because each was rounded for itself.
func rest(whole, part uint32) uint32 {
	switch {
	case whole == outOfRange || part == outOfRange:
		return outOfRange
	case whole <= part:
		return minLatencyMicros
	}
	return whole - part
}

// histograms returns the distributions that are not empty as records' contents.
func (l *Latencies) histograms(phase Phase, startS, lengthS float64) ([]Histogram, error) {
	var histograms []Histogram
	for i, d := range l.all() {
		if d.empty() {
			continue
		}
		h, err := encode(Histogram{Name: LatencyNames[i], Phase: phase, StartS: startS, LengthS: lengthS}, d)
		if err != nil {
			return nil, err
		}
		histograms = append(histograms, h)
	}
	return histograms, nil
}

func (l *Latencies) empty() bool { return l.Call.empty() }

func (l *Latencies) reset() {
	for _, d := range l.all() {
		if !d.empty() {
			d.reset()
		}
	}
}
