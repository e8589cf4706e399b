package metrics

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sort"
	"strings"
	"time"

	"kvlab/metrics/format"
)

// Retries counts the repairs of broken connections in a run with -retry. A repeated
// call still counts once.
type Retries struct {
	Connections uint64 `json:"connections"`                // that clients made again
	Calls       uint64 `json:"calls_sent_again"`           // by clients
	Remembered  uint64 `json:"calls_answered_from_memory"` // by servers, which had applied them before
	First       string `json:"first,omitempty"`            // why the first connection of some client broke
}

// Add returns the sum of two; nil is none.
func (r *Retries) Add(s *Retries) *Retries {
	if r == nil || s == nil {
		return cmp.Or(r, s)
	}
	return &Retries{r.Connections + s.Connections, r.Calls + s.Calls, r.Remembered + s.Remembered, cmp.Or(r.First, s.First)}
}

// String says it in a line.
func (r *Retries) String() string {
	calls := format.Plural(r.Calls, "call") + " were"
	if r.Calls == 1 {
		calls = "1 call was"
	}
	text := fmt.Sprintf("%s broke: %s sent again, %d answered from memory",
		format.Plural(r.Connections, "connection"), calls, r.Remembered)
	if r.First != "" {
		text += "; the first connection: " + r.First
	}
	return text
}

// WorkerAccount is the number of operations that one worker drew and verified.
type WorkerAccount struct {
	Loaded   uint64 `json:"loaded"`            // operations of the load that it verified
	Audited  uint64 `json:"audited,omitempty"` // operations of the final audit that it verified
	Drawn    uint64 `json:"drawn"`             // operations of the workload that it drew
	Verified uint64 `json:"verified"`          // operations that it verified, from load to drain
	Unknown  uint64 `json:"unknown,omitempty"` // operations of the workload whose outcome is unknown

	OpeningOps uint64 `json:"opening_ops"` // first operations, at most 8192
	Opening    string `json:"opening"`     // their digest, as it drew them, in hex
	Redrawn    string `json:"redrawn"`     // digest of as many operations, drawn again at the end from the configuration alone

	Rounds *Rounds `json:"rounds,omitempty"`
}

// Rounds are the exact sums of one worker's times, beside its histograms.
type Rounds struct {
	Ops      uint64  `json:"ops"`                // operations that were due in the window and answered
	Rounds   uint64  `json:"rounds"`             // that began in the window
	Calls    uint64  `json:"calls"`              // of these rounds
	Unknown  uint64  `json:"unknown,omitempty"`  // operations of these rounds whose outcome is unknown: not in Ops
	Spots    uint64  `json:"spots,omitempty"`    // reads of the audit in these rounds, in the place of operations: in no other count but those of the audit
	Early    uint64  `json:"early"`              // operations of the rounds that began before the window and ended in it
	Across   uint64  `json:"across,omitempty"`   // rounds that began before the window and ended after it: no other field but MostOps counts them
	AcrossS  float64 `json:"across_s,omitempty"` // the time of the longest of these
	BusyS    float64 `json:"busy_s"`             // sum of the rounds' times in the window, from the beginning to the last reply, with scans until these are checked
	EarlyS   float64 `json:"early_s,omitempty"`  // the part of BusyS of rounds that began before the window
	MostOps  uint64  `json:"most_ops"`           // operations of the largest round since then
	BeginS   float64 `json:"begin_s,omitempty"`  // when a worker began that had no more operations in the end, in seconds after the window opened
	EndS     float64 `json:"end_s,omitempty"`    // likewise, when its last reply came
	Offered  uint64  `json:"offered,omitempty"`  // open loop: operations that were due in the window
	Dues     string  `json:"dues,omitempty"`     // open loop: digest of the due times of Ops, see workload.Dues, in hex
	Mistaken uint64  `json:"mistaken,omitempty"` // calls whose send was stamped after, or whose reply before, the worker's next stamp of it
}

// Seen is what a server saw of its operations. Groups and Values are of a sample.
type Seen struct {
	Records    uint64     `json:"records"`               // keys in the store at the end
	Groups     []uint64   `json:"groups"`                // sampled operations of the window by key group
	Busiest    []CellOps  `json:"busiest"`               // the cells of keys that had most of these operations
	Keys       *KeyCounts `json:"keys,omitempty"`        // these operations by key
	Writes     *KeyCounts `json:"writes,omitempty"`      // of them, the puts, read-modify-writes and deletes
	Pairs      uint64     `json:"pairs,omitempty"`       // sampled pairs of successive operations of a batch, in the window
	EqualPairs uint64     `json:"equal_pairs,omitempty"` // of them, those on one key
	Values     Values     `json:"values"`                // that were stored in the window
	Before     Values     `json:"values_before"`         // that were stored before it
}

// CellOps is the number of sampled operations on the keys of a cell.
type CellOps struct {
	Cell int    `json:"cell"`
	Ops  uint64 `json:"ops"`
}

// Values is a sample of stored values.
type Values struct {
	Count      uint64 `json:"count"`
	Bytes      uint64 `json:"bytes"`
	Compressed uint64 `json:"compressed"` // bytes that DEFLATE makes of all of them together
}

// Protocol is what the two ends of a connection agreed on. The comments name the client's
// flags.
type Protocol struct {
	Codec string `json:"codec"`           // -codec
	CRC   bool   `json:"crc,omitempty"`   // -crc
	Dedup bool   `json:"dedup,omitempty"` // -dedup, or -cache
	Retry bool   `json:"retry,omitempty"` // -retry
	Cache bool   `json:"cache,omitempty"` // -cache
	TLS   bool   `json:"tls,omitempty"`   // -tls
	Txn   bool   `json:"txn,omitempty"`   // -txn
}

// ProtocolOf returns the protocol that a client's flags ask for.
func ProtocolOf(v Settings) Protocol {
	return Protocol{Codec: v.Codec(), CRC: v.CRC(), Dedup: v.SavesBytes(), Retry: v.Retry(), Cache: v.Caches(), TLS: v.TLS(), Txn: v.Txn() > 0}
}

// String lists the protocol's flags: "-codec binary -crc".
func (p Protocol) String() string {
	text := "-codec " + p.Codec
	for _, flag := range []struct {
		name string
		set  bool
	}{{"crc", p.CRC}, {"dedup", p.Dedup}, {"retry", p.Retry}, {"cache", p.Cache}, {"tls", p.TLS}, {"txn", p.Txn}} {
		if flag.set {
			text += " -" + flag.name
		}
	}
	return strings.TrimSpace(text)
}

// Sessions are the connections of one client to a server that agreed on one protocol.
type Sessions struct {
	Protocol
	Ops  []uint64 `json:"ops"`  // operations of each, by the client's number for it; connections that replaced each other have one number
	Keys []uint64 `json:"keys"` // sum of route.Word of the keys of these operations, each rotated left by its kind's number in KindNames, modulo 2^64
}

// ConnWorkers is the number of workers that share a connection by default when calls
// are small; otherwise each has its own. With 64 workers, one operation per call and two cores, 1, 2, 4, 8 and 64
// connections reach 3.4, 3.8, 3.9, 3.7 and 1 times the throughput of 64. Fewer
// connections have a shorter tail but use fewer cores.
const ConnWorkers = 16

// Octaves is how many octaves a latency may be in.
const Octaves = 33

// MaxLatency is the longest latency that a histogram can hold.
const MaxLatency = time.Hour

// Octave returns the octave of a latency as the histograms hold it, in microseconds rounded
// up: number k has those of 2^(k-1) to 2^k - 1, and number 0 what no histogram can hold.
// The edges are edges of an HdrHistogram's slots too, so its counts by octave are exact.
func Octave(d time.Duration) int {
	if d <= 0 || d > MaxLatency {
		return 0
	}
	return bits.Len64(uint64(d+time.Microsecond-1) / uint64(time.Microsecond))
}

// Stamps are what a client's workers sum up beside a histogram: of the same calls or
// operations, from their own stamps of time and not from what the histogram gets.
type Stamps struct {
	SumS      float64  `json:"sum_s"`      // of the latencies
	SquaresS2 float64  `json:"squares_s2"` // of their squares
	LongestS  float64  `json:"longest_s"`
	Octaves   []uint64 `json:"octaves"` // their numbers, see Octave; without zeros at the end
}

// TrimOctaves returns the numbers of values by octave without zeros at the end.
func TrimOctaves(all [Octaves]uint64) []uint64 {
	n := len(all)
	for n > 0 && all[n-1] == 0 {
		n--
	}
	return slices.Clone(all[:n])
}

// Marks are the operations that a server had applied in all at moments up to a phase's
// beginning, of which it hears late.
type Marks struct {
	Start time.Time `json:"start"` // the first moment, by the clock of Record.Time
	AtS   []float64 `json:"at_s"`  // the moments, in seconds after it, in order
	Ops   []uint64  `json:"ops"`   // at these moments
}

// Within returns bounds of the operations that had been applied at a time that is known
// to errorS seconds: 0 before the first moment, and MaxUint64 after the last.
func (m Marks) Within(at time.Time, errorS float64) (least, most uint64) {
	s := at.Sub(m.Start).Seconds()
	if before := sort.Search(len(m.AtS), func(i int) bool { return m.AtS[i] > s-errorS }); before > 0 {
		least = m.Ops[before-1]
	}
	most = math.MaxUint64
	if after := sort.SearchFloat64s(m.AtS, s+errorS); after < len(m.AtS) {
		most = m.Ops[after]
	}
	return least, most
}
