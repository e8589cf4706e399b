package history

import "kvlab/metrics"

// writeRanges holds a slice's spans by writer, which is version 0 of its values.
type writeRanges map[metrics.Value]metrics.WorkerSpan

func newWriteRanges(list []metrics.WorkerSpan) writeRanges {
	s := make(writeRanges, len(list))
	for _, span := range list {
		s[metrics.MakeValue(span.Client, span.Worker, 0)] = span
	}
	return s
}

// write returns the write of a value that is not in the history, over its possible
// times; false if such a write would be in the history.
func (s writeRanges) write(v metrics.Value) (op, bool) {
	o := op{Client: v.Client(), Worker: v.Worker(), Wrote: v, CallNs: always, ReturnNs: metrics.Never}
	span, known := s[metrics.MakeValue(v.Client(), v.Worker(), 0)]
	switch {
	case v == metrics.NoValue:
		o.ReturnNs = always // nothing is ever deleted
	case !known:
	case v.Version() <= span.First:
		o.ReturnNs = span.BegunNs
	case v.Version() > span.Last:
		o.CallNs = span.EndedNs
	default:
		return op{}, false
	}
	return o, true
}
