// Package faultproxy is a TCP proxy for tests. It injects the faults of networks,
// middleboxes and failing machines at given byte offsets, so that the same faults
// reproduce a failure.
package faultproxy

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Kind is what a fault does.
type Kind int

// The kinds. The bytes before At always arrive.
const (
	Delay     Kind = iota // bytes from At on arrive Delay later, plus up to Jitter, in order
	Throttle              // bytes from At on arrive at Rate bytes per second
	Cut                   // at At both ends are reset (RST)
	Truncate              // at At both ends see an orderly end (FIN)
	Duplicate             // the Len bytes from At on arrive twice
	Flip                  // bit Bit of byte At arrives inverted
	BlackHole             // nothing from At on arrives, without an error
	kinds
)

var kindNames = [kinds]string{"delay", "throttle", "cut", "truncate", "duplicate", "flip", "black hole"}

func (k Kind) String() string { return kindNames[k] }

// Way is the direction that a fault concerns.
type Way int

// The ways.
const (
	ToServer Way = iota
	ToClient
	ways
)

func (w Way) String() string { return [ways]string{"to server", "to client"}[w] }

// Fault is one thing that goes wrong with one connection in one direction.
type Fault struct {
	Kind   Kind
	Way    Way
	At     int64         // bytes of that direction before the fault
	Delay  time.Duration // of Delay
	Jitter time.Duration // of Delay
	Rate   int           // of Throttle: bytes per second, at least 1
	Len    int           // of Duplicate: bytes
	Bit    uint8         // of Flip: 0 to 7
}

// String says the fault in a form to log.
func (f Fault) String() string {
	s := fmt.Sprintf("%v %v at %d", f.Kind, f.Way, f.At)
	switch f.Kind {
	case Delay:
		s += fmt.Sprintf(" by %v + %v", f.Delay, f.Jitter)
	case Throttle:
		s += fmt.Sprintf(" to %d B/s", f.Rate)
	case Duplicate:
		s += fmt.Sprintf(", %d bytes", f.Len)
	case Flip:
		s += fmt.Sprintf(", bit %d", f.Bit)
	}
	return s
}

// passage carries the bytes of one direction past its faults.
type passage struct {
	faults []Fault // not struck yet, by At; Delay and Throttle stay in force
	at     int64   // bytes that have come
	rng    *rand.Rand
	struck func(Fault)

	delay, jitter time.Duration
	rate          int
	last          time.Time // when the last parcel is due: they do not overtake
	twice         []byte    // of a Duplicate that has begun
	missing       int       // bytes that it still wants
}

func newPassage(faults []Fault, way Way, rng *rand.Rand, struck func(Fault)) *passage {
	p := &passage{rng: rng, struck: struck}
	for _, f := range faults {
		if f.Way == way {
			p.faults = append(p.faults, f)
		}
	}
	slices.SortStableFunc(p.faults, func(a, b Fault) int { return int(min(1, max(-1, a.At-b.At))) })
	return p
}

// parcel is bytes with their time of arrival. The end is what follows them.
type parcel struct {
	data []byte
	due  time.Time
	rate int // bytes per second; 0 is no limit
	end  Kind
	ends bool
}

// pass takes what has come at now, of which it makes a copy, and returns what
// leaves.
func (p *passage) pass(data []byte, now time.Time) []parcel {
	var parcels []parcel
	for len(p.faults) > 0 && p.faults[0].At < p.at+int64(len(data)) {
		f := p.faults[0]
		p.faults = p.faults[1:]
		n := int(max(0, f.At-p.at))
		parcels = append(parcels, p.plain(data[:n], now)...)
		data = data[n:]
		p.struck(f)
		switch f.Kind {
		case Delay:
			p.delay, p.jitter = f.Delay, f.Jitter
		case Throttle:
			p.rate = f.Rate
		case Flip:
			flipped := []byte{data[0] ^ 1<<f.Bit}
			parcels = append(parcels, p.plain(flipped, now)...)
			data = data[1:]
		case Duplicate:
			p.missing, p.twice = f.Len, nil
		default:
			return append(parcels, parcel{end: f.Kind, ends: true, due: p.due(now)})
		}
	}
	return append(parcels, p.plain(data, now)...)
}

// plain lets bytes through in which no fault begins.
func (p *passage) plain(data []byte, now time.Time) []parcel {
	if len(data) == 0 {
		return nil
	}
	p.at += int64(len(data))
	var copied []byte
	if p.missing > 0 {
		n := min(p.missing, len(data))
		p.twice = append(p.twice, data[:n]...)
		copied, data = append(copied, data[:n]...), data[n:]
		if p.missing -= n; p.missing == 0 {
			copied = append(copied, p.twice...)
		}
	}
	return []parcel{{data: append(copied, data...), due: p.due(now), rate: p.rate}}
}

// rest returns the bytes of an incomplete repetition, which leave at the input's end.
func (p *passage) rest(now time.Time) parcel {
	rest := parcel{data: p.twice, due: p.due(now), rate: p.rate}
	if p.missing == 0 {
		rest.data = nil
	}
	return rest
}

// due is when bytes that came at now arrive.
func (p *passage) due(now time.Time) time.Time {
	due := now.Add(p.delay)
	if p.jitter > 0 {
		due = due.Add(time.Duration(p.rng.Int64N(int64(p.jitter))))
	}
	if due.Before(p.last) {
		due = p.last
	}
	p.last = due
	return due
}
