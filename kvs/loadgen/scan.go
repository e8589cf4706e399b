package loadgen

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/value"
	"kvlab/workload"
)

// Every server has keys of every range, so a scan goes to all of them: as a Scan to the server
// that owns its first key, and as a ScanPart to the others. Each returns its first pairs from
// that key on, and the scan has found the first ones among all of these. A round with scans
// waits for all its replies before it checks any, and its operations are answered when the
// last reply has come.

// scan is a scan of a round.
type scan struct {
	from  uint64 // id of the first key
	limit int    // pairs
	acked uint64 // the worker's own inserts that were acknowledged when it was drawn
	owner int    // the server that counts it
	fault string // what is wrong with its parts; "" for nothing
}

// scan adds a scan to the batches of all servers.
func (w *worker) scan(r *round, owner int, key []byte, hash uint64, op workload.Op) {
	r.scans = append(r.scans, scan{from: op.Key, limit: int(op.Limit), acked: w.inserted, owner: owner})
	for i := range r.exchanges {
		x, kind := &r.exchanges[i], kvs.Scan
		if i != owner {
			kind = kvs.ScanPart
			x.parts++
		}
		x.hashes, x.kinds = append(x.hashes, hash), append(x.kinds, kind)
		x.batch.Scan(kind, key, int(op.Limit))
	}
}

// withoutOthers returns the last due times and kinds without those of ScanParts and of the
// spot, which are no operations of the exchange. It overwrites due and kinds.
func (x *exchange) withoutOthers(due []time.Duration, kinds []kvs.Kind) ([]time.Duration, []kvs.Kind) {
	spot, n := x.spotAt-len(x.kinds)+len(due), 0
	for i, at := range due {
		if kinds[i] != kvs.ScanPart && i != spot {
			due[n], kinds[n] = at, kinds[i]
			n++
		}
	}
	return due[:n], kinds[:n]
}

// takeScans checks and counts all replies of a round with scans. The last one came at r.came.
func (w *worker) takeScans(r *round, at phaseAt) error {
	w.checks = w.checks[:0]
	for i := range r.exchanges {
		x := &r.exchanges[i]
		x.scans, x.ids, x.ends = r.scans, x.ids[:0], x.ends[:0]
		w.checks = append(w.checks, replyCheck{})
		err := w.check(x, w.servers[i].NoStore, &w.checks[i])
		if err == nil && len(x.ends) < len(r.scans) && !w.repeats {
			err = fmt.Errorf("%w reply: the result of a scan is not one", kvs.ErrMalformed)
		}
		if err != nil {
			return &CallError{w.servers[i].Name, x.batch.Len(), err, i}
		}
	}
	for n := range r.scans {
		if fault := w.join(r, n); fault != "" {
			s := &r.scans[n]
			c := &w.checks[s.owner]
			c.Scans, c.Hits, c.Failures = c.Scans-1, c.Hits-1, c.Failures+1
			key, _ := w.keys.key(s.from)
			c.First = cmp.Or(c.First, fmt.Sprintf("worker %d: scan of %d from key %s: %s", w.id, s.limit, key, fault))
		}
	}
	for i := range r.exchanges {
		w.count(i, r, &w.checks[i], at)
	}
	return nil
}

// checkOther checks the result of operation i of a batch, which is not what returnsValue says
// of its kind: the result of a scan, or of a Delete that found no key.
func (w *worker) checkOther(x *exchange, i int, result kvs.Result, null bool, t *replyCheck) error {
	switch kind := x.kinds[i]; {
	case kind == kvs.Delete && !result.Found:
		t.absent++
		return nil
	case kind.Scans() && result.Found:
		t.Hits++
		return w.checkPart(x, result.Value, null, t)
	default:
		return fmt.Errorf("%w reply: operation %d is a %s, its result is not", kvs.ErrMalformed, i, kind)
	}
}

// checkPart checks the pairs of an exchange's part of its next scan, and keeps their ids. An
// error means that the reply is malformed. A null server has the same key for all pairs.
func (w *worker) checkPart(x *exchange, found []byte, null bool, t *replyCheck) error {
	s := &x.scans[len(x.ends)]
	next, n := s.from, 0
	for pairs := kvs.PairsOf(found); pairs.More(); n++ {
		key, v, err := pairs.Next()
		if err != nil {
			return err
		}
		if w.checker.Every == VerifyNone {
			t.Unchecked++
			continue
		}
		id, hash, ours := w.keys.id(key)
		if null {
			hash = value.HashIn(v)
			t.AnyKey++
		} else if s.fault == "" {
			s.fault = w.pairFault(x, s, key, hash, id, next, n, ours)
		}
		compared, err := w.checker.Check(v, hash)
		t.Checked++
		if compared {
			t.Compared++
		}
		if err != nil && s.fault == "" {
			s.fault = fmt.Sprintf("key %s: %v", key, err)
		}
		x.ids = append(x.ids, id)
		next = id + 1
	}
	x.ends = append(x.ends, len(x.ids))
	return nil
}

// pairFault returns what is wrong with the key of pair n of a scan's part; "" for nothing.
// next is the least id that the key may have.
func (w *worker) pairFault(x *exchange, s *scan, key []byte, hash, id, next uint64, n int, ours bool) string {
	switch {
	case !ours:
		return fmt.Sprintf("key %q is not one of the records'", key)
	case n > 0 && id == next-1:
		return fmt.Sprintf("key %s is there twice", key)
	case id < next:
		return fmt.Sprintf("key %s is out of order", key)
	case n == s.limit:
		return fmt.Sprintf("key %s is one more than the limit", key)
	case w.router.Server(key, hash) != x.server:
		return fmt.Sprintf("key %s is another server's", key)
	}
	return ""
}

// join merges the parts of scan n of a round, and returns what is wrong with it; "" for
// nothing. It does not check what a null server finds, and checks nothing with -verify none.
func (w *worker) join(r *round, n int) string {
	s := &r.scans[n]
	if s.fault != "" || w.checker.Every == VerifyNone || w.servers[s.owner].NoStore {
		return s.fault
	}
	w.parts = w.parts[:0]
	for i := range r.exchanges {
		x, from := &r.exchanges[i], 0
		if n > 0 {
			from = x.ends[n-1]
		}
		w.parts = append(w.parts, x.ids[from:x.ends[n]])
	}
	w.merged = merge(w.merged[:0], w.parts, s.limit)
	if w.deletes {
		return ""
	}
	if id, lacks := s.lacks(w.merged, w.own); lacks {
		key, _ := w.keys.key(id)
		return fmt.Sprintf("key %s is not there", key)
	}
	return ""
}

// merge appends the least ids of several ascending parts, at most limit, in ascending
// order. It empties the parts as far as it uses them.
func merge(merged []uint64, parts [][]uint64, limit int) []uint64 {
	for len(merged) < limit {
		least := -1
		for i, p := range parts {
			if len(p) > 0 && (least < 0 || p[0] < parts[least][0]) {
				least = i
			}
		}
		if least < 0 {
			break
		}
		merged, parts[least] = append(merged, parts[least][0]), parts[least][1:]
	}
	return merged
}

// inserts describes the ids that a worker inserts: first, first+stride, first+2*stride, ...
// The ids below records were loaded.
type inserts struct{ records, first, stride uint64 }

func newInserts(plan *workload.Plan, c Config, worker int) inserts {
	first := plan.Inserted(c.place(worker), 0)
	return inserts{c.Workload.Records, first, plan.Inserted(c.place(worker), 1) - first}
}

// lacks returns the first id that a scan should have found and did not: the id of a loaded
// record, or of an own insert that was acknowledged before. It applies only if nothing is
// deleted.
func (s *scan) lacks(found []uint64, own inserts) (id uint64, lacks bool) {
	for i := range s.limit {
		if id = s.from + uint64(i); id >= own.records {
			break
		}
		if i == len(found) || found[i] != id {
			return id, true
		}
	}
	k := uint64(0)
	if s.from > own.first {
		k = (s.from - own.first + own.stride - 1) / own.stride
	}
	for ; k < s.acked; k++ {
		id = own.first + k*own.stride
		if len(found) == s.limit && id > found[s.limit-1] {
			break
		}
		if _, ok := slices.BinarySearch(found, id); !ok {
			return id, true
		}
	}
	return 0, false
}
