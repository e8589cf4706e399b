package metrics

import (
	"fmt"
	"maps"
	"math/bits"
)

// Transactions are a client's transactions (-txn).
type Transactions struct {
	Total  TransactionCounts `json:"total"`  // from the warm-up's first to the drain's last
	Window TransactionCounts `json:"window"` // of them, those whose outcome came in the window
	Behind uint64            `json:"behind"` // operations of transactions that were refused, and not committed when the drain ended
}

// TransactionCounts are exact numbers of attempts of transactions. An attempt is committed,
// aborted or unknown, so Attempts is the sum of the three. A transaction that is aborted is
// tried again with the same operations, so it has at most one commit.
type TransactionCounts struct {
	Attempts uint64            `json:"attempts"`
	Commits  uint64            `json:"commits"`
	Aborts   map[string]uint64 `json:"aborts,omitempty"`  // by the reason's word: conflict, died, wounded, late, fenced
	Unknown  uint64            `json:"unknown,omitempty"` // attempts without an outcome

	Single  uint64   `json:"single"`            // commits that touched one server
	Cross   uint64   `json:"cross"`             // commits that touched several
	Parts   uint64   `json:"parts"`             // sum of the servers that each of Cross touched
	Ops     uint64   `json:"ops"`               // operations of the commits
	Retries []uint64 `json:"retries,omitempty"` // commits by their attempts, see AttemptsSlot; without zeros at the end
}

// AttemptsSlot returns the number of a slot of Retries, from the attempts of a commit, at least
// 1: 1, 2, 3 and 4 have slots of their own, and then 5-8, 9-16, 17-32, and so on.
func AttemptsSlot(attempts int) int {
	if attempts <= 4 {
		return attempts - 1
	}
	return bits.Len(uint(attempts-1)) + 1
}

// FirstAttempts returns the least attempts of a slot of Retries.
func FirstAttempts(slot int) uint64 {
	if slot < 4 {
		return uint64(slot) + 1
	}
	return 1<<(slot-2) + 1
}

// Aborted returns the aborted attempts.
func (t TransactionCounts) Aborted() (n uint64) {
	for _, of := range t.Aborts {
		n += of
	}
	return n
}

// Add returns the sum of two.
func (t TransactionCounts) Add(u TransactionCounts) TransactionCounts {
	t.Attempts, t.Commits, t.Unknown = t.Attempts+u.Attempts, t.Commits+u.Commits, t.Unknown+u.Unknown
	t.Single, t.Cross, t.Parts, t.Ops = t.Single+u.Single, t.Cross+u.Cross, t.Parts+u.Parts, t.Ops+u.Ops
	aborts := maps.Clone(t.Aborts)
	for why, n := range u.Aborts {
		if aborts == nil {
			aborts = make(map[string]uint64)
		}
		aborts[why] += n
	}
	retries := make([]uint64, max(len(t.Retries), len(u.Retries)))
	for _, of := range [][]uint64{t.Retries, u.Retries} {
		for slot, n := range of {
			retries[slot] += n
		}
	}
	t.Aborts, t.Retries = aborts, retries
	return t
}

// TransactionTally are the transactions that a server executed, or of a client's peers those
// that the client knows to be committed there.
type TransactionTally struct {
	Runs    uint64  `json:"runs"`              // committed transactions of this server alone
	Parts   uint64  `json:"parts"`             // committed parts of transactions of several servers
	Shares  float64 `json:"shares,omitempty"`  // a server's: of the commits, 1 of a run, and of a part one over the number of servers that take part
	Refused uint64  `json:"refused,omitempty"` // a server's: parts that it refused, by a lock or a fence
}

// Add returns the sum of two.
func (t TransactionTally) Add(u TransactionTally) TransactionTally {
	return TransactionTally{t.Runs + u.Runs, t.Parts + u.Parts, t.Shares + u.Shares, t.Refused + u.Refused}
}

// Lines returns what has happened since before, in lengthS seconds, as a server's log shows it, in
// the form that the second lab's report-tput.py reads: the second word of a line with "commit/s"
// or "abort/s" in it is a rate. The servers' commits add up to the clients'.
func (t TransactionTally) Lines(before TransactionTally, lengthS float64) string {
	return fmt.Sprintf("commit/s %0.2f\nabort/s %0.2f\n", PerSecond(t.Shares-before.Shares, lengthS), PerSecond(float64(t.Refused-before.Refused), lengthS))
}
