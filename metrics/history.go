package metrics

import (
	"fmt"
	"math"
	"time"
)

// History is one key's operations in one slice of a run. In a slice every worker records.
type History struct {
	Key   string       `json:"key"`
	Slice int          `json:"slice"` // from 1
	Ops   []HistoryOp  `json:"ops"`
	Spans []WorkerSpan `json:"spans"` // of all who recorded; nothing is known of when another wrote

	Deleters int `json:"deleters,omitempty"` // workers of the run if its workload deletes; 0: nothing is ever deleted
}

// HistoryOp is one operation on the history's key. If ReturnNs is Never, it may have
// happened at any time since its call, or not at all.
type HistoryOp struct {
	Client   int    `json:"client"`
	Worker   int    `json:"worker"`
	Wrote    Value  `json:"wrote,omitempty"`   // NoValue of a Get
	Read     *Value `json:"read,omitempty"`    // nil of a Put, and of a Delete that found the key; NoValue when the key was not there
	Deleted  bool   `json:"deleted,omitempty"` // it is a Delete
	CallNs   int64  `json:"call_ns"`           // monotonic, before it was sent
	ReturnNs int64  `json:"return_ns"`         // likewise, after the reply had come
}

// Never is the ReturnNs of an operation without a reply.
const Never = math.MaxInt64

// Value is the header of a value: writer and version. All writes of a run differ if no
// worker writes more than 2^32 times.
type Value uint64

// NoValue is the value of a key that was not found.
const NoValue Value = 0

// MakeValue returns the value that a worker's write is; versions count from 1.
func MakeValue(client, worker int, version uint32) Value {
	return Value(client)<<48 | Value(worker)<<32 | Value(version)
}

// Client is the number of the writer's client.
func (v Value) Client() int { return int(v >> 48) }

// Worker is the writer's number in its client.
func (v Value) Worker() int { return int(v >> 32 & 0xffff) }

// Version says which of its writer's writes it is.
func (v Value) Version() uint32 { return uint32(v) }

// String is client, worker and version, such as "0.12#345", or "none".
func (v Value) String() string {
	if v == NoValue {
		return "none"
	}
	return fmt.Sprintf("%d.%d#%d", v.Client(), v.Worker(), v.Version())
}

// Removes reports whether the operation may have removed the key.
func (o HistoryOp) Removes() bool { return o.Deleted && o.Read == nil }

// WorkerSpan is the range of a worker's writes in a slice: versions above First and up to
// Last. Earlier writes and Deletes had returned at BegunNs. Later ones began after EndedNs.
type WorkerSpan struct {
	Client  int    `json:"client"`
	Worker  int    `json:"worker"`
	First   uint32 `json:"first"`
	Last    uint32 `json:"last"`
	BegunNs int64  `json:"begun_ns"`
	EndedNs int64  `json:"ended_ns"`
}

// SlicePlan is when all clients of a run record at the same time, and how much each sends
// to the launcher. There are Count slices, the first at the start of the warm-up, the
// others Every after the one before.
type SlicePlan struct {
	Every time.Duration `json:"every_ns"`
	Count int           `json:"count"`
	Ops   int           `json:"ops"` // the most of a client's slice
}

// Slice is one client's part of a slice that all clients recorded. Its times are those of
// Clock.
type Slice struct {
	Number  int    `json:"number"` // from 1
	Client  int    `json:"client"`
	Clock   string `json:"clock"`    // the clock's ID
	ErrorNs int64  `json:"error_ns"` // how far the times are from the clock at most
	Ops     int    `json:"ops"`
	Packed  []byte `json:"packed"` // its histories as JSON, compressed by DEFLATE
}

// Pack sets the slice's histories, one for each key.
func (s *Slice) Pack(histories []History) error {
	for _, h := range histories {
		s.Ops += len(h.Ops)
	}
	var err error
	s.Packed, err = deflate(histories)
	return err
}

// Histories unpacks the slice's histories.
func (s Slice) Histories() (histories []History, err error) {
	if err := inflate(s.Packed, &histories); err != nil {
		return nil, fmt.Errorf("unpack a slice: %w", err)
	}
	return histories, nil
}
