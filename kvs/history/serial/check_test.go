package serial

import (
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"kvlab/metrics"
)

// loader wrote the first values, and recorded nothing later.
var loader = metrics.WorkerSpan{Client: 9, Worker: 9, First: 10, Last: 20, BegunNs: -1, EndedNs: 1 << 40}

// story makes random histories.
type story struct {
	*rand.Rand
	versions bool // the store tells them
	faulty   bool // operations of different transactions mix
	keys     int
	loaded   []metrics.WriteID // of each key
	at       []action
	h        *History
}

// action is an operation at a time, or the end of an attempt.
type action struct {
	time    int
	attempt int
	op      int
}

// tell returns a random history of at most six transactions.
func (s *story) tell() *History {
	s.h, s.at = &History{Spans: []metrics.WorkerSpan{loader}}, nil
	s.keys = 1 + s.IntN(3)
	s.loaded = nil
	for key := range s.keys {
		s.h.Keys = append(s.h.Keys, string(rune('a'+key)))
		s.loaded = append(s.loaded, []metrics.WriteID{metrics.NoWrite, metrics.MakeWriteID(9, 9, 1+uint32(key))}[s.IntN(2)])
	}
	for i := range 2 + s.IntN(5) {
		s.h.Spans = append(s.h.Spans, metrics.WorkerSpan{Worker: i, Last: 1000, EndedNs: 1 << 40})
		s.attempt(i)
	}
	s.run()
	for s.faulty && s.IntN(5) == 0 {
		s.corrupt()
	}
	return s.h
}

func (s *story) attempt(worker int) {
	call := s.IntN(20)
	length := 2 + s.IntN(12)
	a := Attempt{Worker: uint16(worker), CallNs: int64(call), ReturnNs: int64(call + length)}
	switch s.IntN(8) {
	case 0:
		a.Outcome = Aborted
	case 1:
		a.Outcome = Unknown
	}
	id := metrics.MakeWriteID(0, worker, 0)
	write := func() metrics.WriteID { id = id.Next(); return id }
	for range 1 + s.IntN(3) {
		key := uint32(s.IntN(s.keys))
		switch n := s.IntN(8); {
		case n < 3:
			a.Ops = append(a.Ops, Op{Key: key, Reads: true})
		case n < 5:
			a.Ops = append(a.Ops, Op{Key: key, Reads: true}, Op{Key: key, Wrote: write()})
		case n == 5 && s.versions:
			a.Ops = append(a.Ops, Op{Key: key, Wrote: write()})
		default:
			a.Ops = append(a.Ops, Op{Key: key, Reads: true, Wrote: write()})
		}
	}
	s.h.Attempts = append(s.h.Attempts, a)
	points := make([]int, len(a.Ops))
	for i := range points {
		if points[i] = call + s.IntN(length+1); !s.faulty {
			points[i] = points[0]
		}
	}
	slices.Sort(points)
	for i, point := range points {
		s.at = append(s.at, action{point, worker, i})
	}
}

// run executes the operations at their times. Aborted attempts have no effect, and one in two
// unknown ones has none.
func (s *story) run() {
	slices.SortStableFunc(s.at, func(a, b action) int { return a.time - b.time })
	value, version := make([]metrics.WriteID, s.keys), make([]uint64, s.keys)
	for key := range value {
		value[key] = s.loaded[key]
		version[key] = 1
	}
	works, words := make([]bool, len(s.h.Attempts)), 1+s.IntN(s.keys) // keys share words
	for i, a := range s.h.Attempts {
		works[i] = a.Outcome == Committed || a.Outcome == Unknown && s.IntN(2) == 0
	}
	for i, at := range s.at {
		o := &s.h.Attempts[at.attempt].Ops[at.op]
		word := int(o.Key) % words
		if o.Reads {
			o.Read = value[o.Key]
		}
		// A right store counts a transaction once in each word, and its reads tell the version
		// before it.
		counted := !s.faulty && slices.ContainsFunc(s.at[:i], func(b action) bool {
			w := s.h.Attempts[b.attempt].Ops[b.op]
			return b.attempt == at.attempt && w.Wrote != metrics.NoWrite && int(w.Key)%words == word && works[b.attempt]
		})
		told := version[word]
		switch writes := o.Wrote != metrics.NoWrite; {
		case writes && works[at.attempt] && !counted:
			version[word]++
			told++
		case writes && !works[at.attempt]:
			told++ // it would have been
		case !writes && counted:
			told--
		}
		if o.Wrote != metrics.NoWrite && works[at.attempt] {
			value[o.Key] = o.Wrote
		}
		if s.versions {
			o.Version = told
		}
	}
	for i := range s.h.Attempts {
		a := &s.h.Attempts[i]
		forgotten := a.Outcome == Unknown && s.IntN(2) == 0
		for j := range a.Ops {
			if o := &a.Ops[j]; forgotten {
				o.Reads, o.Read, o.Version = false, metrics.NoWrite, 0
			}
		}
	}
}

// corrupt replaces what an operation read by another value, or changes a version.
func (s *story) corrupt() {
	a := &s.h.Attempts[s.IntN(len(s.h.Attempts))]
	o := &a.Ops[s.IntN(len(a.Ops))]
	if s.versions && o.Version > 0 && s.IntN(3) == 0 {
		o.Version = 1 + uint64(s.IntN(int(o.Version)+1))
		return
	}
	if !o.Reads {
		return
	}
	values := []metrics.WriteID{s.loaded[o.Key], metrics.MakeWriteID(9, 9, 15)}
	for _, b := range s.h.Attempts {
		for _, p := range b.Ops {
			if p.Wrote != metrics.NoWrite && (p.Key == o.Key || s.IntN(8) == 0) {
				values = append(values, p.Wrote)
			}
		}
	}
	o.Read = values[s.IntN(len(values))]
}

// cell is the state of a key while an order is tried.
type cell struct {
	value   metrics.WriteID
	known   bool   // the value: at first it is any that was loaded
	version uint64 // of the last write at least
	most    uint64 // the greatest version that anybody saw since
}

// tryAll reports whether some order of the attempts explains a history.
func tryAll(h *History) bool {
	place := make([]bool, len(h.Attempts))
	var try func(state []cell) bool
	try = func(state []cell) bool {
		open := false
		for i, a := range h.Attempts {
			if place[i] || a.Outcome == Aborted {
				continue
			}
			open = open || a.Outcome == Committed
			late := false // another one must come before it
			for j, b := range h.Attempts {
				late = late || !place[j] && b.Outcome == Committed && b.ReturnNs < a.CallNs
			}
			if late {
				continue
			}
			if after, ok := apply(a, state); ok {
				place[i] = true
				if try(after) {
					return true
				}
				place[i] = false
			}
		}
		return !open
	}
	return try(make([]cell, len(h.Keys)))
}

// apply returns the state after an attempt; false if it cannot have read what it read.
func apply(a Attempt, before []cell) ([]cell, bool) {
	state, wrote := slices.Clone(before), make([]bool, len(before))
	for i, o := range a.Ops {
		c := &state[o.Key]
		if o.Reads {
			if !c.known {
				if old := o.Read == metrics.NoWrite || o.Read.Client() == 9 && o.Read.Version() <= 10; !old {
					return nil, false
				}
				c.value, c.known = o.Read, true
			}
			if c.value != o.Read {
				return nil, false
			}
			if v := o.Version; v != 0 && o.Wrote == metrics.NoWrite && !wrote[o.Key] && first(a.Ops, i) {
				if v < c.version {
					return nil, false
				}
				c.most = max(c.most, v)
			}
		}
		if o.Wrote != metrics.NoWrite {
			c.value, c.known, wrote[o.Key] = o.Wrote, true, true
		}
	}
	for key, w := range wrote {
		if c := &state[key]; w {
			version := uint64(0) // of its last write
			for _, o := range a.Ops {
				if o.Wrote != metrics.NoWrite && int(o.Key) == key {
					version = o.Version
				}
			}
			if version == 0 {
				version = c.most + 1
			} else if version <= c.most {
				return nil, false
			}
			c.version, c.most = version, version
		}
	}
	return state, true
}

// first reports whether an operation is its attempt's first one on its key: a version counts there.
func first(ops []Op, i int) bool {
	return !slices.ContainsFunc(ops[:i], func(o Op) bool { return o.Key == ops[i].Key })
}

// The checker says of random histories what trying all orders says. Only where an unknown
// attempt hides what it did may it miss a fault.
func TestCheckAgainstAllOrders(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	s := &story{Rand: rand.New(rand.NewPCG(seed, 0))}
	rounds := 10_000
	if os.Getenv("KVLAB_LONG") == "1" {
		rounds = 1_000_000
	}
	names, legal, missed := map[Anomaly]int{}, 0, 0
	for range rounds {
		s.versions, s.faulty = s.IntN(2) == 0, s.IntN(3) > 0
		h := s.tell()
		want, got := tryAll(h), Check(h)
		hidden := slices.ContainsFunc(h.Attempts, func(a Attempt) bool {
			return a.Outcome == Unknown && slices.ContainsFunc(a.Ops, func(o Op) bool { return !o.Reads && o.Version == 0 })
		})
		switch {
		case want && !s.faulty:
			legal++
		case !s.faulty:
			t.Fatalf("a right store's history has no order: %+v", h)
		}
		switch {
		case want && got != nil:
			t.Fatalf("%s, but some order explains it: %+v", got.Why, h)
		case got != nil:
			names[got.Anomaly]++
		case !want && hidden:
			missed++
		case !want:
			t.Fatalf("no order explains it, and no fault is found: versions %t: %+v", s.versions, h)
		}
	}
	t.Logf("%d histories: %d of a right store; missed for an unknown outcome %d; faults %v", rounds, legal, missed, names)
	for _, a := range []Anomaly{AbortedRead, IntermediateRead, ValueOfNobody, OwnWriteUnseen, NonRepeatableRead, LostUpdate, WrongVersion, DirtyWrite, CircularFlow, ReadSkew} {
		if names[a] == 0 {
			t.Errorf("no history shows %s", a)
		}
	}
	if missed > rounds/50 {
		t.Errorf("%d of %d faults are missed", missed, rounds)
	}
}
