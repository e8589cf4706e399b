package metrics

import "fmt"

// Latencies are the two latency distributions of some stretch of a run: of a
// second or of the window, of one node or of many. Not safe for concurrent use.
type Latencies struct {
	Call *Distribution // one value a call
	Op   *Distribution // one value an operation
}

// NewLatencies returns empty distributions.
func NewLatencies() *Latencies {
	return &Latencies{Call: NewDistribution(), Op: NewDistribution()}
}

// WindowLatencies adds up what the records say of the window: of one node, or
// of all clients when they are given the records of all. Records of other kinds
// and phases are passed over.
func WindowLatencies(records []Record) (*Latencies, error) {
	sum := NewLatencies()
	for _, r := range records {
		if r.Histogram == nil || r.Histogram.Phase != Window {
			continue
		}
		if err := sum.Add(*r.Histogram); err != nil {
			return nil, fmt.Errorf("node %s: %w", r.Node, err)
		}
	}
	return sum, nil
}

// Add adds one Histogram record to the distribution that it names.
func (l *Latencies) Add(h Histogram) error {
	d, err := h.Decode()
	if err != nil {
		return err
	}
	switch h.Name {
	case CallLatency:
		l.Call.Add(d)
	case OpLatency:
		l.Op.Add(d)
	default:
		return fmt.Errorf("histogram named %q, want %q or %q", h.Name, CallLatency, OpLatency)
	}
	return nil
}

// Quantiles reads both distributions off, by their names.
func (l *Latencies) Quantiles() map[string]Quantiles {
	calls := uint64(l.Call.TotalCount())
	return map[string]Quantiles{
		CallLatency: QuantilesOf(l.Call, calls),
		OpLatency:   QuantilesOf(l.Op, calls),
	}
}

// observe counts one call.
func (l *Latencies) observe(o observation) {
	l.Call.record(o.callMicros, 1)
	l.Op.record(o.opMicros, o.ops)
}

// histograms returns both distributions as records' contents.
func (l *Latencies) histograms(phase Phase, startS, lengthS float64) ([]Histogram, error) {
	call, err := Histogram{Name: CallLatency, Phase: phase, StartS: startS, LengthS: lengthS}.encode(l.Call)
	if err != nil {
		return nil, err
	}
	op, err := Histogram{Name: OpLatency, Phase: phase, StartS: startS, LengthS: lengthS}.encode(l.Op)
	return []Histogram{call, op}, err
}

func (l *Latencies) empty() bool {
	return l.Call.TotalCount() == 0 && l.Call.OutOfRange == 0
}

func (l *Latencies) reset() {
	l.Call.reset()
	l.Op.reset()
}
