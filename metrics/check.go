package metrics

import (
	"fmt"
	"strings"

	"kvlab/metrics/format"
)

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

// JointCheck is what a run's launcher found in the slices that all clients
// recorded at the same time (-linearizable, two clients or more).
type JointCheck struct {
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
	switch {
	case c.Illegal > 0:
		return "not linearizable, all clients together: " + c.First
	case c.Unknown > 0:
		return "perhaps not linearizable, all clients together: " + c.First
	case c.Slices == 0:
		return strings.Join(format.NonEmpty("-linearizable verified nothing of all clients together", c.First), ": ")
	}
	return ""
}

// Text sums the check up in a line.
func (c JointCheck) Text() string {
	text := fmt.Sprintf("checked %d operations of %d clients together in %d slices: %d histories not linearizable, %d unknown",
		c.Ops, c.Clients, c.Slices, c.Illegal, c.Unknown)
	if c.WidenedS > 0 {
		text += fmt.Sprintf("; intervals widened by up to %.3g ms, for the clocks", 1e3*c.WidenedS)
	}
	if c.Unverified > 0 {
		text += fmt.Sprintf("; slices that were not verified: %d", c.Unverified)
	}
	return text
}

// Violation is a history that is not linearizable, or not certainly.
type Violation struct {
	Why     string      `json:"why"`
	History History     `json:"history"`
	Part    []HistoryOp `json:"part"` // the operations that contradict each other
}
