// Package history records operations of a run and verifies that they are linearizable:
// each operation takes effect at one time between its call and its return, such that
// every read sees the last write before it. Linearizability is local (Herlihy and
// Wing, "Linearizability: a correctness condition for concurrent objects", TOPLAS 1990,
// section 3.1), so each key has a separate history.
//
// The general problem is NP-complete. A search such as porcupine's does not end when
// hundreds of writes overlap, as those of large batches on a hot key do. But kvlab
// writes no value twice, so each read identifies the write that it saw, and sorting
// decides the problem (Gibbons and Korach, "Testing shared memories", SIAM Journal on
// Computing 1997, section 4.2). A write and the reads that saw it form a cell. In every
// order that explains the history, a cell is contiguous. A read-modify-write belongs to
// the cell that it read and begins the next one, which joins both into one block. Let
// first be the earliest return in a block and last its latest call: block A must
// precede B if A.first < B.last. A cycle of these constraints always contains one of
// two blocks: if A must precede B and B need not precede A, then A.last <= B.first, and
// following a longer cycle makes some block's first less than itself. Therefore a
// history is linearizable if and only if each block is in order and no two blocks must
// each precede the other. Only the write, the earliest return and the latest call of
// each cell are relevant.
//
// porcupine confirms each contradiction: it checks the few operations of the blocks. If
// it disagrees, the outcome is Unknown.
package history

import (
	"fmt"

	"kvlab/metrics"
)

// Outcome is the outcome of a verification.
type Outcome string

// The outcomes.
const (
	OK      Outcome = "linearizable"
	Illegal Outcome = "not linearizable"
	Unknown Outcome = "unknown"
)

// Result is the result of a verification.
type Result struct {
	Outcome Outcome
	Why     string              // the reason, as a sentence; "" for OK
	Part    []metrics.HistoryOp // not OK: the operations that contradict each other
}

// Verify reports whether a history is linearizable. Writes before or after its slice,
// or by workers without a span, may have happened at any time that the spans allow, so
// that a correct store's history is always OK. For n operations it takes O(n log n)
// time.
func Verify(h metrics.History) Result {
	blocks, found := arrange(h)
	if found == nil && h.Deleters > 0 {
		found = unexplained(h, blocks)
		blocks = append(blocks, absences(h)...)
	}
	if found == nil {
		found = conflict(blocks)
	}
	if found == nil {
		return Result{Outcome: OK}
	}
	switch judge(found.Part) {
	case Unknown:
		found.Outcome, found.Why = Unknown, "porcupine did not finish within its time"
	case OK:
		found.Outcome, found.Why = Unknown, "porcupine says linearizable, sorting says not: "+found.Why
	}
	found.Why = fmt.Sprintf("key %s: %s", h.Key, found.Why)
	return *found
}

// verdicts counts the histories whose outcome is Illegal or Unknown, and keeps the
// first of them.
type verdicts struct {
	illegal, unknown uint64
	first            *metrics.Violation
}

// verify verifies one key's history.
func (v *verdicts) verify(h metrics.History) {
	r := Verify(h)
	switch r.Outcome {
	case Illegal:
		v.illegal++
	case Unknown:
		v.unknown++
	}
	if r.Outcome != OK && v.first == nil {
		v.first = &metrics.Violation{Why: r.Why, History: h, Part: r.Part}
	}
}
