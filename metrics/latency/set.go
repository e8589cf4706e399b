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
	Op     *Distribution // one value an operation: the sum of Kinds
	Wait   *Distribution // one value an operation
	Queue  *Distribution // one value a call that the server timed, as the next two
	Wire   *Distribution
	Server *Distribution
	Late   *Distribution // one value for each time that the generator slept

	Kinds [metrics.OpKinds]*Distribution // the values of Op by kind; nil without one

	calls, ops batches // of Call and Op: the values that came in records
	kinds      [metrics.OpKinds]batches
	stages     []*Stage
}

// NewSet returns empty distributions (about 1.3 MB, and 190 kB for each kind that comes).
func NewSet() *Set {
	return &Set{
		Call: NewDistribution(), Op: NewDistribution(), Wait: NewDistribution(), Queue: NewDistribution(),
		Wire: NewDistribution(), Server: NewDistribution(), Late: NewDistribution(),
	}
}

// Names are the names of the distributions, in their order. The first kind is Names[firstKind].
var Names = slices.Concat([]string{metrics.CallLatency, metrics.OpLatency}, metrics.KindNames[:metrics.OpKinds],
	[]string{metrics.WaitLatency, metrics.QueueLatency, metrics.WireLatency, metrics.ServerLatency, metrics.Lateness})

const firstKind = 2

// All returns the distributions in the order of Names. A kind that has no value is nil.
func (l *Set) All() []*Distribution {
	return slices.Concat([]*Distribution{l.Call, l.Op}, l.Kinds[:], []*Distribution{l.Wait, l.Queue, l.Wire, l.Server, l.Late})
}

// of returns the distribution Names[i].
func (l *Set) of(i int) *Distribution {
	if kind := i - firstKind; kind >= 0 && kind < len(l.Kinds) {
		return l.kind(kind)
	}
	return l.All()[i]
}

// kind returns the distribution of a kind.
func (l *Set) kind(kind int) *Distribution {
	if l.Kinds[kind] == nil {
		l.Kinds[kind] = NewDistribution()
	}
	return l.Kinds[kind]
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
	case i < firstKind+len(l.kinds):
		l.kinds[i-firstKind].add(r, d)
	}
	l.of(i).Add(d)
	return l.addStage(r, d)
}

// join adds all distributions of m.
func (l *Set) join(m *Set) {
	for i, theirs := range m.All() {
		if theirs != nil {
			l.of(i).Add(theirs)
		}
	}
}

// Quantiles returns the quantiles of the distributions by name: CallLatency and OpLatency
// always, the others if they have a value.
func (l *Set) Quantiles() map[string]metrics.Quantiles {
	calls := uint64(l.Call.TotalCount())
	quantiles := make(map[string]metrics.Quantiles)
	for i, d := range l.All() {
		name, kind := Names[i], i-firstKind
		if d.empty() && kind >= 0 {
			continue
		}
		samples, isKind := uint64(d.TotalCount()), kind >= 0 && kind < len(l.kinds)
		switch { // the operations of one call share its time
		case name == metrics.OpLatency || name == metrics.WaitLatency:
			samples = calls
		case isKind:
			samples = min(samples, calls)
		}
		q := QuantilesOf(d, samples)
		switch {
		case name == metrics.CallLatency:
			q.CI95, q.Octaves = l.calls.intervals(d, samples), d.octaves()
		case name == metrics.OpLatency:
			q.CI95, q.Octaves = l.ops.intervals(d, samples), d.octaves()
		case isKind:
			q.CI95 = l.kinds[kind].intervals(d, samples)
		}
		quantiles[name] = q
	}
	return quantiles
}

// operations counts n operations of a kind and of a call with one latency. Collect adds the
// kinds up to Op.
func (l *Set) operations(kind uint8, op, call, n uint32) {
	l.kind(int(kind)).record(op, n)
	l.Wait.record(rest(op, call), n)
}

// observe counts one call. ops are the latencies of its operations if each has its own, and
// kinds begin with theirs.
func (l *Set) observe(o *observation, ops []uint32, kinds []uint8) {
	l.Call.record(o.call, 1)
	for i, op := range ops {
		l.operations(kinds[i], op, o.call, 1)
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
