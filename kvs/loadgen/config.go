// Package loadgen runs one client node: it loads the node's share of the records,
// drives the workload from many workers, checks every reply and counts the verified
// operations.
//
// A worker owns its data: its operation source, batches, replies, connections and
// recorder. In each round it draws operations in order, puts each in the batch of the
// server that owns its key, sends all batches, and checks each reply against its
// batch.
package loadgen

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"kvlab/internal/cli"
	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/kvs/loadgen/adapt"
	"kvlab/kvs/loadgen/transact"
	"kvlab/kvs/route"
	"kvlab/metrics"
	"kvlab/workload"
	"kvlab/workload/profile"
	"kvlab/workload/size"
)

// Config configures one client node. Start from DefaultConfig. The comments name the
// flags.
type Config struct {
	driver.Options
	Workload      workload.Config
	Index         int           // -client: this client's number, from 0
	Clients       int           // -clients: number of clients
	Router        string        // -router
	Workers       int           // -workers: worker goroutines
	Connections   int           // -connections: connections to every server, which workers share in turn; 0 chooses by the batch
	Batch         int           // -batch: mean operations per call; with Txn, transactions of a worker's round
	Txn           int           // -txn: operations of a transaction; 0: no transactions
	BatchBytes    int           // -batch-bytes: a round is sent as soon as a request, or the values of its reply, have so many bytes; 0: never
	AutoBatch     bool          // -batch auto: adapted to TargetLatency; Batch then applies to the load phase only
	TargetLatency time.Duration // -target-latency: the time that most calls may take, with AutoBatch
	InFlight      int           // -inflight: rounds that a worker keeps in flight
	ValueSize     size.Law      // -value-size
	KeyPrefix     string        // -key-prefix: precedes the decimal record id
	KeySize       size.Law      // -key-size: the sizes of keys that are longer than the prefix and the id
	Repeat        bool          // -repeat: resends the first round and checks no reply
	Verify        int           // -verify: compare one value in N in full; 1 is every value; VerifyNone skips even the headers
	Linearizable  bool          // -linearizable: verify that the operations on some keys are linearizable
	Serializable  bool          // -serializable: verify that the transactions on some keys are strictly serializable
	Rate          profile.Rate  // -rate: what an open loop offers; the zero Rate is a closed loop
	Arrivals      string        // -arrivals: how the operations of an open loop follow each other
	WarmUp        time.Duration // -warmup: the time before the window
	Window        time.Duration // -secs: the measured window, or the longest one of a run that ends with its operations; 0: no limit of that
}

// VerifyNone in Config.Verify disables the checks of the workload's values, to measure
// their cost. Such a run is never VALID.
const VerifyNone = 0

// DefaultTargetLatency is the default of -target-latency with -batch auto.
const DefaultTargetLatency = time.Millisecond

// DefaultConfig returns the defaults of kvsclient, with one server.
func DefaultConfig() Config {
	return Config{
		Options:   driver.DefaultOptions(),
		Workload:  workload.DefaultConfig(),
		Clients:   1,
		Router:    route.Names[0],
		Workers:   64,
		Batch:     8192,
		InFlight:  1,
		ValueSize: size.Constant(128),
		Verify:    64,
		Arrivals:  workload.Poisson,

		WarmUp: 5 * time.Second,
		Window: 30 * time.Second,
	}
}

// Servers returns the number of servers.
func (c Config) Servers() int { return len(c.Addresses()) }

// maxWorkers is the number of workers that a value's header can tell apart.
const maxWorkers = 1 << 16

// maxInFlight bounds the memory of a worker's rounds.
const maxInFlight = 64

// longestID is the decimal length of the largest record id.
const longestID = 20

// Validate returns an error that names the first wrong flag and its right form.
func (c Config) Validate() error {
	if err := cmp.Or(
		cli.Want(c.Clients >= 1 && c.Clients <= maxWorkers, "-clients", c.Clients, "1 to %d", maxWorkers),
		cli.Want(c.Index >= 0 && c.Index < c.Clients, "-client", c.Index, "0 to %d, one less than -clients", c.Clients-1),
		cli.Want(c.Workers >= 1 && c.Workers <= maxWorkers, "-workers", c.Workers, "1 to %d", maxWorkers),
		cli.Want(c.Connections >= 0 && c.Connections <= c.Workers, "-connections", c.Connections, "1 to %d (-workers), or 0 for what suits -batch", c.Workers),
		cli.Want(c.Batch >= 1, "-batch", c.Batch, "at least 1 operation per call"),
		cli.Want(c.BatchBytes >= 0 && (c.BatchBytes == 0 || !c.AutoBatch), "-batch-bytes", c.BatchBytes, "0 or more, and not with -batch auto"),
		cli.Want(c.AutoBatch || c.TargetLatency == 0, "-target-latency", c.TargetLatency, "it only with -batch auto"),
		cli.Want(!c.AutoBatch || c.TargetLatency > 0, "-target-latency", c.TargetLatency, "more than 0, such as 1ms"),
		cli.Want(c.InFlight >= 1 && c.InFlight <= maxInFlight, "-inflight", c.InFlight, "1 to %d rounds", maxInFlight),
		c.ValueSize.CheckValues(),
		c.KeySize.CheckKeys(),
		cli.Want(len(c.KeyPrefix)+longestID <= kvs.MaxKeyLen, "-key-prefix", c.KeyPrefix, "at most %d bytes", kvs.MaxKeyLen-longestID),
		cli.Want(!c.Repeat || !c.AutoBatch && !c.Rate.Open() && c.Cached == 0, "-repeat", c.Repeat, "neither -batch auto nor -rate nor -cache with it"),
		cli.Want(!c.Repeat || !c.ends(), "-repeat", c.Repeat, "no -ops with it"),
		cli.Want(c.Verify >= VerifyNone && c.Verify <= math.MaxInt32, "-verify", c.Verify, "full, N to compare one value in N, or none"),
		cli.Want(c.Rate.Highest() <= profile.Most, "-rate", c.Rate, "at most %.0f operations per second", profile.Most),
		cli.Want(c.Rate.Stages == nil || !c.ends(), "-rate", c.Rate, "one level, as a run that ends with its operations does not last for stages"),
		cli.Want(c.Rate.Share == 0 || !c.ends(), "-rate", c.Rate, "operations per second, as a run that ends with its operations has no warm-up in which a peak is measured"),
		cli.Want(c.Rate.Share == 0 || c.WarmUp > 0, "-rate", c.Rate, "-warmup above 0, in which the peak is measured"),
		cli.Want(!c.Rate.Open() || c.InFlight == 1, "-inflight", c.InFlight, "1 with -rate, and more -workers for more calls in flight"),
		cli.Want(!c.Serializable || c.Txn > 0, "-serializable", c.Serializable, "transactions with it, such as -txn 3"),
		cli.Want(c.TTL == 0 || !c.Linearizable, "-ttl", c.TTL, "it without -linearizable: what is recorded knows no end of a key"),
		cli.Want(c.WarmUp >= 0, "-warmup", c.WarmUp, "0 or more seconds"),
		cli.Want(c.WarmUp == 0 || !c.ends(), "-warmup", c.WarmUp, "0, as a run that ends with its operations (-ops, -replay) begins with its window"),
		cli.Want(c.Window > 0 || c.Window == 0 && c.ends(), "-secs", c.Window, "more than 0 seconds"),
	); err != nil {
		return err
	}
	_, unroutable := route.New(c.Router, c.Servers(), nil)
	plan, undrawable := workload.New(c.Workload)
	if undrawable == nil {
		undrawable = plan.CheckWorkers(c.Clients, c.Workers)
	}
	if err := cmp.Or(undrawable, workload.CheckArrivals(c.Arrivals)); err != nil {
		return err
	}
	if err := cmp.Or(c.checkTransactions(plan), c.Options.Validate(c.use(plan, "")), unroutable); err != nil {
		return err
	}
	if c.BatchBytes > 0 && plan.Share(workload.Scan) > 0 {
		return fmt.Errorf("-batch-bytes %d: the workload scans, and how many values a scan reads is not known before its reply: want -batch alone", c.BatchBytes)
	}
	if newBatchSize(c).Mean > float64(c.most()) {
		scans := ""
		if c.pairs() > 1 {
			scans = fmt.Sprintf(", -scan-length %d", c.pairs())
		}
		return fmt.Errorf("-batch: want at most %d operations: with -value-size %s%s and %d servers more do not fit a frame of %d bytes",
			c.most(), &c.ValueSize, scans, c.Servers(), driver.MaxCall)
	}
	return nil
}

// ends reports whether the run ends with its operations.
func (c Config) ends() bool { return c.Workload.Ops > 0 }

// place returns the place of one of the client's workers among those of all clients.
func (c Config) place(worker int) workload.Place {
	return workload.Place{Node: c.Index, Nodes: c.Clients, Worker: worker, Workers: c.Workers}
}

// router returns the router, which is the same for every client and phase of a run.
func (c Config) router(plan *workload.Plan) (route.Router, error) {
	keys := c.keys()
	return route.New(c.Router, c.Servers(), keys.Popularity(plan.Popular()))
}

// keys returns the keys of the records.
func (c Config) keys() route.Keys { return route.NewKeys(c.Workload, c.KeyPrefix, c.KeySize) }

// perOp returns a bound of the mean bytes of a call's operations, in a request and a reply.
func (c Config) perOp() int {
	return c.ValueSize.MeanBound() + max(len(c.KeyPrefix)+longestID, min(c.KeySize.MeanBound(), kvs.MaxKeyLen)) + 8
}

// most returns the largest batch: a whole round may go to one server, and its reply must
// fit a frame.
func (c Config) most() int { return driver.MaxCall / c.perOp() / c.pairs() / c.Servers() }

// newBatchSize returns the size of the first rounds.
func newBatchSize(c Config) adapt.Size {
	if !c.AutoBatch {
		return adapt.Size{Servers: c.Servers(), Mean: float64(c.Batch * c.each())}
	}
	return adapt.Size{Target: c.TargetLatency, Most: min(adapt.Largest, c.most()), Servers: c.Servers(), Mean: 1}
}

// pairs returns the most values that an operation reads.
func (c Config) pairs() int {
	if c.Workload.Share(workload.Scan) > 0 {
		return int(c.Workload.ScanLength)
	}
	return 1
}

// LowerBatch lowers Batch to the default of transactions, or of a workload that scans or has few
// records of its own: the operations of a batch then read no more values than Batch was before,
// or than a Pool has.
func (c *Config) LowerBatch() {
	c.Batch = c.Batch / c.pairs()
	if c.Workload.Workload == workload.Pool {
		c.Batch = min(c.Batch, poolBatch)
	}
	if c.Batch = max(1, c.Batch/c.each()); c.Txn > 0 {
		c.Batch = min(c.Batch, transact.Batch)
	}
}

// poolBatch is the most operations of a batch of Pool: as many as it has records.
const poolBatch = 64

// Conns returns the number of connections to every server; the workers share them in turn.
// -connections sets it. By default every worker has its own. With -batch auto, or if a
// batch and its reply are small enough for a combined write, metrics.ConnWorkers share one. With
// transactions no two do: a call that waits for a lock would keep a decision from freeing it.
func (c Config) Conns() int {
	switch {
	case c.Transport == driver.InProcess || c.Txn > 0:
		return c.Workers
	case c.Connections > 0:
		return c.Connections
	case c.AutoBatch || c.Batch <= driver.MaxGroup/c.perOp()/c.pairs():
		return (c.Workers + metrics.ConnWorkers - 1) / metrics.ConnWorkers
	}
	return c.Workers
}

// use describes to the driver how the generator uses it, given the plan and the router's
// Fingerprint.
func (c Config) use(plan *workload.Plan, owners string) driver.Use {
	conns := c.Conns()
	return driver.Use{
		Shared:        conns < c.Workers,
		CallsInFlight: (c.Workers + conns - 1) / conns * c.InFlight,
		Records:       c.Workload.Records,
		Txn:           c.Txn,
		Longest:       c.ValueSize.MeanBound(),
		Router:        c.Router,
		Owners:        owners,
		Kinds:         kindsOf(plan),
		Trace:         c.Workload.Replay,
	}
}

// kindsOf returns the kinds of all operations on a plan's records, from load to audit.
func kindsOf(plan *workload.Plan) []kvs.Kind {
	kinds := []kvs.Kind{kvs.Get, kvs.Put}
	for kind := workload.ReadModifyWrite; kind < workload.Kinds; kind++ {
		if plan.Share(kind) > 0 {
			kinds = append(kinds, kvs.Kind(kind))
		}
	}
	if plan.Share(workload.Scan) > 0 {
		kinds = append(kinds, kvs.ScanPart)
	}
	return kinds
}
