package labserver

import (
	"math/bits"

	"kvlab/metrics"
)

// span is a connection's share of the work.
type span struct {
	first, last int64
	ops         uint64
}

// sum adds up connections.
type sum struct {
	count
	spans []span
}

// add adds a connection that has ended.
func (s *sum) add(c *count) {
	if c.calls == 0 {
		return
	}
	if s.calls == 0 || c.first < s.first {
		s.first = c.first
	}
	s.last = max(s.last, c.last)
	s.spans = append(s.spans, span{c.first, c.last, c.gets + c.puts})
	s.slots.Merge(c.slots)
	for i, size := range c.sizes {
		s.sizes[i] = joined(s.sizes[i], size)
	}
	for key := range metrics.HotKeys {
		s.hotGets[key] += c.hotGets[key]
		s.hotPuts[key] += c.hotPuts[key]
	}
	for i, n := range c.octaves {
		s.octaves[i] += n
	}
	if s.strange == 0 {
		s.stranger = c.stranger
	}
	s.highest, s.inFlight, s.inFlightAll = max(s.highest, c.highest), max(s.inFlight, c.inFlight), max(s.inFlightAll, c.inFlightAll)
	for _, n := range []struct{ to, from *uint64 }{
		{&s.gets, &c.gets}, {&s.puts, &c.puts}, {&s.hits, &c.hits}, {&s.calls, &c.calls}, {&s.strange, &c.strange}, {&s.present, &c.present},
		{&s.overtakable, &c.overtakable}, {&s.lone, &c.lone}, {&s.flushed, &c.flushed}, {&s.unanswered, &c.unanswered}, {&s.lost, &c.lost},
		{&s.left, &c.left}, {&s.repeats, &c.repeats}, {&s.coldGets, &c.coldGets}, {&s.both, &c.both},
	} {
		*n.to += *n.from
	}
}

// joined returns both counts of an octave as one.
func joined(a, b metrics.Size) metrics.Size {
	switch {
	case a.Calls == 0:
		return b
	case b.Calls == 0:
		return a
	}
	most := metrics.Size{Least: min(a.Least, b.Least), Most: max(a.Most, b.Most), Calls: a.Calls + b.Calls}
	for _, s := range []metrics.Size{a, b} {
		if s.Most == most.Most {
			most.AtMost += s.AtMost
		}
	}
	return most
}

// witness returns the record.
func (s *sum) witness(form string) *metrics.Witness {
	w := &metrics.Witness{
		Form: form, First: s.first, Last: s.last, Gets: s.gets, Puts: s.puts, Hits: s.hits, Slots: s.slots, Calls: s.calls,
		Connections: uint64(len(s.spans)), InFlight: s.inFlight, InFlightAll: s.inFlightAll, Overtakable: s.overtakable, LonePuts: s.lone, FlushedByPut: s.flushed,
		Unanswered: s.unanswered, UnansweredOps: s.lost, Left: s.left, Repeats: s.repeats,
		Highest: s.highest, Strange: s.strange, Stranger: s.stranger, ColdGets: s.coldGets, ColdBoth: s.both,
	}
	if s.calls == 0 {
		return w
	}
	w.InFlightMean = float64(s.present) / float64(s.calls)
	w.HotGets, w.HotPuts = s.hotGets[:], s.hotPuts[:]
	if s.highest >= metrics.HotKeys {
		w.Octaves = s.octaves[:bits.Len64(s.highest)-bits.Len64(metrics.HotKeys)+1]
	}
	for _, size := range s.sizes {
		if size.Calls > 0 {
			w.Sizes = append(w.Sizes, size)
		}
	}
	half := max((s.last-s.first)/2, 1)
	w.Least = s.spans[0].ops
	for _, c := range s.spans {
		w.ConnRate += float64(c.ops) / (float64(max(c.last-c.first, half)) / 1e9)
		w.Least, w.Most = min(w.Least, c.ops), max(w.Most, c.ops)
	}
	return w
}

// ones returns how many bits of a word are set.
func ones(word uint64) uint64 { return uint64(bits.OnesCount64(word)) }
