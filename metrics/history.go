package metrics

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"kvlab/metrics/format"
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
	Client   int      `json:"client"`
	Worker   int      `json:"worker"`
	Wrote    WriteID  `json:"wrote,omitempty"`   // NoWrite of a Get
	Read     *WriteID `json:"read,omitempty"`    // nil of a Put, and of a Delete that found the key; NoWrite when the key was not there
	Deleted  bool     `json:"deleted,omitempty"` // it is a Delete
	CallNs   int64    `json:"call_ns"`           // monotonic, before it was sent
	ReturnNs int64    `json:"return_ns"`         // likewise, after the reply had come
}

// Never is the ReturnNs of an operation without a reply.
const Never = math.MaxInt64

// WriteID names a write, as the header of its value does: writer and version. All writes of
// a run differ if no worker writes more than 2^32 times.
type WriteID uint64

// NoWrite stands for a key that was not found.
const NoWrite WriteID = 0

// MakeWriteID returns the name of a worker's write. Versions count from 1; 0 is before the
// first write.
func MakeWriteID(client, worker int, version uint32) WriteID {
	return WriteID(client)<<48 | WriteID(worker)<<32 | WriteID(version)
}

// Next returns the name of the writer's next write. Versions wrap around after 2^32 writes.
func (v WriteID) Next() WriteID { return v&^0xffffffff | WriteID(uint32(v)+1) }

// Client returns the number of the writer's client.
func (v WriteID) Client() int { return int(v >> 48) }

// Worker returns the writer's number in its client.
func (v WriteID) Worker() int { return int(v >> 32 & 0xffff) }

// Version says which of its writer's writes it is.
func (v WriteID) Version() uint32 { return uint32(v) }

// String returns client, worker and version, such as "0.12#345", or "none".
func (v WriteID) String() string {
	if v == NoWrite {
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
	Packed  []byte `json:"packed"`   // its histories, one of each key or with -serializable a serial.History, as JSON, compressed by DEFLATE
}

// Pack sets the slice's content.
func (s *Slice) Pack(content any) (err error) {
	s.Packed, err = deflate(content)
	return err
}

// Histories unpacks the slice's content, histories one for each key.
func (s Slice) Histories() (histories []History, err error) {
	err = s.Unpack(&histories)
	return histories, err
}

// Unpack unpacks the slice's content.
func (s Slice) Unpack(content any) error {
	if err := inflate(s.Packed, content); err != nil {
		return fmt.Errorf("unpack a slice: %w", err)
	}
	return nil
}

// Check is what a client's check of linearizability found (-linearizable), or of strict
// serializability (-serializable).
type Check struct {
	Serial  bool   `json:"serial,omitempty"` // it is of -serializable, and Ops are committed transactions
	Keys    int    `json:"keys"`             // that were recorded
	Slices  int    `json:"slices"`           // stretches of time in which they were
	Ops     uint64 `json:"ops"`              // operations that were verified
	Illegal uint64 `json:"illegal"`          // histories, each of a key in a slice or of a slice, that no order explains
	Unknown uint64 `json:"unknown"`          // histories of which it could not be said
	Order   uint64 `json:"order"`            // operations that contradict the order of their own batch
	First   string `json:"first,omitempty"`  // the first of these in words
}

// Fault says in words what the check found wrong; "" when all is right.
func (c Check) Fault() string {
	switch flag, unit, not := words(c.Serial); {
	case c.Illegal+c.Order > 0:
		return not + ": " + c.First
	case c.Unknown > 0:
		return "perhaps " + not + ": " + c.First
	case c.Ops == 0:
		return flag + " recorded no " + unit
	}
	return ""
}

// words returns the flag of a check, the unit of its Ops, and what a history is not.
func words(serial bool) (flag, unit, not string) {
	if serial {
		return "-serializable", "transaction", "not strictly serializable"
	}
	return "-linearizable", "operation", "not linearizable"
}

// Text sums the check up in a line.
func (c Check) Text() string {
	if c.Serial {
		return fmt.Sprintf("checked %d transactions on %d keys in %d slices: %d histories not strictly serializable", c.Ops, c.Keys, c.Slices, c.Illegal)
	}
	return fmt.Sprintf("checked %d operations on %d keys in %d slices: %d histories not linearizable, %d unknown, %d operations against their batch's order",
		c.Ops, c.Keys, c.Slices, c.Illegal, c.Unknown, c.Order)
}

// JointCheck is what a run's launcher found in the slices that all clients
// recorded at the same time (-linearizable or -serializable, two clients or more).
type JointCheck struct {
	Serial     bool    `json:"serial,omitempty"`     // as in Check
	Clients    int     `json:"clients"`              // whose slices were put together
	Slices     int     `json:"slices"`               // that were verified
	Unverified int     `json:"unverified,omitempty"` // slices that were not: less than two clients' parts, or no time left
	Ops        uint64  `json:"ops"`                  // operations that were verified
	Illegal    uint64  `json:"illegal"`              // histories, each of a key in a slice, that no order explains
	Unknown    uint64  `json:"unknown"`              // histories of which it could not be said
	WidenedS   float64 `json:"widened_s"`            // the most that an operation's interval was widened by; 0: the clients share a clock
	First      string  `json:"first,omitempty"`      // the first of these in words, or why nothing was verified
}

// Fault says in words what the check found wrong; "" when all is right.
func (c JointCheck) Fault() string {
	switch flag, _, not := words(c.Serial); {
	case c.Illegal > 0:
		return not + ", all clients together: " + c.First
	case c.Unknown > 0:
		return "perhaps " + not + ", all clients together: " + c.First
	case c.Slices == 0:
		return strings.Join(format.NonEmpty(flag+" verified nothing of all clients together", c.First), ": ")
	}
	return ""
}

// Text sums the check up in a line.
func (c JointCheck) Text() string {
	_, unit, not := words(c.Serial)
	text := fmt.Sprintf("checked %d %ss of %d clients together in %d slices: %d histories %s, %d unknown", c.Ops, unit, c.Clients, c.Slices, c.Illegal, not, c.Unknown)
	if c.WidenedS > 0 {
		text += fmt.Sprintf("; intervals widened by up to %.3g ms, for the clocks", 1e3*c.WidenedS)
	}
	if c.Unverified > 0 {
		text += fmt.Sprintf("; slices that were not verified: %d", c.Unverified)
	}
	return text
}

// Violation is a history that is not linearizable or strictly serializable, or not certainly.
type Violation struct {
	Why     string      `json:"why"`
	History History     `json:"history"`
	Part    []HistoryOp `json:"part"` // the operations that contradict each other

	Serial json.RawMessage `json:"serial,omitempty"` // with -serializable a serial.Fault, in the place of History and Part
}
