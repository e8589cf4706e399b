// Package selected says which keys a client's workers record, and how.
package selected

import (
	"time"

	"kvlab/kvs/history/transactions"
	"kvlab/kvs/loadgen/transact"
	"kvlab/metrics"
	"kvlab/workload"
)

// Slices are slices of the run in which workers record: history.Slices, or transactions.Slices.
type Slices interface {
	Start(plan metrics.SlicePlan, begins time.Time, share func(metrics.Slice) error) (stop func() error)
	Report(*metrics.Summary)
	Violation() *metrics.Violation
}

// The keys whose operations are recorded: at most each in every range of popularity ranks that
// begins with a power of two, 75 keys of 10^6, and the first inserted ones, whose inserts the
// first slice sees. Of transactions those of the hot most popular keys too, because rare keys
// seldom meet in one: all of a Pool.
const (
	each    = 4
	hot     = 64
	inserts = 64
)

// IDs returns the ids of the records whose operations are recorded, of so many loaded ones.
func IDs(plan *workload.Plan, secret, records uint64, transactions bool) (ids []uint64) {
	first := uint64(0)
	if transactions {
		first = min(hot, records)
	}
	for rank := range first {
		ids = append(ids, plan.Key(rank))
	}
	for _, rank := range plan.Sample(secret, each) {
		if rank >= first {
			ids = append(ids, plan.Key(rank))
		}
	}
	inserted := plan.SampleInserts(secret)
	return append(ids, inserted[:min(inserts, len(inserted))]...)
}

// After returns the recorder of a worker's transactions after its last write so far.
func After(r *transactions.Recorder, last metrics.WriteID) transact.Recorder {
	r.After(last.Version())
	return attempts{r}
}

// attempts records the attempts of a worker's transactions.
type attempts struct{ *transactions.Recorder }

func (r attempts) Attempt(of *transact.Round, i int) {
	t := of.Of(i)
	r.Recorder.Attempt(transactions.Round{Transactions: &of.Transactions, Hashes: of.Hashes, Wrote: of.Wrote}, i, t.Number, t.Tries)
}
