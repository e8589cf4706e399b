package loadgen

import (
	"cmp"
	"slices"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/history"
	"kvlab/kvs/history/transactions"
	"kvlab/kvs/loadgen/keytable"
	"kvlab/kvs/loadgen/selected"
	"kvlab/kvs/route"
	"kvlab/workload"
)

// keys makes the keys of records in a buffer. It belongs to one goroutine.
type keys struct {
	buf    [kvs.MaxKeyLen]byte // begins with the prefix
	prefix int
	of     route.Keys
}

func newKeys(of route.Keys) (k keys) {
	k.of, k.prefix = of, copy(k.buf[:], of.Prefix)
	return k
}

// id returns the id of the record with a key, and the key's hash; false if no record has
// it. Ids have a fixed number of digits.
func (k *keys) id(key []byte) (id, hash uint64, ok bool) {
	if len(key) < k.prefix+k.of.Digits {
		return 0, 0, false
	}
	for _, c := range key[k.prefix:][:k.of.Digits] {
		id = 10*id + uint64(c-'0')
	}
	made, hash := k.key(id)
	return id, hash, string(made) == string(key)
}

// key returns a record's key, which is valid until the next call, and its route.Hash.
func (k *keys) key(id uint64) (key []byte, hash uint64) { return k.of.Append(k.buf[:0], id) }

// keyTable returns the table of the workload's keys, or nil if it would not be used.
func (c Config) keyTable(plan *workload.Plan) *keytable.Table {
	if plan.Share(workload.Delete)+plan.Share(workload.Scan) > 0 || plan.Replays() {
		return nil // addAny adds these
	}
	records, open := c.Workload.Records, plan.Share(workload.Insert) > 0
	if open {
		records = max(records, keytable.FirstLong)
	}
	return keytable.New(c.keys(), records, open)
}

// record makes the workers record their operations on the keys that the secret selects, or
// without a launcher the seed. What they wrote so far is not recorded.
func (g *Generator) record(plan *workload.Plan) {
	names, keys := history.Keys{}, newKeys(g.config.keys())
	for _, id := range selected.IDs(plan, cmp.Or(g.Secret, g.config.Workload.Seed), g.config.Workload.Records, g.config.Serializable) {
		key, _ := keys.key(id)
		names.Names = append(names.Names, string(key))
	}
	slices.Sort(names.Names)
	for _, name := range names.Names {
		names.Owners = append(names.Owners, g.workers[0].router.Server([]byte(name), route.Hash([]byte(name))))
	}
	if plan.Share(workload.Delete) > 0 {
		names.Deleters = g.config.Clients * g.config.Workers
	}
	if g.config.Serializable {
		slices, recorders := transactions.New(g.config.Index, g.config.Workers, g.config.Txn, names)
		g.slices = slices
		for i, w := range g.workers {
			w.txn.Recorder = selected.After(recorders[i], w.writer)
		}
		return
	}
	slices, recorders := history.New(g.config.Index, g.config.Workers, names)
	g.slices = slices
	for i, w := range g.workers {
		w.history = recorders[i]
		w.history.BeginRound(uint32(w.writer), time.Now())
	}
}
