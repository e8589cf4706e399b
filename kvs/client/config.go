// Package client is a client node's process: it parses the command line, runs a
// loadgen.Generator through the run's barriers, and reports once a second.
package client

import (
	"errors"
	"flag"
	"fmt"
	"strings"

	"kvlab/internal/cli"
	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/kvs/engine"
	"kvlab/kvs/loadgen"
	"kvlab/kvs/node"
	"kvlab/kvs/route"
	"kvlab/kvs/target"
	"kvlab/kvs/value"
	"kvlab/kvs/wire"
	"kvlab/metrics"
	"kvlab/workload"
	"kvlab/workload/size"
	"kvlab/workload/trace"
)

// config is a client's command line.
type config struct {
	loadgen.Config
	VerifyHistory string        // -verify-history: a saved history to verify, and nothing else
	ReplayFile    string        // -replay-file
	Target        target.Target // -target
}

// parse parses a command line. Its errors are node.UsageErrors.
func parse(args []string, foreign ...driver.Row) (config, *node.Flags, error) {
	c := config{Config: loadgen.DefaultConfig()}
	hosts := strings.Join(c.Hosts, ",")
	flags := node.NewFlags("kvsclient")
	flags.Class(metrics.WorkFlag)
	c.Workload.Define(flags.FlagSet)
	flags.Var(cli.Count(&c.Workers), "workers", "`number` of worker goroutines")
	flags.IntVar(&c.Txn, "txn", c.Txn, "`operations` of a transaction, consecutive ones of the workload; -batch is then transactions, as many as a worker has open at a time (default 256); a transaction that is refused is tried again with the same operations until it is committed; 0 is no transactions")
	flags.Var((*duration)(&c.TTL), "ttl", "`time` after its last write at which a key expires, such as 60s, loaded keys too: only of redis and memcached targets; a read may then find or miss a key from a second before until a second after (default never)")
	flags.Class(metrics.ShapeFlag)
	flags.Var(&c.ValueSize, "value-size", "`bytes` of every value; or a range such as 24-1024, in which each record has a size of its own; or etc, as in Facebook's ETC, with 24 bytes at least")
	flags.StringVar(&c.KeyPrefix, "key-prefix", c.KeyPrefix, "`text` before the decimal record id, such as user")
	flags.Var(&c.KeySize, "key-size", "`bytes` of every key, a range such as 16-40, or etc as in -value-size: hyphens after the record id fill the key up (default as short as the id allows)")
	flags.Var((*batch)(&c.Config), "batch", "mean `operations` per call, or auto: as many as meet -target-latency; with scans the default is 8192 / -scan-length; a foreign target has its own default, such as 512 for redis and memcached; the launcher lowers a default whose calls would take too long")
	flags.Var(cli.Bytes(&c.BatchBytes), "batch-bytes", "send a round as soon as the call to one server has this many `bytes`, in its request or in the values that it asks for, such as 2MiB; -batch is then the most operations; 0 is no limit")
	flags.Var((*duration)(&c.TargetLatency), "target-latency", "`time` that most calls of -batch auto may take, such as 500us (default 1ms)")
	flags.IntVar(&c.Connections, "connections", c.Connections, "`connections` to every server, which the workers share; 0 is one for every 16 workers if calls are small (up to 16 KiB) or with -batch auto, and otherwise, or with a foreign -target, one for each worker")
	flags.Var(cli.Bytes(&c.SocketBuffer), "socket-buffer", "`bytes` of every socket's send and receive buffers, up to the kernel's maximum; 0 is the kernel's default")
	flags.IntVar(&c.InFlight, "inflight", c.InFlight, "`rounds` that a worker keeps in flight; 1 waits for each before the next")
	flags.BoolVar(&c.Dedup, "dedup", c.Dedup, "send a value once if a reply repeats it; every operation is still executed and answered")
	flags.Var(&c.Cached, "cache", "`size` of the client's memory for values, such as 64MiB, or all for every record: servers do not send a value that the client holds, nor a value twice in a reply; every operation is still executed and answered")
	flags.BoolVar(&c.CRC, "crc", c.CRC, "put a checksum on every request and reply (CRC-32C)")
	flags.BoolVar(&c.Retry, "retry", c.Retry, "if a connection breaks, or answers nothing for half of -call-timeout, make it again and send its calls in flight again; each call is applied once")
	flags.Var(&c.Rate, "rate", "open loop: `ops/s` that all clients together offer, such as 200k, a number of times the rate of the trace of -replay, such as 50x, or a share such as 70% of what a closed loop makes in the first half of the warm-up; or stages of such levels, as in 100k@10s,500k@500ms,100k@20s, with ramps 50k..400k and sines 300k~200k/60s (mean, amplitude, period), which make the window; latency counts from the moment when an operation was due, even if it was sent later (default a closed loop)")
	flags.StringVar(&c.Arrivals, "arrivals", c.Arrivals, "how the operations of -rate follow each other: poisson, or constant")
	flags.StringVar(&c.Router, "router", c.Router, "which server owns a key: "+route.Usage())
	flags.StringVar(&c.Codec, "codec", c.Codec, "how calls travel: "+strings.Join(wire.Codecs, ", ")+"; as the server's")
	flags.StringVar(&c.Transport, "transport", c.Transport, "tcp, or inproc: straight to an engine in this process")
	flags.Var((*every)(&c.Verify), "verify", "compare one value in `N` in full, or with full every value; headers and lengths are always checked. none checks no value of the workload, which shows what the checks cost, and ends in INVALID")
	flags.BoolVar(&c.Repeat, "repeat", false, "send the first round again and again and check no reply, to servers with -repeat: the ceiling of the network; never VALID")
	flags.Var((*seconds)(&c.WarmUp), "warmup", "`seconds` of warm-up before the window; in a closed loop the launcher lengthens it to 3 rounds, unless it is 0; none with -ops")
	flags.Var((*seconds)(&c.Window), "secs", "least `seconds` of the measured window: in a closed loop the launcher lengthens it to 12 rounds; with -ops, or -replay without -replay-loop, the most of it (default none)")
	flags.Class(metrics.StoreFlag)
	flags.Var(&c.Target, "target", target.Usage)
	flags.String(metrics.ProgramFlag, "", target.ClientUsage)
	flags.String("system", "", target.SystemUsage)
	flags.StringVar(&c.Engine, "engine", c.Engine, "the engine of -transport inproc: one of kvsserver's; with a foreign -target, null says that its servers have no store")
	flags.Class(metrics.OwnFlag)
	flags.StringVar(&c.Node, "node", c.Node, "this client's `name` in reports")
	flags.IntVar(&c.Index, "client", c.Index, "which client this is, from `0`")
	flags.IntVar(&c.Clients, "clients", c.Clients, "how many clients there are")
	flags.StringVar(&hosts, "hosts", hosts, "every server's `host:port`, separated by commas")
	flags.StringVar(&c.ReplayFile, "replay-file", c.ReplayFile, "the `file` of this machine with the trace of -replay, whose path is another machine's")
	flags.StringVar(&c.VerifyHistory, "verify-history", c.VerifyHistory, "verify a history `file` that -linearizable or -serializable saved, draw one of single operations beside it, and do nothing else")
	flags.Common()
	flags.Var((*seconds)(&c.CallTimeout), "call-timeout", "`seconds` that a call may take; then its connection is closed and the run ends")
	flags.BoolVar(&c.Linearizable, "linearizable", c.Linearizable, "record the operations on some keys, and verify that they are linearizable; if not, the run is INVALID")
	flags.BoolVar(&c.Serializable, "serializable", c.Serializable, "with -txn, record the transactions on some keys, and verify that they are strictly serializable; if not, the run is INVALID (default true with -workload pool, whose keys are all recorded)")
	flags.Main("workload", "distribution", "theta", "records", "value-size", "key-size", "batch", "target-latency", "workers", "rate", "codec", "router", "secs")
	err := flags.Parse(args, node.Theirs, func() error { return c.complete(flags, strings.Split(hosts, ","), foreign) })
	parsed := c
	if !c.Target.Own() { // records show no setting of kvlab's own servers
		if c.Codec = ""; !c.Null {
			c.Engine = ""
		}
	}
	return parsed, flags, err
}

// complete sets what follows from the flags together, and validates them.
func (c *config) complete(flags *node.Flags, hosts []string, foreign []driver.Row) error {
	c.Hosts = hosts
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if err := c.aim(flags, given, foreign); err != nil {
		return err
	}
	if err := c.replay(flags, given); err != nil {
		return err
	}
	c.pool(given)
	if c.Workload.Ops > 0 { // they end the run, which begins with its window
		if !given["secs"] {
			c.Window = 0
		}
		if !given["warmup"] {
			c.WarmUp = 0
		}
	}
	var err error
	if c.Window, err = c.Rate.Fit(c.Window, given["secs"]); err != nil {
		return err
	}
	if !given["batch"] {
		c.LowerBatch()
	}
	if c.AutoBatch && c.TargetLatency == 0 {
		c.TargetLatency = loadgen.DefaultTargetLatency
	}
	return c.Validate()
}

// pool sets the defaults that differ with -workload pool. A replay sets its own.
func (c *config) pool(given map[string]bool) {
	if c.Workload.Replay != "" {
		return
	}
	if !given["records"] {
		c.Workload.SetRecords()
	}
	pool := c.Workload.Workload == workload.Pool
	if pool && !given["txn"] {
		c.Txn = 3
	}
	if pool && !given["serializable"] {
		c.Serializable = c.Txn > 0
	}
}

// replay sets what follows from a trace.
func (c *config) replay(flags *node.Flags, given map[string]bool) error {
	if c.Workload.Replay == "" {
		if c.Workload.ReplayLoop {
			return errors.New("-replay-loop: want -replay and a trace with it")
		}
		if c.Workload.TraceKeys != workload.OwnKeys {
			return fmt.Errorf("-trace-keys %s: want -replay and a trace with it", c.Workload.TraceKeys)
		}
		if c.Rate.Speed > 0 {
			return fmt.Errorf("-rate %s: want -replay and a trace with it, or operations per second", c.Rate)
		}
		return nil
	}
	for _, name := range []string{"workload", "distribution", "theta", "zipfian", "scramble", "hot-move", "ttl", "value-size", "linearizable", "cache", "dedup"} {
		if f := flags.Lookup(name); given[name] && f.Value.String() != f.DefValue {
			return fmt.Errorf("-%s does not go with -replay %s: the trace has the operations, their keys and sizes", name, c.Workload.Replay)
		}
	}
	if c.ReplayFile != "" {
		trace.Lies(c.Workload.Replay, c.ReplayFile)
	}
	mean, err := c.Workload.Resolve()
	if err != nil {
		return err
	}
	if c.Rate.Stages != nil {
		return fmt.Errorf("-rate %s does not go with -replay %s: operations are due at the trace's times", c.Rate, c.Workload.Replay)
	}
	if longest := c.Workload.LongestKey(); longest > 0 && (given["key-size"] || len(c.KeyPrefix)+longest > kvs.MaxKeyLen) {
		return fmt.Errorf("-trace-keys %s: the longest key has %d bytes: want no -key-size, and a -key-prefix of at most %d", c.Workload.TraceKeys, longest, kvs.MaxKeyLen-longest)
	}
	c.ValueSize = size.Constant(max(mean, value.HeaderLen))
	if c.Rate.Speed > 0 {
		if c.Rate.OpsPerS = c.Workload.RateOf(c.Rate.Speed); c.Rate.OpsPerS == 0 {
			return fmt.Errorf("-rate %s: the trace %s has no times: want operations per second, such as 200k", c.Rate, c.Workload.Replay)
		}
	}
	return nil
}

// aim sets what follows from a foreign target: the driver, its settings, and without
// -hosts the servers.
func (c *config) aim(flags *node.Flags, given map[string]bool, foreign []driver.Row) error {
	if c.Target.Own() {
		return nil
	}
	row, err := cli.Find("-target: driver", c.Target.Driver, foreign)
	if err != nil {
		return err
	}
	if row.Rival {
		flags.Rival = "-target: driver " + row.Name
	}
	c.Null = given["engine"] && c.Engine == engine.NullName
	for _, name := range []string{"transport", "engine"} {
		if given[name] && !(c.Null && name == "engine") {
			return fmt.Errorf("-%s is of kvlab's own store: it does not go with -target %s", name, c.Target.Name)
		}
	}
	if row.Router != "" {
		named, _, _ := strings.Cut(c.Router, ":")
		switch {
		case !given["router"]:
			c.Router = row.Router
		case named != row.Router:
			return fmt.Errorf("-router %s: -target %s has a router of its own: want %s", c.Router, c.Target.Name, row.Router)
		}
	}
	if row.Batch > 0 && !given["batch"] {
		c.Batch = row.Batch
	}
	if !given["connections"] {
		c.Connections = c.Workers
	}
	if len(c.Target.Servers) > 0 && !given["hosts"] {
		c.Hosts = c.Target.Servers
	}
	c.Transport, c.Settings, c.Foreign, c.Fresh = row.Name, c.Target.Settings, foreign, len(c.Target.Servers) == 0
	return nil
}
