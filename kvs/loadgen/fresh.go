package loadgen

import (
	"encoding/binary"
	"fmt"

	"kvlab/metrics"
)

// examinedLeast is the least number of operations of a reply that a worker examines for stale
// values. It examines one in metrics.ExaminedShare of a large reply, beginning at a random
// one. Each costs three cache misses in large tables.
const examinedLeast = 4

// examined returns which operations of an exchange are examined, n from the first one on.
func (w *worker) examined(x *exchange, null bool) (first int, n uint) {
	if w.audited == nil || null {
		return 0, 0
	}
	all := len(x.kinds)
	length := min(all, max(examinedLeast, all/metrics.ExaminedShare))
	return int(w.checker.Random(uint32(all - length + 1))), uint(length)
}

// examine counts a value as stale if its key is audited and the value is surely older than
// one that was there before: the worker's last write that was acknowledged before it sent the
// read, or a value of the same writer that the worker has read before. Rounds that are in
// flight together, and the transactions of a round, may be executed together: their reads have
// no order.
func (w *worker) examine(x *exchange, hash uint64, v []byte, t *replyCheck) {
	number, ok := w.audited.find(hash)
	if !ok {
		return
	}
	found, before, last := metrics.WriteID(binary.LittleEndian.Uint64(v[8:])), w.seen[number], w.last[number]
	w.seen[number] = found
	sent, why := w.audited.ticks(x.sent), ""
	switch {
	case last.acked != 0 && last.acked <= sent && w.isOlder(found, last.version):
		why = fmt.Sprintf("version %d of this worker was acknowledged at least %v before the read was sent", last.version, w.audited.tick*moment(sent-last.acked))
	case len(w.rounds) == 1 && w.txn == nil && found.Client() == before.Client() && found.Worker() == before.Worker() && found.Version() < before.Version():
		why = fmt.Sprintf("this worker has read %s before", before)
	default:
		return
	}
	if t.Stale++; t.FirstStale == "" {
		key, _ := w.keys.key(w.audited.ids[number])
		t.FirstStale = fmt.Sprintf("worker %d: key %s has %s, and %s", w.id, key, found, why)
	}
}
