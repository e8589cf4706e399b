package loadgen

import (
	"fmt"
	"slices"

	"kvlab/kvs/value"
	"kvlab/metrics"
)

// order is what the operations of one batch on one key have seen so far. They
// are executed in their order, and share one interval of time, so that a check
// by intervals alone would take them to be beside each other.
type order struct {
	who  value.Writer    // whose batch it is
	seen []metrics.Value // the values that the key has had in turn
	own  metrics.Value   // the batch's last write so far; NoValue without one
}

func (o *order) begin() { o.seen, o.own = o.seen[:0], metrics.NoValue }

// read takes in what an operation has read. fresh says whether the operation
// before it, if there was one, left another value. A value that was replaced
// does not come back, for none is written twice.
func (o *order) read(v metrics.Value) (fresh bool, fault string) {
	last := len(o.seen) - 1
	if last >= 0 && o.seen[last] == v {
		return false, ""
	}
	switch mine := v != metrics.NoValue && o.who == value.NewWriter(v.Client(), v.Worker()); {
	case slices.Contains(o.seen, v):
		fault = fmt.Sprintf("%s is back after %s", v, o.seen[last])
	case o.own != metrics.NoValue && v == metrics.NoValue:
		fault = fmt.Sprintf("nothing is there after %s was put", o.own)
	case o.own != metrics.NoValue && mine:
		fault = fmt.Sprintf("%s was read after %s was put", v, o.own)
	}
	o.seen = append(o.seen, v)
	return true, fault
}

// wrote takes in a write.
func (o *order) wrote(v metrics.Value) (fault string) {
	if slices.Contains(o.seen, v) {
		fault = fmt.Sprintf("%s was read before it was put", v)
	}
	o.seen, o.own = append(o.seen, v), v
	return fault
}
