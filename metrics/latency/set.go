package latency

import (
	"fmt"
	"slices"

	"kvlab/metrics"
)

// Set holds the latency distributions of a second or of the window, of one node or of
// many. Not safe for concurrent use.
type Set struct {
	Call   *Distribution // one value a call
	Op     *Distribution // one value an operation
	Wait   *Distribution // one value an operation
	Queue  *Distribution // one value a call that the server timed, as the next two
	Wire   *Distribution
	Server *Distribution
	Late   *Distribution // one value for each time that the generator slept

	calls, ops batches // of Call and Op: the values that came in records
}

// NewSet returns empty distributions (about 1.3 MB).
func NewSet() *Set {
	return &Set{
		Call: NewDistribution(), Op: NewDistribution(), Wait: NewDistribution(), Queue: NewDistribution(),
		Wire: NewDistribution(), Server: NewDistribution(), Late: NewDistribution(),
	}
}

// Names are the names of the distributions, in their order.
var Names = [...]string{metrics.CallLatency, metrics.OpLatency, metrics.WaitLatency, metrics.QueueLatency, metrics.WireLatency, metrics.ServerLatency, metrics.Lateness}

// All returns the distributions in the order of Names.
func (l *Set) All() [len(Names)]*Distribution {
	return [...]*Distribution{l.Call, l.Op, l.Wait, l.Queue, l.Wire, l.Server, l.Late}
}

// Add adds the values of a record's Histogram to the distribution that it names.
func (l *Set) Add(r metrics.Record) error {
	d, err := Decode(*r.Histogram)
	if err != nil {
		return err
	}
	return l.add(r, d)
}

// add adds the decoded Histogram of a record.
func (l *Set) add(r metrics.Record, d *Distribution) error {
	i := slices.Index(Names[:], r.Histogram.Name)
	switch {
	case i < 0:
		return fmt.Errorf("histogram named %q, want one of %q", r.Histogram.Name, Names)
	case Names[i] == metrics.CallLatency:
		l.calls.add(r, d)
	case Names[i] == metrics.OpLatency:
		l.ops.add(r, d)
	}
	l.All()[i].Add(d)
	return nil
}

// join adds all distributions of m.
func (l *Set) join(m *Set) {
	theirs := m.All()
	for i, mine := range l.All() {
		mine.Add(theirs[i])
	}
}

// Quantiles returns the quantiles of the distributions by name: CallLatency and OpLatency
// always, the others if they have a value.
func (l *Set) Quantiles() map[string]metrics.Quantiles {
	calls := uint64(l.Call.TotalCount())
	quantiles := make(map[string]metrics.Quantiles)
	for i, d := range l.All() {
		name, samples := Names[i], uint64(d.TotalCount())
		switch name {
		case metrics.OpLatency, metrics.WaitLatency:
			samples = calls // the operations of one call share its time
		}
		witnessed := name == metrics.CallLatency || name == metrics.OpLatency
		if d.empty() && !witnessed {
			continue
		}
		q := QuantilesOf(d, samples)
		switch name {
		case metrics.CallLatency:
			q.CI95, q.Octaves = l.calls.intervals(d, samples), d.octaves()
		case metrics.OpLatency:
			q.CI95, q.Octaves = l.ops.intervals(d, samples), d.octaves()
		}
		quantiles[name] = q
	}
	return quantiles
}

// operations counts n operations of a call with one latency.
func (l *Set) operations(op, call, n uint32) {
	l.Op.record(op, n)
	l.Wait.record(rest(op, call), n)
}

// observe counts one call. ops are the latencies of its operations if each has its own.
func (l *Set) observe(o *observation, ops []uint32) {
	l.Call.record(o.call, 1)
	for _, op := range ops {
		l.operations(op, o.call, 1)
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

// rest returns the whole without a part. It is at least 1, the histograms' unit, because both
// are rounded.
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
func (l *Set) histograms(phase metrics.Phase, startS, lengthS float64) ([]metrics.Histogram, error) {
	var histograms []metrics.Histogram
	for i, d := range l.All() {
		if d.empty() {
			continue
		}
		hdr, err := d.EncodeV2()
		if err != nil {
			return nil, fmt.Errorf("encode the %s histogram at %.3f s: %w", Names[i], startS, err)
		}
		histograms = append(histograms, metrics.Histogram{Name: Names[i], Phase: phase, StartS: startS, LengthS: lengthS, HDR: string(hdr), OutOfRange: d.OutOfRange})
	}
	return histograms, nil
}

func (l *Set) reset() {
	for _, d := range l.All() {
		if !d.empty() {
			d.reset()
		}
	}
}
