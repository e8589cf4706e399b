package loadgen

import (
	"sync"

	"kvlab/kvs"
	"kvlab/metrics"
	"kvlab/workload"
)

// worker is one goroutine's whole world. Only what stands below mu is looked at
// by others, once a second; the worker takes the lock once per call.
type worker struct {
	id       int
	conns    []conn // one for each server
	peers    []peer // likewise;
	rounds   []round
	router   kvs.Router
	source   *workload.Source
	keys     keys
	writer   writer
	checker  checker
	recorder *metrics.Recorder
	ops      [drawn]workload.Op

	mu      sync.Mutex
	counts  []metrics.Counts     // by server; guarded by mu
	window  metrics.Counts       // guarded by mu
	bytes   metrics.Bytes        // guarded by mu
	carried metrics.Bytes        // of them, those of the window; guarded by mu
	verify  metrics.Verification // guarded by mu
}

// drawn is how many operations a worker draws at a time: few enough that they
// are still in the first-level cache when they are put into batches.
const drawn = 512

// peer is one server as a client knows it.
type peer struct {
	name string // its node name, as its handshake told
	null bool   // it has no store
}

func newWorker(c Config, id int, plan *workload.Plan, router kvs.Router, recorder *metrics.Recorder) *worker {
	w := &worker{
		id:       id,
		peers:    make([]peer, c.Servers()),
		router:   router,
		source:   plan.Source(c.Index, id),
		keys:     newKeys(c.KeyPrefix),
		writer:   newWriter(c.Index, id),
		checker:  checker{size: c.ValueSize, clients: c.Clients, workers: c.Workers, every: c.Verify, until: 1},
		recorder: recorder,
		counts:   make([]metrics.Counts, c.Servers()),
	}
	for range c.InFlight {
		w.rounds = append(w.rounds, newRound(c.Servers()))
	}
	return w
}

// kindOf maps what the workload asks for to what the store does.
var kindOf = [...]kvs.Kind{
	workload.Read:            kvs.Get,
	workload.Update:          kvs.Put,
	workload.ReadModifyWrite: kvs.ReadModifyWrite,
}

// add puts operations into a round's batches, each into that of the server that
// owns its key. It
// is the hot half of a client: no allocation, lock, clock or shared write.
func (w *worker) add(r *round, ops []workload.Op) {
	for _, op := range ops {
		key, hash := w.keys.key(op.Key)
		server := 0
		if len(r.exchanges) > 1 {
			server = w.router.Server(key, hash)
		}
		x := &r.exchanges[server]
		kind := kindOf[op.Kind]
		x.hashes = append(x.hashes, hash)
		x.kinds = append(x.kinds, kind)
		if kind == kvs.Get {
			x.batch.Get(key)
			continue
		}
		w.writer = w.writer.next()
		putValue(x.batch.Reserve(kind, key, w.checker.size), hash, w.writer)
	}
}
