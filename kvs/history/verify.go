// Package history records operations of a run and verifies that they are linearizable: that each
// operation can be given a moment between its call and its return so that, in
// the order of these moments, every read sees the last write before it.
// Linearizability is local (Herlihy and Wing, "Linearizability: a correctness
// condition for concurrent objects", TOPLAS 1990, section 3.1), so each key has a
// history of its own.
//
// In general that is NP-complete, and a search such as porcupine's does not end
// where hundreds of writes overlap, as those of large batches on a hot key do. But no value of ours
// is written twice, so each read says which write it saw, and then it is a
// matter of sorting (Gibbons and Korach, "Testing shared memories", SIAM Journal
// on Computing 1997, section 4.2). A write and the reads that saw it make a cell,
// and in any order that explains the history a cell stands together. A
// read-modify-write belongs to the cell that it read and begins the next, and
// ties both into one block. Let first be the earliest return in a block and last its latest
// call: block A must precede B when A.first < B.last. A cycle of these demands
// always has one between two blocks: if A precedes B and B need not precede A,
// then A.last <= B.first, and going round a longer cycle makes some block's first
// less than itself. So a history is linearizable exactly if each block is in
// order by itself and no two must each precede the other; and of a block only
// the write, the earliest return and the latest call of each cell matter.
//
// porcupine judges what was found: the operations of the blocks that contradict
// each other, which are few, or else a few blocks of a history that is right. If it does not agree,
// the outcome is Unknown.
package history

import (
	"fmt"

	"kvlab/metrics"
)

// Outcome is what a verification found.
type Outcome int

// The outcomes.
const (
	OK      Outcome = iota // linearizable
	Illegal                // not linearizable
	Unknown                // it cannot be said
)

// String is the outcome in words.
func (o Outcome) String() string {
	return [...]string{"linearizable", "not linearizable", "unknown"}[o]
}

// Result is what a verification found.
type Result struct {
	Outcome Outcome
	Why     string              // in words; "" for OK
	Part    []metrics.HistoryOp // not OK: the operations that contradict each other
}

// Verify says whether a history is linearizable. What was written before its
// slice, after it, or by workers without a span is taken to have been written at
// any time that the spans allow, so that a correct store's history is always OK.
// It takes time and memory in proportion to n log n operations.
func Verify(h metrics.History) Result {
	blocks, found := arrange(h)
	if found == nil {
		found = conflict(blocks)
	}
	if found == nil {
		return confirm(Result{Part: sample(blocks)}, h.Key)
	}
	return confirm(Result{Outcome: Illegal, Why: found.why, Part: found.part}, h.Key)
}

// contradiction is a set of operations that no order explains.
type contradiction struct {
	why  string
	part []metrics.HistoryOp
}

// confirm asks porcupine for its opinion on a result's part.
func confirm(r Result, key string) Result {
	want := r.Outcome
	switch got := judge(r.Part); {
	case got == Unknown:
		r.Outcome, r.Why = Unknown, "porcupine did not finish within its time"
	case got != want:
		r.Outcome, r.Why = Unknown, fmt.Sprintf("porcupine says %s, sorting says %s: %s", got, want, r.Why)
	case got == OK:
		r.Part = nil
		return r
	}
	r.Why = fmt.Sprintf("key %s: %s", key, r.Why)
	return r
}

// verdicts counts the histories that are not linearizable, or not certainly, and
// keeps the first of them.
type verdicts struct {
	illegal, unknown uint64
	first            *metrics.Violation
}

// verify verifies one key's history.
func (v *verdicts) verify(h metrics.History) {
	r := Verify(h)
	switch r.Outcome {
	case OK:
		return
	case Illegal:
		v.illegal++
	default:
		v.unknown++
	}
	if v.first == nil {
		v.first = &metrics.Violation{Why: r.Why, History: h, Part: r.Part}
	}
}
