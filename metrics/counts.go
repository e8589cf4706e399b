package metrics

import (
	"fmt"
	"math"
	"strings"
)

// Counts are exact numbers of operations. On a client an operation counts when
// its reply has been verified; on a server when it has been applied.
type Counts struct {
	Gets             uint64 `json:"gets"`
	Puts             uint64 `json:"puts"`
	ReadModifyWrites uint64 `json:"read_modify_writes"`
	Inserts          uint64 `json:"inserts,omitzero"`
	Deletes          uint64 `json:"deletes,omitzero"`
	Scans            uint64 `json:"scans,omitzero"`
	ScanParts        uint64 `json:"scan_parts,omitzero"` // what a scan asks of the servers that do not own its first key; no operations
	Hits             uint64 `json:"hits"`                // operations that read or deleted, and found their key; and all scans and parts
	Misses           uint64 `json:"misses"`              // operations that read or deleted, and did not
	Calls            uint64 `json:"calls"`               // RPCs that carried these operations
}

// KindNames are the names of the kinds of operation, in the order of ByKind,
// which is that of kvs.Kind.
var KindNames = [...]string{"get", "put", "read-modify-write", "insert", "delete", "scan", "scan-part"}

// OpKinds is how many kinds are operations. The last, a part of a scan, is none.
const OpKinds = len(KindNames) - 1

// ByKind returns the number of operations of each kind.
func (c Counts) ByKind() [len(KindNames)]uint64 {
	return [...]uint64{c.Gets, c.Puts, c.ReadModifyWrites, c.Inserts, c.Deletes, c.Scans, c.ScanParts}
}

// CountsOf returns the counts with ops operations of each kind.
func CountsOf(ops [len(KindNames)]uint64, hits, misses, calls uint64) Counts {
	return Counts{ops[0], ops[1], ops[2], ops[3], ops[4], ops[5], ops[6], hits, misses, calls}
}

// Ops is the number of operations. The parts of a scan are one.
func (c Counts) Ops() uint64 {
	return c.Gets + c.Puts + c.ReadModifyWrites + c.Inserts + c.Deletes + c.Scans
}

// PerCall is the mean number of operations of a call; 0 without one.
func (c Counts) PerCall() float64 { return float64(c.Ops()) / float64(max(c.Calls, 1)) }

// Add returns the field-wise sum of c and d.
func (c Counts) Add(d Counts) Counts {
	c.accumulate(&d, 1)
	return c
}

// Sub returns the field-wise difference of c and an earlier reading d of the
// same counters.
func (c Counts) Sub(d Counts) Counts {
	c.accumulate(&d, math.MaxUint64)
	return c
}

// Accumulate adds d to c. It copies nothing, because it runs for every call.
func (c *Counts) Accumulate(d *Counts) { c.accumulate(d, 1) }

// accumulate adds times as many of d to c, modulo 2^64, so that MaxUint64 is minus one.
func (c *Counts) accumulate(d *Counts, times uint64) {
	c.Gets += times * d.Gets
	c.Puts += times * d.Puts
	c.ReadModifyWrites += times * d.ReadModifyWrites
	c.Inserts += times * d.Inserts
	c.Deletes += times * d.Deletes
	c.Scans += times * d.Scans
	c.ScanParts += times * d.ScanParts
	c.Hits += times * d.Hits
	c.Misses += times * d.Misses
	c.Calls += times * d.Calls
}

// Shows reports whether reports show a kind of these counts: one with an operation, and
// without inserts, deletes and scans all of gets, puts and read-modify-writes.
func (c Counts) Shows(kind int) bool {
	return c.ByKind()[kind] > 0 || kind < 3 && c.Inserts+c.Deletes+c.Scans == 0
}

// KindText lists the number of operations of each kind that is shown: "3 get, 4 put, 0
// read-modify-write".
func (c Counts) KindText() string {
	var texts []string
	for k, n := range c.ByKind() {
		if c.Shows(k) {
			texts = append(texts, fmt.Sprintf("%d %s", n, KindNames[k]))
		}
	}
	return strings.Join(texts, ", ")
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
