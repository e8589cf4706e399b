package loadgen

import (
	"sync"
	"sync/atomic"
	"time"

	"kvlab/kvs/driver"
	"kvlab/kvs/history"
	"kvlab/kvs/loadgen/keytable"
	"kvlab/kvs/loadgen/transact"
	"kvlab/kvs/route"
	"kvlab/kvs/value"
	"kvlab/metrics"
	"kvlab/metrics/latency"
	"kvlab/workload"
	"kvlab/workload/profile"
	"kvlab/workload/size"
)

// worker is the state of one goroutine. Other goroutines read only the fields below mu,
// once a second; the worker takes the lock once per call.
type worker struct {
	id       int
	conns    []driver.Conn // one for each server
	servers  []driver.Server
	rounds   []round
	router   route.Router
	source   *workload.Source
	keys     keys
	keyTable *keytable.Table // nil if ids are too long for it
	writer   metrics.WriteID
	sizes    *size.Sizes // of values
	checker  value.Checker
	recorder *latency.Recorder
	history  *history.Recorder // nil without -linearizable
	audited  *audited          // keys whose last writes are remembered; nil outside Measure, and without an audit
	last     []lastWrite       // by the keys' numbers
	seen     []metrics.WriteID // what it read of these keys last, likewise
	spots    []uint32          // the spots that it has not read yet
	before   []lastWrite       // its last writes of the client's spots, when it began to read them; nil until then
	spotted  []metrics.Spot    // what it read
	plan     *workload.Plan
	owner    value.Owner // of its keys, in a replay
	replays  bool        // the workload is a trace
	repeats  bool        // -repeat, after the load: replies are not checked
	inserted uint64      // number of its own inserts that are acknowledged
	own      inserts
	deletes  bool   // the workload deletes
	noMiss   moment // with -ttl, no loaded key can have expired before; 0 without
	keepsAll bool   // its operations never change the set of keys, and it has no scans
	block    block

	batchBytes int // 0: no limit
	mostPerOp  int // bytes of an operation, in a request or a reply

	sums    metrics.Rounds // since the warm-up began
	calls   stamps         // of the window's calls
	ops     stamps         // of the window's operations
	dues    uint64         // digest of the window's due times, in an open loop
	lastDue time.Duration  // in an open loop
	pace    pace
	loaded  []metrics.Counts // by server, at the end of the load; empty until then

	parts  [][]uint64 // of a scan
	merged []uint64   // what it found
	checks []replyCheck

	loadedVersion uint32           // of the last write of the load; set by prepare
	auditCounts   []metrics.Counts // by server, of the audit
	auditChecks   uint64           // sum of the check bytes of what it found

	tally     *profile.Tally      // of the stages of -rate; nil without any
	unknown   []metrics.Counts    // by server, counts of calls whose outcome is unknown
	lost      []metrics.LostWrite // the writes of these calls
	lostSpots uint64              // the spots of these calls

	rechecked      []metrics.Counts // by server, reads of recheck; not in counts until the audit
	recheckedBytes metrics.Bytes    // likewise

	txn        *transact.Queue // nil without -txn, as the next ones
	transactor driver.Transactor
	progress   *atomic.Int64                  // the moment when a worker of the client committed something last
	committed  []transact.Write               // of audited keys, in the round
	ties       map[uint32][]metrics.LostWrite // by the keys' numbers: other writes of the last one's round, whose order is not known

	mu         sync.Mutex
	counts     []metrics.Counts     // by server; guarded by mu
	window     []metrics.Counts     // by server; guarded by mu
	boundaries boundaryCounts       // of the window; guarded by mu
	bytes      metrics.Bytes        // guarded by mu
	carried    metrics.Bytes        // bytes in the window; guarded by mu
	verify     metrics.Verification // guarded by mu
}

func newWorker(c Config, id int, plan *workload.Plan, table *keytable.Table, sizes *size.Sizes, router route.Router, recorder *latency.Recorder) *worker {
	w := &worker{
		id:       id,
		servers:  make([]driver.Server, c.Servers()),
		router:   router,
		source:   plan.Source(c.place(id)),
		plan:     plan,
		owner:    value.Owner{Place: c.place(id), Records: c.Workload.Records},
		replays:  plan.Replays(),
		own:      newInserts(plan, c, id),
		deletes:  plan.Share(workload.Delete) > 0,
		keepsAll: !plan.Replays() && plan.Share(workload.Insert)+plan.Share(workload.Delete)+plan.Share(workload.Scan) == 0,
		keys:     newKeys(c.keys()),
		keyTable: table,
		writer:   metrics.MakeWriteID(c.Index, id, 0),
		sizes:    sizes,
		checker:  value.Checker{Key: value.Fixed, Size: sizes.Constant(), Sizes: sizes, Clients: c.Clients, Workers: c.Workers, Every: c.Verify, Until: 1},
		recorder: recorder,

		batchBytes: c.BatchBytes,
		mostPerOp:  sizes.Most + c.perOp() - c.ValueSize.MeanBound(),

		counts: make([]metrics.Counts, c.Servers()),
		window: make([]metrics.Counts, c.Servers()),
		loaded: make([]metrics.Counts, c.Servers()),

		auditCounts: make([]metrics.Counts, c.Servers()),
		unknown:     make([]metrics.Counts, c.Servers()),
		rechecked:   make([]metrics.Counts, c.Servers()),
	}
	for range c.InFlight {
		w.rounds = append(w.rounds, newRound(c.Servers()))
	}
	return w
}
