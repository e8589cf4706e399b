package loadgen

import (
	"encoding/binary"

	"kvlab/kvs"
	"kvlab/workload"
)

// drawn is the number of operations that a worker draws at a time. They stay in the
// first-level cache until they are put into batches.
const drawn = 512

// block holds the operations that a worker drew last.
type block struct {
	ops      [drawn]workload.Op
	suffixes [drawn]kvs.KeySuffix // of their keys
	hashes   [drawn]uint64        // of their keys
	kinds    [drawn]kvs.Kind
	owners   [drawn]uint32         // the servers of their keys; 0 with one server
	found    [drawn]workload.Found // what reads of their keys find; only in a replay
}

// add puts each operation into the batch of the server that owns its key. It is the
// hot path of a client: no allocation, lock, clock read or shared write.
//
// It has one loop for each step (keys, owners, batches): a small loop keeps its
// variables in registers and does not read back a key that it has just written.
func (w *worker) add(r *round, ops []workload.Op) {
	switch {
	case w.keyTable == nil || w.keyTable.Lacks(ops):
		w.addAny(r, ops)
	case len(r.exchanges) == 1:
		x := &r.exchanges[0]
		x.extend(len(ops))
		w.keyTable.Fill(ops, x.newSuffixes[:], x.newHashes, x.newKinds)
		w.encode(x, len(ops))
	default:
		w.keyTable.Fill(ops, w.block.suffixes[:], w.block.hashes[:], w.block.kinds[:])
		w.route(len(ops))
		w.distribute(r, ops)
	}
	r.last = uint32(w.writer)
}

// route finds the owners of the block's first n keys. A router that needs only the
// keys' hashes routes many at once, in a quarter of the time.
func (w *worker) route(n int) {
	b := &w.block
	if r, ok := w.router.(interface{ Owners([]uint32, []uint64) }); ok {
		r.Owners(b.owners[:n], b.hashes[:n])
		return
	}
	for i := range n {
		b.owners[i] = uint32(w.router.Server(w.key(b.suffixes[i]), b.hashes[i]))
	}
}

// key returns the key with a suffix. It is valid until the next call.
func (w *worker) key(e kvs.KeySuffix) []byte {
	k := &w.keys
	binary.LittleEndian.PutUint64(k.buf[k.prefix:], e.Text)
	return k.buf[:k.prefix+int(e.Len)]
}

// distribute adds each operation of the block to the exchange of its server.
func (w *worker) distribute(r *round, ops []workload.Op) {
	for i := range r.exchanges {
		x := &r.exchanges[i]
		x.extend(len(ops))
		x.added = 0
	}
	b := &w.block
	for i := range ops {
		x := &r.exchanges[b.owners[i]]
		n := x.added % drawn
		x.newSuffixes[n], x.newHashes[n], x.newKinds[n] = b.suffixes[i], b.hashes[i], b.kinds[i]
		x.added++
	}
	for i := range r.exchanges {
		x := &r.exchanges[i]
		unused := len(ops) - x.added
		x.hashes, x.kinds = x.hashes[:len(x.hashes)-unused], x.kinds[:len(x.kinds)-unused]
		w.encode(x, x.added)
	}
}

// encode appends an exchange's n new operations to its batch.
func (w *worker) encode(x *exchange, n int) {
	suffixes, hashes, kinds := x.newSuffixes[:n], x.newHashes[:n], x.newKinds[:n]
	for i := 0; i < n; {
		i += x.batch.AppendGets(w.keyTable.Prefix, suffixes[i:], kinds[i:])
		for ; i < n && kinds[i].Writes(); i++ {
			w.put(x, x.batch.ReserveSuffix(kinds[i], w.keyTable.Prefix, suffixes[i], w.sizes.At(hashes[i])), hashes[i])
		}
	}
}

// put fills in the value of the worker's next write, in an exchange, to the key with a
// hash.
func (w *worker) put(x *exchange, v []byte, hash uint64) {
	w.writer = w.writer.Next()
	w.checker.Key.Put(v, hash, w.writer)
	if w.audited != nil {
		w.keep(x, hash, uint32(w.writer))
	}
}

// keep keeps a write to the key with a hash if the key may be audited; version 0 is a
// Delete. It does not branch: by default 64 % of the writes are kept.
func (w *worker) keep(x *exchange, hash uint64, version uint32) {
	kept := len(x.written) + w.audited.mightContain(hash)
	x.written = append(x.written, auditedWrite{hash, version})[:kept]
}

// fill draws the next operations of the workload.
func (w *worker) fill(ops []workload.Op) {
	w.source.Fill(ops)
	if w.replays {
		copy(w.block.found[:], w.source.Found())
	}
}

// addAny adds operations of any kind on any records. The key table lacks some.
func (w *worker) addAny(r *round, ops []workload.Op) {
	for i, op := range ops {
		key, hash := w.keys.key(op.Key)
		owner := w.router.Server(key, hash)
		w.block.owners[i] = uint32(owner)
		x := &r.exchanges[owner]
		kind := kvs.Kind(op.Kind)
		if kind == kvs.Scan {
			w.scan(r, owner, key, hash, op)
			continue
		}
		x.hashes = append(x.hashes, hash)
		x.kinds = append(x.kinds, kind)
		size := 0
		if w.replays {
			x.found = append(x.found, w.block.found[i])
			size = int(op.Limit)
		}
		switch kind {
		case kvs.Get:
			x.batch.Get(key)
		case kvs.Delete:
			x.batch.Delete(key)
			if w.audited != nil {
				w.keep(x, hash, 0)
			}
		default:
			if !w.replays {
				size = w.sizes.At(hash)
			}
			w.put(x, x.batch.Reserve(kind, key, size), hash)
		}
	}
}

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
