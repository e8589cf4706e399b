package metrics

import (
	"math"
	"time"
)

// Reading is what a node answers when the launcher asks for its clocks and counts during a
// run. The node read all of it between Asked and Answered.
type Reading struct {
	Asked    time.Time `json:"asked"`               // by the launcher's clock when the run began, advanced by its monotonic clock
	Answered time.Time `json:"answered"`            // likewise
	Node     time.Time `json:"node"`                // the node's clock of Record.Time
	WindowNs int64     `json:"window_ns,omitempty"` // the clock by which a client measures its window; 0 of a server
	Ops      uint64    `json:"ops"`                 // of the node so far, read within TookNs after Node
	TookNs   int64     `json:"took_ns"`

	// CPUNs is the processor time of Process, which the node samples, as the kernel told the
	// launcher between Asked and Answered; nil of a process on another machine.
	Process ProcessID `json:"process,omitzero"`
	CPUNs   *int64    `json:"cpu_ns,omitempty"`
}

// Readings are a node's, in order.
type Readings []Reading

// Ops bounds the operations between two times of the node's clock of Record.Time, each known
// to errorS seconds: 0 and MaxFloat64 where no readings are outside of them.
func (all Readings) Ops(from, to time.Time, errorS float64) (least, most float64) {
	return all.grown(from, to, errorS, func(r Reading) (begun, ended time.Time, total float64, ok bool) {
		return r.Node, r.Node.Add(time.Duration(r.TookNs)), float64(r.Ops), true
	})
}

// CPU bounds the seconds of processor time likewise, for a process on the launcher's machine.
func (all Readings) CPU(from, to time.Time, errorS float64) (least, most float64) {
	return all.grown(from, to, errorS, func(r Reading) (begun, ended time.Time, total float64, ok bool) {
		if r.CPUNs == nil {
			return begun, ended, 0, false
		}
		return r.Asked, r.Answered, float64(*r.CPUNs) / 1e9, true
	})
}

// grown bounds how far a total grows between two times. Each reading of it was taken at some
// moment from begun to ended.
func (all Readings) grown(from, to time.Time, errorS float64, of func(Reading) (begun, ended time.Time, total float64, ok bool)) (least, most float64) {
	slack := time.Duration(errorS * float64(time.Second))
	before, after := math.Inf(-1), math.Inf(1) // the totals of the readings next to the times, outside
	first, last := math.Inf(1), math.Inf(-1)   // inside
	for _, r := range all {
		begun, ended, total, ok := of(r)
		if !ok {
			continue
		}
		if !ended.After(from.Add(-slack)) {
			before = max(before, total)
		}
		if !begun.Before(to.Add(slack)) {
			after = min(after, total)
		}
		if !begun.Before(from.Add(slack)) && !ended.After(to.Add(-slack)) {
			first, last = min(first, total), max(last, total)
		}
	}
	return max(0, last-first), min(math.MaxFloat64, after-before)
}
