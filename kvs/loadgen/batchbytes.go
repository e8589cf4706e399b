package loadgen

// room returns how many operations may join a round before one of its batches may reach
// -batch-bytes, in its request or in the values of its reply; 0 when a batch has reached it.
// The last operation may exceed the limit.
func (w *worker) room(r *round) int {
	if w.batchBytes == 0 {
		return drawn
	}
	most := 0
	for i := range r.exchanges {
		x := &r.exchanges[i]
		if len(x.kinds) == 0 {
			x.sized, x.values = 0, 0
		}
		for ; x.sized < len(x.kinds); x.sized++ {
			if returnsValue[x.kinds[x.sized]] {
				x.values += w.sizes.At(x.hashes[x.sized])
			}
		}
		most = max(most, x.values, x.batch.Size())
	}
	if most >= w.batchBytes {
		return 0
	}
	return max(1, (w.batchBytes-most)/w.mostPerOp)
}
