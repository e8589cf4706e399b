package loadgen

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/kvs/value"
	"kvlab/metrics"
)

// recordUnknown counts a call that failed because its server's process ended, if another
// process has taken its place with the same store. The outcome of its operations is unknown:
// they are not sent again, and count as neither verified nor failed. recordUnknown returns
// any other error. It also returns err during the load, and if the workload changes the set of
// keys, which the run would then not know.
func (w *worker) recordUnknown(r *round, x *exchange, err error) error {
	if !errors.Is(err, driver.ErrUnknown) || r.phase == metrics.Load || !w.keepsAll || w.repeats {
		return err
	}
	r.arrived(x)
	w.returnSpot(r, x)
	var kinds [kvs.Kinds]uint64
	for _, kind := range x.kinds {
		kinds[kind]++
	}
	w.unknown[x.server] = w.unknown[x.server].Add(metrics.CountsOf(kinds, 0, 0, 1))
	if r.window != nil {
		w.sums.Unknown += uint64(x.ops())
	}
	for _, written := range x.written {
		if number, ok := w.audited.find(written.hash); ok {
			w.lost = append(w.lost, metrics.LostWrite{
				Key: int32(number), Worker: uint16(w.id), Version: written.version,
				Sent: w.audited.ticks(x.sent), Learned: w.audited.ticks(x.came) + 1,
			})
		}
	}
	return w.recheck(x.server)
}

// recheckKeys is the number of its last writes that a worker reads after a call whose outcome
// is unknown. They are few, so that they do not change what the servers see of the workload.
const recheckKeys = 16

// recheck reads the worker's last acknowledged writes of audited keys on a server that has
// come back: later writes would soon hide from the audit that they are lost. A write is lost
// for certain if the server has an older write of the worker, or the loaded value. The reads
// count with the reads of the audit.
func (w *worker) recheck(server int) error {
	numbers := w.lastWritten(server)
	if len(numbers) == 0 {
		return nil
	}
	var batch kvs.Batch
	var reply kvs.Reply
	for _, n := range numbers {
		key, _ := w.keys.key(w.audited.ids[n])
		batch.Get(key)
	}
	call := kvs.Call{Batch: &batch, Reply: &reply}
	w.conns[server].Send(&call)
	if err := w.conns[server].Wait(&call); err != nil {
		return fmt.Errorf("read the last writes again: %w", err)
	}
	read := metrics.Counts{Gets: uint64(len(numbers)), Calls: 1}
	w.mu.Lock()
	defer w.mu.Unlock()
	results := reply.Results()
	for _, n := range numbers {
		result, err := results.Next()
		if err != nil {
			return err
		}
		found := metrics.NoWrite
		if result.Found && len(result.Value) >= value.HeaderLen {
			found = metrics.WriteID(binary.LittleEndian.Uint64(result.Value[8:]))
		}
		if read.Misses++; result.Found {
			read.Hits, read.Misses = read.Hits+1, read.Misses-1
		}
		if w.isOlder(found, w.last[n].version) {
			w.verify.Failures++
			key, _ := w.keys.key(w.audited.ids[n])
			w.verify.First = cmp.Or(w.verify.First, fmt.Sprintf("worker %d: after the restart of server %s key %s has the value %s, and version %d of this worker was acknowledged: the write is lost",
				w.id, w.servers[server].Name, key, found, w.last[n].version))
		}
	}
	w.rechecked[server] = w.rechecked[server].Add(read)
	w.recheckedBytes = w.recheckedBytes.Add(metrics.Bytes{Sent: uint64(batch.Size()), Received: uint64(reply.Size())})
	reply.Free()
	return nil
}

// lastWritten returns the numbers of the audited keys of a server that the worker wrote last.
func (w *worker) lastWritten(server int) (numbers []int) {
	for n, l := range w.last {
		if l.acked > 0 {
			if key, hash := w.keys.key(w.audited.ids[n]); w.router.Server(key, hash) == server {
				numbers = append(numbers, n)
			}
		}
	}
	slices.SortFunc(numbers, func(a, b int) int { return cmp.Compare(w.last[b].acked, w.last[a].acked) })
	return numbers[:min(recheckKeys, len(numbers))]
}

// isOlder reports whether a value is surely older than a version that the worker wrote: one
// of its earlier versions, a loaded one, or none.
func (w *worker) isOlder(found metrics.WriteID, version uint32) bool {
	if own := w.writer; found.Client() == own.Client() && found.Worker() == own.Worker() {
		return found.Version() < version
	}
	return found.Version() <= w.audited.loadedVersion(found.Client(), found.Worker())
}
