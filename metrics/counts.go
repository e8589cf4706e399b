package metrics

import (
	"fmt"
	"math"
)

// Counts are exact numbers of operations. On a client an operation counts when
// its reply has been verified; on a server when it has been applied.
type Counts struct {
	Gets             uint64 `json:"gets"`
	Puts             uint64 `json:"puts"`
	ReadModifyWrites uint64 `json:"read_modify_writes"`
	Hits             uint64 `json:"hits"`   // operations that read and found their key
	Misses           uint64 `json:"misses"` // operations that read and did not
	Calls            uint64 `json:"calls"`  // RPCs that carried these operations
}

// KindNames are the names of the kinds of operation, in the order of ByKind,
// which is that of kvs.Kind.
var KindNames = [...]string{"get", "put", "read-modify-write"}

// ByKind returns the number of operations of each kind.
func (c Counts) ByKind() [len(KindNames)]uint64 {
	return [...]uint64{c.Gets, c.Puts, c.ReadModifyWrites}
}

// CountsOf returns the counts with ops operations of each kind.
func CountsOf(ops [len(KindNames)]uint64, hits, misses, calls uint64) Counts {
	return Counts{Gets: ops[0], Puts: ops[1], ReadModifyWrites: ops[2], Hits: hits, Misses: misses, Calls: calls}
}

// Ops is the number of operations of every kind.
func (c Counts) Ops() (n uint64) {
	for _, ops := range c.ByKind() {
		n += ops
	}
	return n
}

// PerCall is the mean number of operations of a call; 0 without one.
func (c Counts) PerCall() float64 { return float64(c.Ops()) / float64(max(c.Calls, 1)) }

// Add returns the field-wise sum of c and d.
func (c Counts) Add(d Counts) Counts { return c.plus(d, 1) }

// Sub returns the field-wise difference of c and an earlier reading d of the
// same counters.
func (c Counts) Sub(d Counts) Counts { return c.plus(d, math.MaxUint64) }

// plus returns c and times as many of d, modulo 2^64, so that MaxUint64 is minus one.
func (c Counts) plus(d Counts, times uint64) Counts {
	ops, more := c.ByKind(), d.ByKind()
	for k := range ops {
		ops[k] += times * more[k]
	}
	return CountsOf(ops, c.Hits+times*d.Hits, c.Misses+times*d.Misses, c.Calls+times*d.Calls)
}

// KindText lists the number of operations of each kind: "3 get, 4 put".
func (c Counts) KindText() (text string) {
	for k, n := range c.ByKind() {
		if k > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%d %s", n, KindNames[k])
	}
	return text
}

// Bytes is what calls carried, without frame headers.
type Bytes struct {
	Sent     uint64 `json:"sent"`     // in batches
	Received uint64 `json:"received"` // in replies
}

// Add returns the sum of b and c.
func (b Bytes) Add(c Bytes) Bytes { return Bytes{b.Sent + c.Sent, b.Received + c.Received} }

// PerSecond is a rate; 0 for an interval without length.
func PerSecond(n, seconds float64) float64 {
	if seconds <= 0 {
		return 0
	}
	return n / seconds
}
