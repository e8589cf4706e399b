package lab

import (
	"kvlab/kvs"
)

// order puts the operations of a batch into waves. Two operations on a key are in one wave
// only if a remote call lists both: its server executes them in order.
type order struct {
	ops  []kvs.Op
	wave []int32 // of each operation
	last map[string]int
}

// plan orders a batch whose operations become the messages, and returns the number of waves.
func (o *order) plan(batch *kvs.Batch, gets, puts *message) (waves int32, err error) {
	n := batch.Len()
	if cap(o.ops) < n+1 {
		o.ops, o.wave = make([]kvs.Op, n+1), make([]int32, n+1)
	}
	cursor := batch.Ops()
	n, err = cursor.Next(o.ops[:n+1])
	o.ops, o.wave = o.ops[:n], o.wave[:n]
	if err != nil || n == 0 {
		return 0, err
	}
	if gets == puts {
		clear(o.wave)
		return 1, nil
	}
	if o.last == nil {
		o.last = make(map[string]int, n)
	}
	clear(o.last)
	for i := range o.ops {
		op := &o.ops[i]
		o.wave[i] = 0
		if before, ok := o.last[alias(op.Key)]; ok {
			listed := gets.ops.IsValid()
			if op.Kind.Writes() {
				listed = puts.ops.IsValid()
			}
			o.wave[i] = o.wave[before]
			if !listed || o.ops[before].Kind.Writes() != op.Kind.Writes() {
				o.wave[i]++
			}
		}
		o.last[alias(op.Key)] = i
		waves = max(waves, o.wave[i]+1)
	}
	clear(o.last) // it refers to the batch
	return waves, nil
}
