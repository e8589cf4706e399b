package metrics

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
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

// Ops returns the number of operations. The parts of a scan are one.
func (c Counts) Ops() uint64 {
	return c.Gets + c.Puts + c.ReadModifyWrites + c.Inserts + c.Deletes + c.Scans
}

// Values returns the operations that store a value.
func (c Counts) Values() uint64 { return c.Puts + c.ReadModifyWrites + c.Inserts }

// Writes returns the operations that leave the store otherwise than before.
func (c Counts) Writes() uint64 { return c.Values() + c.Deletes }

// PerCall returns the mean number of operations of a call; 0 without one.
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

// PerSecond returns a rate; 0 for an interval without length.
func PerSecond(n, seconds float64) float64 {
	if seconds <= 0 {
		return 0
	}
	return n / seconds
}

// Skew is how unevenly a run's operations fall on records and servers, in theory
// and as the servers observed.
type Skew struct {
	Law     string `json:"law"` // the flags behind the theory, as they are typed
	Router  string `json:"router"`
	Records uint64 `json:"records"`

	// TopShare is the share of all operations that the most popular record has in
	// theory, 0 to 1; 0 where no record has a fixed share: operations are sequential, or
	// the records that are inserted become the most popular ones. Then nothing but the kinds
	// is compared with theory.
	TopShare float64 `json:"top_share"`
	Moves    int     `json:"moves,omitempty"` // of the hot set (-hot-move), by the operations drawn; TopShare is between two of them
	// Head are the most popular records that stand out, the most popular first. Their
	// observed shares are of a sample of the servers' operations in the window.
	Head       []HeadShare `json:"head,omitempty"`
	SampledOps uint64      `json:"sampled_ops"`

	Servers []ServerShare `json:"servers"`  // in the clients' order, of all operations after the load
	Kinds   []KindShare   `json:"kinds"`    // likewise
	HitRate float64       `json:"hit_rate"` // of the reads and deletes of the windows, 0 to 1; 1 for none

	// Balances are those of other numbers of servers with the same operations, in rising
	// order; nil without a TopShare.
	Balances []RouterBalance `json:"balances,omitempty"`

	Replay *Replay `json:"replay,omitempty"` // the trace; nil without -replay
}

// Replay is a trace, and what a replay of the whole of it makes of its operations.
type Replay struct {
	Format    string         `json:"format"` // of its input
	SHA256    string         `json:"sha256"` // of its input, in hex
	Commands  []TraceCommand `json:"commands"`
	Least     uint64         `json:"least"`      // bytes of the smallest value that is sent
	Smaller   uint64         `json:"smaller"`    // values with fewer bytes, which are sent with Least
	Most      uint64         `json:"most"`       // bytes of the largest value that is sent
	Larger    uint64         `json:"larger"`     // values with more bytes, which are cut
	Expiring  uint64         `json:"expiring"`   // writes with a time to live, which is ignored
	LiveBytes uint64         `json:"live_bytes"` // of the values that are there at the end, as none expires
}

// TraceCommand is a command of a trace.
type TraceCommand struct {
	Name    string   `json:"name"`
	Ops     uint64   `json:"ops"`      // in the trace
	LeftOut uint64   `json:"left_out"` // those that change nothing
	As      []uint64 `json:"as"`       // what the others become, in the order of KindNames; a read that writes a missing key becomes two
}

// Share is a share of all operations, 0 to 1: as theory has it, and as it was.
type Share struct {
	Theory   float64 `json:"theory"`
	Observed float64 `json:"observed"`
}

// HeadShare is the share of one of the most popular records.
type HeadShare struct {
	Rank int `json:"rank"` // from 1
	Share
}

// ServerShare is the share of a server; theory is the router's.
type ServerShare struct {
	Server string `json:"server"`
	Share
}

// KindShare is the share of a kind of operation: gets, puts, read-modify-writes.
type KindShare struct {
	Kind string `json:"kind"`
	Share
}

// RouterBalance is the Balance that the routers reach with a number of servers,
// in theory.
type RouterBalance struct {
	Servers  int     `json:"servers"`
	Best     float64 `json:"best"` // that any router can reach: BestBalance
	FNV      float64 `json:"fnv"`
	Balanced float64 `json:"balanced"`
}

// HeadTotal returns the share of all of the Head together.
func (s Skew) HeadTotal() Share {
	var sum Share
	for _, h := range s.Head {
		sum.Theory += h.Theory
		sum.Observed += h.Observed
	}
	return sum
}

// Balance returns the Balance of the servers' shares, 0 to 1, in theory and as it was.
func (s Skew) Balance() Share {
	most := s.Busiest()
	n := float64(max(1, len(s.Servers)))
	return Share{Theory: 1 / (n * most.Theory), Observed: 1 / (n * most.Observed)}
}

// Busiest returns the largest observed share, with its server, and the largest
// theoretical one; 1 without a server.
func (s Skew) Busiest() ServerShare {
	if len(s.Servers) == 0 {
		return ServerShare{Share: Share{1, 1}}
	}
	most := s.Servers[0]
	for _, server := range s.Servers[1:] {
		if server.Observed > most.Observed {
			most.Server, most.Observed = server.Server, server.Observed
		}
		most.Theory = max(most.Theory, server.Theory)
	}
	return most
}

// KeyCounts are the numbers of sampled operations on some keys: all keys, or one in
// 2^Bits, selected by a hash. A key's number is its hash without the Bits highest bits,
// which are 0: the next 40 bits.
type KeyCounts struct {
	Of     uint64 `json:"of"` // sampled operations on all keys
	Bits   uint   `json:"bits"`
	Packed []byte `json:"packed"` // for each key, in rising order: its number minus the one before, and its count, as varints
}

const keyBits = 40

// Number returns the number of the key with a hash; false if the key is not counted.
func (k KeyCounts) Number(hash uint64) (number uint64, counted bool) {
	return hash << k.Bits >> (64 - keyBits), hash>>(64-k.Bits) == 0
}

// PackKeyCounts returns the counts of keys, given by their hashes, of a number of operations.
func PackKeyCounts(of uint64, bits uint, counts map[uint64]uint32) *KeyCounts {
	k := &KeyCounts{Of: of, Bits: bits}
	byNumber := make(map[uint64]uint64)
	var numbers []uint64
	for hash, n := range counts {
		number, _ := k.Number(hash)
		if byNumber[number] == 0 {
			numbers = append(numbers, number)
		}
		byNumber[number] += uint64(n)
	}
	slices.Sort(numbers)
	last := uint64(0)
	for _, number := range numbers {
		k.Packed = binary.AppendUvarint(k.Packed, number-last)
		k.Packed = binary.AppendUvarint(k.Packed, byNumber[number])
		last = number
	}
	return k
}

// Counts returns the counts by the keys' numbers.
func (k KeyCounts) Counts() (map[uint64]uint64, error) {
	counts := make(map[uint64]uint64)
	number := uint64(0)
	for rest := k.Packed; len(rest) > 0; {
		step, n := binary.Uvarint(rest)
		count, m := binary.Uvarint(rest[max(n, 0):])
		if n <= 0 || m <= 0 {
			return nil, errors.New("the counts of keys are not in their form")
		}
		number += step
		counts[number] = count
		rest = rest[n+m:]
	}
	return counts, nil
}
