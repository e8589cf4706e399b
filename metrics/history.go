package metrics

import (
	"fmt"
	"math"
)

// History is what was recorded of one key's operations in one slice of a run: a
// stretch of time in which every worker recorded.
type History struct {
	Key   string       `json:"key"`
	Slice int          `json:"slice"` // from 1
	Ops   []HistoryOp  `json:"ops"`
	Spans []WorkerSpan `json:"spans"` // of all who recorded; nothing is known of when another wrote
}

// HistoryOp is one operation on the history's key. One that has ReturnNs Never
// may have happened at any time since its call, or not at all.
type HistoryOp struct {
	Client   int    `json:"client"`
	Worker   int    `json:"worker"`
	Wrote    Value  `json:"wrote,omitempty"` // NoValue of a Get
	Read     *Value `json:"read,omitempty"`  // nil of a Put; NoValue when the key was not there
	CallNs   int64  `json:"call_ns"`         // monotonic, before it was sent
	ReturnNs int64  `json:"return_ns"`       // likewise, after the reply had come
}

// Never is the time of what has not ended.
const Never = math.MaxInt64

// Value is a value as its header names it: writer and version. No two writes of
// a run write the same, as long as no worker writes more than 2^32 times.
type Value uint64

// NoValue is what a key has that was not found.
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

// WorkerSpan is what of a worker's writes a slice holds: all with a version
// above First and up to Last. Those before had returned at BegunNs, those after
// were not called before EndedNs.
type WorkerSpan struct {
	Client  int    `json:"client"`
	Worker  int    `json:"worker"`
	First   uint32 `json:"first"`
	Last    uint32 `json:"last"`
	BegunNs int64  `json:"begun_ns"`
	EndedNs int64  `json:"ended_ns"`
}

// Check is what a client's check of linearizability found (-linearizable).
type Check struct {
	Keys    int    `json:"keys"`            // that were recorded
	Slices  int    `json:"slices"`          // stretches of time in which they were
	Ops     uint64 `json:"ops"`             // operations that were verified
	Illegal uint64 `json:"illegal"`         // histories, each of a key in a slice, that no order explains
	Unknown uint64 `json:"unknown"`         // histories of which it could not be said
	Order   uint64 `json:"order"`           // operations that contradict the order of their own batch
	First   string `json:"first,omitempty"` // the first of these in words
}

// Fault says in words what the check found wrong; "" when all is right.
func (c Check) Fault() string {
	switch {
	case c.Illegal+c.Order > 0:
		return "not linearizable: " + c.First
	case c.Unknown > 0:
		return "perhaps not linearizable: " + c.First
	case c.Ops == 0:
		return "-linearizable recorded no operation"
	}
	return ""
}

// Text sums the check up in a line.
func (c Check) Text() string {
	return fmt.Sprintf("checked %d operations on %d keys in %d slices: %d histories not linearizable, %d unknown, %d operations against their batch's order",
		c.Ops, c.Keys, c.Slices, c.Illegal, c.Unknown, c.Order)
}

// Violation is a history that is not linearizable, or not certainly.
type Violation struct {
	Why     string      `json:"why"`
	History History     `json:"history"`
	Part    []HistoryOp `json:"part"` // the operations that contradict each other
}
