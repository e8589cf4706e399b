package metrics

import (
	"encoding/binary"
	"errors"
	"time"
)

// SlicePlan is when all clients of a run record at the same time, and how much
// of it each gives to the launcher: Count slices, each Every after the one
// before, the first as the warm-up begins.
type SlicePlan struct {
	EveryNs int64 `json:"every_ns"`
	Count   int   `json:"count"`
	Ops     int   `json:"ops"` // the most of a client's slice
}

// Every is the time from one slice to the next.
func (p SlicePlan) Every() time.Duration { return time.Duration(p.EveryNs) }

// Slice is one client's part of a slice that all clients have recorded. Its
// times are the clock's that it names.
type Slice struct {
	Number  int    `json:"number"` // from 1
	Client  int    `json:"client"`
	Clock   string `json:"clock"`    // Clock.ID
	ErrorNs int64  `json:"error_ns"` // Clock.ErrorNs
	Ops     int    `json:"ops"`
	Packed  []byte `json:"packed"` // its histories
}

// NewSlice packs a client's histories, one for each key. All operations and
// spans are the client's.
func NewSlice(number, client int, clock Clock, histories []History) Slice {
	s := Slice{Number: number, Client: client, Clock: clock.ID, ErrorNs: clock.ErrorNs}
	for _, h := range histories {
		s.Ops += len(h.Ops)
		s.Packed = pack(s.Packed, h)
	}
	return s
}

// What a packed operation has, besides its worker and times.
const (
	packedWrite = 1 << iota
	packedRead
)

// pack appends a history: key, spans and operations, each with its number before
// it. All numbers are varints, times the difference to the one before.
func pack(b []byte, h History) []byte {
	b = binary.AppendUvarint(b, uint64(len(h.Key)))
	b = append(b, h.Key...)
	last := int64(0)
	time := func(ns int64) {
		b = binary.AppendVarint(b, ns-last) // what overflows here does it again when it is unpacked
		last = ns
	}
	b = binary.AppendUvarint(b, uint64(len(h.Spans)))
	for _, s := range h.Spans {
		b = binary.AppendUvarint(b, uint64(s.Worker))
		b = binary.AppendUvarint(b, uint64(s.First))
		b = binary.AppendUvarint(b, uint64(s.Last-s.First))
		time(s.BegunNs)
		time(s.EndedNs)
	}
	b = binary.AppendUvarint(b, uint64(len(h.Ops)))
	last = 0
	for _, o := range h.Ops {
		what := byte(0)
		if o.Wrote != NoValue {
			what |= packedWrite
		}
		if o.Read != nil {
			what |= packedRead
		}
		b = append(b, what)
		b = binary.AppendUvarint(b, uint64(o.Worker))
		if o.Wrote != NoValue {
			b = binary.AppendUvarint(b, uint64(o.Wrote.Version()))
		}
		if o.Read != nil {
			for _, part := range []int{o.Read.Client(), o.Read.Worker(), int(o.Read.Version())} {
				b = binary.AppendUvarint(b, uint64(part))
			}
		}
		time(o.CallNs)
		b = binary.AppendVarint(b, o.ReturnNs-o.CallNs)
	}
	return b
}

// errPacked is the error of a slice that pack did not make.
var errPacked = errors.New("a slice that is cut short or damaged")

// Histories unpacks the slice's histories.
func (s Slice) Histories() ([]History, error) {
	u := unpacker{rest: s.Packed, client: s.Client}
	var all []History
	for len(u.rest) > 0 && !u.bad {
		all = append(all, u.history(s.Number))
	}
	if u.bad {
		return nil, errPacked
	}
	return all, nil
}

// unpacker reads what pack has written. Of what is damaged it makes zeros, and
// is bad from then on.
type unpacker struct {
	rest   []byte
	client int
	bad    bool
}

func (u *unpacker) history(slice int) History {
	h := History{Slice: slice, Key: string(u.bytes(u.count()))}
	last := int64(0)
	time := func() int64 { last += u.signed(); return last }
	for range u.count() {
		s := WorkerSpan{Client: u.client, Worker: int(u.unsigned()), First: uint32(u.unsigned())}
		s.Last = s.First + uint32(u.unsigned())
		s.BegunNs, s.EndedNs = time(), time()
		h.Spans = append(h.Spans, s)
	}
	last = 0
	for range u.count() {
		var what byte
		if b := u.bytes(1); b != nil {
			what = b[0]
		}
		o := HistoryOp{Client: u.client, Worker: int(u.unsigned())}
		if what&packedWrite != 0 {
			o.Wrote = MakeValue(u.client, o.Worker, uint32(u.unsigned()))
		}
		if what&packedRead != 0 {
			o.Read = new(MakeValue(int(u.unsigned()), int(u.unsigned()), uint32(u.unsigned())))
		}
		o.CallNs = time()
		o.ReturnNs = o.CallNs + u.signed()
		h.Ops = append(h.Ops, o)
	}
	return h
}

// count is a number of things that follow, a byte each at least.
func (u *unpacker) count() int {
	n := u.unsigned()
	if n > uint64(len(u.rest)) {
		u.fail()
	}
	if u.bad {
		return 0
	}
	return int(n)
}

func (u *unpacker) bytes(n int) []byte {
	if n > len(u.rest) {
		u.fail()
		return nil
	}
	b := u.rest[:n]
	u.rest = u.rest[n:]
	return b
}

func (u *unpacker) unsigned() uint64 {
	v, n := binary.Uvarint(u.rest)
	return v * u.skip(n)
}

func (u *unpacker) signed() int64 {
	v, n := binary.Varint(u.rest)
	return v * int64(u.skip(n))
}

// skip goes over n bytes and returns 1, or fails and returns 0 when there were
// none to read.
func (u *unpacker) skip(n int) uint64 {
	if n <= 0 {
		u.fail()
		return 0
	}
	u.rest = u.rest[n:]
	return 1
}

func (u *unpacker) fail() { u.bad, u.rest = true, nil }
