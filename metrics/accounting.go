package metrics

import (
	"cmp"
	"fmt"

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
