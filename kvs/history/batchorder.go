package history

import (
	"fmt"
	"slices"

	"kvlab/metrics"
)

// batchOrder holds what the operations of one batch on one key have seen so far. The
// server executes them in order, but they share one time interval: a check of
// intervals alone would treat them as concurrent.
type batchOrder struct {
	deletes bool              // the workload deletes: the key may disappear at any time
	seen    []metrics.WriteID // the key's values, in order
	own     metrics.WriteID   // the batch's last write so far; NoValue without one
}

func (o *batchOrder) begin() { o.seen, o.own = o.seen[:0], metrics.NoWrite }

// read adds a value that an operation read. writer is the operation's writer, with version 0.
// fresh reports whether the value differs from the one that the operation before left. No
// value is written twice, so a replaced value never returns.
func (o *batchOrder) read(writer, v metrics.WriteID) (fresh bool, violation string) {
	last := len(o.seen) - 1
	if last >= 0 && o.seen[last] == v {
		return false, ""
	}
	switch mine := v != metrics.NoWrite && writer == metrics.MakeWriteID(v.Client(), v.Worker(), 0); {
	case o.deletes && v == metrics.NoWrite:
	case slices.Contains(o.seen, v):
		violation = fmt.Sprintf("%s is back after %s", v, o.seen[last])
	case o.own != metrics.NoWrite && v == metrics.NoWrite:
		violation = fmt.Sprintf("nothing is there after %s was put", o.own)
	case o.own != metrics.NoWrite && mine:
		violation = fmt.Sprintf("%s was read after %s was put", v, o.own)
	}
	o.seen = append(o.seen, v)
	return true, violation
}

// wrote adds a write; NoValue is a Delete.
func (o *batchOrder) wrote(v metrics.WriteID) (violation string) {
	if v != metrics.NoWrite && slices.Contains(o.seen, v) {
		violation = fmt.Sprintf("%s was read before it was put", v)
	}
	o.seen, o.own = append(o.seen, v), v
	return violation
}
