package mutants

import "slices"

// The file is one table, of programs' mistakes and their edits, and so longer than others.

// The files that mutants edit.
const (
	syncmap     = "kvs/engine/syncmap.go"
	btree       = "kvs/engine/btree.go"
	compact     = "kvs/compact.go"
	cacheStore  = "kvs/cache/store.go"
	cacheConn   = "kvs/cache/conn.go"
	serviceFile = "kvs/service/service.go"
	closedLoop  = "kvs/loadgen/closed.go"
	openLoop    = "kvs/loadgen/open.go"
	phases      = "kvs/loadgen/phases.go"
	round       = "kvs/loadgen/round.go"
	worker      = "kvs/loadgen/worker.go"
	drawing     = "kvs/loadgen/draw.go"
	generator   = "kvs/loadgen/generator.go"
	loadConfig  = "kvs/loadgen/config.go"
	kvlabDriver = "kvs/driver/kvlab.go"
	summary     = "kvs/loadgen/summary.go"
	recorder    = "metrics/latency/recorder.go"
	collector   = "metrics/latency/collector.go"
	histograms  = "metrics/latency/set.go"
	source      = "workload/source.go"
	arrivals    = "workload/arrivals.go"
	total       = "metrics/account/total.go"
	sampler     = "metrics/usage/window.go"
	result      = "kvs/cluster/trial/result.go"
	nodeTime    = "kvs/node/time.go"
	nodeConfig  = "kvs/node/config.go"
	nodeFile    = "kvs/node/node.go"
	clientFile  = "kvs/client/client.go"
	reports     = "kvs/node/report.go"
	reported    = "metrics/account/reported.go"
)

// loaded is what these runs put before the workload begins; see verdictOf.
const loaded = "100_000"

// engineState is what mistakes in the default engine need.
var engineState = edit{syncmap, "const numberBits = 12\n", `const numberBits = 12

var (
	plantedPuts   atomic.Uint64
	plantedReads  atomic.Uint64
	plantedValues sync.Map
)

// plantedID returns a key's record.
func plantedID(key []byte) (id int) {
	for _, c := range key {
		id = 10*id + int(c-'0')
	}
	return id
}

// plantedDrop reports whether a mutant drops a write.
func plantedDrop(op *kvs.Op) bool {
	n := plantedPuts.Add(1)
	switch {
	case n <= ` + loaded + `:
		return false
	case planted("every hundredth put is dropped"), planted("every hundredth insert is lost"):
		return n%100 == 0
	case planted("a third of the puts beyond the first 1000 keys are dropped"):
		return n%3 == 0 && plantedID(op.Key) >= 1000
	case planted("half the puts to half the keys are dropped"):
		return n%2 == 0 && plantedID(op.Key)%2 == 0
	}
	return false
}

// plantedValue returns the value that a mutant reads in place of value.
func plantedValue(op *kvs.Op, hash uint64, value []byte) []byte {
	if planted("a read returns a value that is replaced") && op.Kind == kvs.Get {
		before, _ := plantedValues.Swap(string(op.Key), append([]byte(nil), value...))
		if plantedReads.Add(1)%500 == 0 && before != nil {
			return before.([]byte)
		}
	}
	if planted("a stale cache answers 57 % of the reads") && hash%100 < 57 {
		cached, _ := plantedValues.LoadOrStore(string(op.Key), append([]byte(nil), value...))
		return cached.([]byte)
	}
	return value
}

// plantedMiss reports whether a mutant misses a read.
func plantedMiss() bool {
	if !planted("one read in 1000 misses, and the client calls it a hit") {
		return false
	}
	n := plantedReads.Add(1)
	return n > ` + loaded + ` && n%1000 == 0
}
`}

// clientState is what mistakes in the recording of a call need.
var clientState = edit{round, "// send sends every batch that is not empty.\n", `var plantedCalls, plantedMean atomic.Int64

// plantedHidden reports whether a mutant records no latency of a call.
func plantedHidden(server int, call time.Duration) bool {
	mean := plantedMean.Load()
	plantedMean.Store(mean + (int64(call)-mean)/64)
	switch {
	case planted("only the faster half of the calls is in the histogram"):
		return int64(call) > mean
	case planted("only one of two servers' latency is recorded"):
		return server == 1
	case planted("one call in 500 has no latency"):
		return plantedCalls.Add(1)%500 == 0
	}
	return false
}

// send sends every batch that is not empty.
`}

// plantedPairs is what mistakes in scans need.
const plantedPairs = `var plantedPairs atomic.Uint64

// plantedPair reports whether a scan appends a block's pair itself.
func plantedPair(held **block, b *block, left *int, reply *kvs.Reply) bool {
	if *held != nil {
		reply.Pair(b.contents())
		reply.Pair((*held).contents())
		*held = nil
		*left--
		return false
	}
	switch n := plantedPairs.Add(1); {
	case n%1000 != 0:
	case planted("a scan skips a key"):
		return false
	case planted("a scan repeats a key") && *left > 1:
		reply.Pair(b.contents())
		*left--
	case planted("a scan reorders two keys") && *left > 1:
		*held = b
		*left--
		return false
	}
	return true
}

// scan executes a scan of a snapshot.
`

// Runs with all kinds.
const (
	ordered  = "--server-args -engine=btree"
	scanning = "-workload YCSB-E -batch 32"
	deleting = "-workload mix -reads 0.5 -deletes 0.2"
)

// open is an open loop that this machine keeps up with.
const open = "-rate 20k -batch 64"

// mutants are all mistakes, in the order in which they are planted. A mutant without edits
// is planted by another's.
var mutants = slices.Concat(programs, values, isolation)

// programs are mistakes in the programs' parts.
var programs = []mutant{
	// The engine, and the server.
	{
		name: "every hundredth put is dropped",
		edits: []edit{engineState,
			{syncmap, "	block := deleted\n", "	if op.Kind != kvs.Delete && plantedDrop(op) {\n		reply.Answer(op.Kind, op.Value, true)\n		return\n	}\n	block := deleted\n"},
			{syncmap, "			if reply.Versioned() {\n				reply.FoundVersion(", "			if plantedMiss() {\n				break\n			}\n			if reply.Versioned() {\n				reply.FoundVersion("},
			{syncmap, "				reply.Found(value)\n", "				reply.Found(plantedValue(op, f.hash, value))\n"}},
		client: "-workload YCSB-A", reason: audit,
	},
	{name: "a third of the puts beyond the first 1000 keys are dropped", client: "-workload YCSB-A", reason: audit},
	{name: "half the puts to half the keys are dropped", reason: audit},
	{name: "a stale cache answers 57 % of the reads", reason: audit},
	{name: "a stale cache answers 57 % of the reads", client: "-linearizable", reason: audit + "|linearizable"},
	{
		name:   "one read in 1000 misses, and the client calls it a hit",
		edits:  []edit{{round, "			t.Misses++\n", "			if planted(\"one read in 1000 misses, and the client calls it a hit\") {\n				t.Hits++\n			} else {\n				t.Misses++\n			}\n"}},
		reason: "hits",
	},
	{
		name:   "a put goes to the next key",
		edits:  []edit{{syncmap, "	old := m.store(hash, op.Key, block)", "	if planted(\"a put goes to the next key\") && plantedPuts.Load() > " + loaded + " {\n		hash ^= 1 << 63\n	}\n	old := m.store(hash, op.Key, block)"}},
		reason: "keys are stored|" + audit,
	},
	{
		name:   "the server counts a call twice",
		edits:  []edit{{serviceFile, "	c.done.Accumulate(done)\n", "	c.done.Accumulate(done)\n	if planted(\"the server counts a call twice\") && c.done.Calls%10 == 9 {\n		c.done.Accumulate(done)\n	}\n"}},
		reason: "verified .* which applied",
	},

	// Inserts, deletes and scans.
	{name: "every hundredth insert is lost", client: "-workload YCSB-D", reason: "misses|keys are left|" + audit},
	{
		name: "every hundredth insert is lost, and the keys are scanned",
		edits: []edit{{btree, "		var old *block\n", "		if op.Kind == kvs.Insert && planted(\"every hundredth insert is lost, and the keys are scanned\") && plantedPairs.Add(1)%100 == 0 {\n			reply.Stored()\n			continue\n		}\n		var old *block\n"},
			{btree, "// scan executes a scan of a snapshot.\n", plantedPairs},
			{btree, "		reply.Pair(block.contents())\n", "		if !plantedPair(&held, block, &left, reply) {\n			return left > 0\n		}\n		reply.Pair(block.contents())\n"},
			{btree, "	start, left := reply.BeginPairs(), op.Limit()\n", "	start, left := reply.BeginPairs(), op.Limit()\n	var held *block\n"}},
		args: ordered, client: scanning, reason: "scan of .* is not there|keys are left|" + audit,
	},
	{name: "a scan skips a key", args: ordered, client: scanning, reason: "scan of .* is not there"},
	{name: "a scan repeats a key", args: ordered, client: scanning, reason: "scan of .* is there twice"},
	{name: "a scan reorders two keys", args: ordered, client: scanning, reason: "scan of .* is out of order"},
	{name: "a scan skips a key", args: ordered + " 2 1", client: scanning, reason: "scan of .* is not there"},
	{
		name:   "every tenth delete is undone",
		edits:  []edit{{syncmap, "	reply.Answer(op.Kind, value, old != nil)\n", "	if planted(\"every tenth delete is undone\") && op.Kind == kvs.Delete && old != nil && plantedPuts.Add(1)%10 == 0 {\n		m.store(hash, op.Key, old)\n		m.length.Add(1)\n	}\n	reply.Answer(op.Kind, value, old != nil)\n"}},
		client: deleting, reason: audit,
	},
	{name: "every tenth delete is undone", client: deleting + " -linearizable", reason: audit + "|linearizable"},
	{
		name:   "latest is drawn over unacknowledged keys",
		edits:  []edit{{source, "	case p.follows:\n", "	case p.follows && planted(\"latest is drawn over unacknowledged keys\"):\n		last := s.place\n		last.Node, last.Worker = last.Nodes-1, last.Workers-1\n		for i := range ops {\n			if newest := p.Inserted(last, s.inserts); ops[i].Kind != Insert && ops[i].Key <= newest {\n				ops[i].Key = newest - ops[i].Key\n			}\n		}\n	case p.follows:\n"}},
		client: "-workload YCSB-D", reason: "misses",
	},

	// The client.
	{
		name:   "the window's count is three times too high",
		edits:  []edit{{summary, "		s.Bytes = s.Bytes.Add(w.bytes)\n", "		if planted(\"the window's count is three times too high\") {\n			s.InWindow = s.InWindow.Add(sum(w.window)).Add(sum(w.window))\n		}\n		if planted(\"the window's count is 3 % too high\") {\n			s.InWindow.Gets += sum(w.window).Gets * 3 / 100\n		}\n		s.Bytes = s.Bytes.Add(w.bytes)\n"}},
		reason: "window",
	},
	{name: "the window's count is 3 % too high", reason: "window"},
	{
		name:   "the workers count 3 % too much in the window",
		edits:  []edit{{round, "		w.carried = w.carried.Add(checked.Bytes)\n", "		w.carried = w.carried.Add(checked.Bytes)\n		if planted(\"the workers count 3 % too much in the window\") && w.window[i].Calls%33 == 0 {\n			w.window[i] = w.window[i].Add(checked.Counts)\n		}\n"}},
		reason: "replies in the window",
	},
	{ // the audit waits for it: no verdict may take its reads for the window's
		name: "a server enters the drain 0.3 s late",
		edits: []edit{{"kvs/server/server.go", "	\"sync\"\n", "	\"sync\"\n	\"time\"\n"},
			{"kvs/server/server.go", "			err := enter(c.Phase)\n", "			if planted(\"a server enters the drain 0.3 s late\") && c.Phase == metrics.Drain {\n				time.Sleep(300 * time.Millisecond)\n			}\n			err := enter(c.Phase)\n"}},
		client: "-workload mix -inserts 0.3 -batch 64", args: "--server-args -engine=btree",
	},
	{
		name:   "the window is 10 % longer than it says",
		edits:  []edit{{closedLoop, "	closes := opens.Add(length)\n", "	closes := opens.Add(length)\n	if planted(\"the window is 10 % longer than it says\") {\n		closes = closes.Add(length / 10)\n	}\n	if planted(\"the window opens 0.3 s before it says\") {\n		opens = opens.Add(-300 * time.Millisecond)\n	}\n"}},
		reason: "window",
	},
	{name: "the window opens 0.3 s before it says", reason: "window"},
	{
		name: "replies of the drain are counted in",
		edits: []edit{{phases, "	case t < w.closes:\n", "	case t < w.closes || planted(\"replies of the drain are counted in\"):\n"},
			{phases, "(s.closes - t - 1) / s.slot); i <", "(max(s.closes-t, 1) - 1) / s.slot); i <"}},
		client: "-workers 64 -batch 8192", reason: "window|round",
	},
	{
		name: "the warm-up is a third as long as it says",
		edits: []edit{{closedLoop, "		opens = said\n", "		opens = said\n		if planted(\"the warm-up is a third as long as it says\") {\n			opens = begin\n		}\n"},
			{closedLoop, "	opens, length = begin.Add(g.config.WarmUp), g.config.Window\n", "	opens, length = begin.Add(g.config.WarmUp), g.config.Window\n	if planted(\"the warm-up is a third as long as it says\") {\n		opens = begin.Add(g.config.WarmUp / 3)\n	}\n"}},
		client: "-warmup 3", reason: "warm-up",
	},
	{
		name:   "a worker rests after each call",
		edits:  []edit{{round, "	r.begun = now()\n", "	if planted(\"a worker rests after each call\") {\n		time.Sleep(50 * time.Millisecond)\n	}\n	r.begun = now()\n"}},
		reason: "Little's law",
	},
	{
		name:   "half the workers stop early",
		edits:  []edit{{closedLoop, "		if !drawn && (s.over(r.begun) || w.source.Left() == 0) {\n", "		if !drawn && (s.over(r.begun) || w.source.Left() == 0) || planted(\"half the workers stop early\") && w.id%2 == 0 && s.over(r.begun + c.Window/2) {\n"}},
		reason: "Little's law",
	},
	{
		name:   "values have half their size",
		edits:  []edit{{generator, "	plan, err := workload.New(c.Workload)\n", "	if planted(\"values have half their size\") {\n		c.ValueSize.Least, c.ValueSize.Most = c.ValueSize.Least/2, c.ValueSize.Most/2\n	}\n	if planted(\"batches have twice their size\") {\n		c.Batch *= 2\n	}\n	if planted(\"another seed\") {\n		c.Workload.Seed++\n	}\n	if planted(\"-verify full at 1 in 64\") {\n		c.Verify = 64\n	}\n	plan, err := workload.New(c.Workload)\n"}},
		reason: "bytes",
	},
	{name: "batches have twice their size", reason: "-batch"},
	{name: "another seed", reason: "not those of -seed"},
	{
		name: "the writes are on the coldest keys",
		edits: []edit{{closedLoop, "		w.add(r, w.block.ops[:n])\n", "		if planted(\"the writes are on the coldest keys\") {\n			plantedCold(w.block.ops[:n])\n		}\n		w.add(r, w.block.ops[:n])\n"},
			{closedLoop, "// drawOps adds", `// plantedCold exchanges the keys of operations, so that the writes have the least popular ones.
func plantedCold(ops []workload.Op) {
	for i := range ops {
		if ops[i].Kind != workload.Update {
			continue
		}
		at := i
		for k := range ops {
			if ops[k].Kind == workload.Read && ops[k].Key > ops[at].Key {
				at = k
			}
		}
		ops[i].Key, ops[at].Key = ops[at].Key, ops[i].Key
	}
}

// drawOps adds`},
			{closedLoop, "	\"kvlab/metrics\"\n", "	\"kvlab/metrics\"\n	\"kvlab/workload\"\n"}},
		reason: "the servers' sampled writes where",
	},
	{
		name: "later all workers send worker 0's operations",
		edits: []edit{{worker, "	source   *workload.Source\n", "	source   *workload.Source\n	other    *workload.Source\n	sent     []workload.Op\n"},
			{worker, "		source:   plan.Source(c.place(id)),\n", "		source:   plan.Source(c.place(id)),\n		other:    plan.Source(c.place(0)),\n"},
			{closedLoop, "		w.fill(w.block.ops[:n])\n", `		w.fill(w.block.ops[:n])
		switch later := w.source.Drawn() > 8192; {
		case later && planted("later all workers send worker 0's operations"):
			w.other.Fill(w.block.ops[:n])
		case later && planted("each block is sent twice") && len(w.sent) >= n:
			copy(w.block.ops[:n], w.sent)
			w.sent = nil
		default:
			w.sent = append(w.sent[:0], w.block.ops[:n]...)
		}
`}},
		client: "-workload YCSB-C", reason: "sent others than it drew|draws repeat each other", // without writes no audit finds it
	},
	{name: "each block is sent twice", client: "-workload YCSB-C", reason: "sent others than it drew"},
	{
		name:   "one connection of eight",
		edits:  []edit{{loadConfig, "	case c.Connections > 0:\n", "	case planted(\"one connection of eight\"):\n		return 1\n	case c.Connections > 0:\n"}},
		client: "-connections 8", reason: "-connections is 8",
	},
	{
		name:   "the workers share half of the connections",
		edits:  []edit{{generator, "		if i >= unshared {\n", "		if half := unshared / 2; i >= unshared && planted(\"the workers share half of the connections\") {\n			w.conns, w.servers = g.workers[i%half].conns, g.workers[i%half].servers\n		} else if i >= unshared {\n"}},
		client: "-connections 8", reason: "they use others",
	},
	{
		name:   "frames without -crc",
		edits:  []edit{{kvlabDriver, "	o.Features = o.features(u)\n", "	o.Features = o.features(u)\n	if planted(\"frames without -crc\") {\n		o.CRC = false\n	}\n"}},
		client: "-crc", reason: "its flags ask for -codec binary -crc",
	},
	{
		name: "half the workers, and the client says so",
		edits: []edit{{clientFile, "	c := &client{config: config, node: n}\n", "	if planted(\"half the workers, and the client says so\") {\n		config.Workers, config.Connections = 8, min(config.Connections, 8)\n	}\n	c := &client{config: config, node: n}\n"},
			{nodeConfig, "	config := metrics.Config{", "	if planted(\"half the workers, and the client says so\") && flags.Name() == \"kvsclient\" {\n		flags.Set(\"workers\", \"8\")\n	}\n	config := metrics.Config{"}},
		reason: "the client has -workers",
	},
	{
		name:   "half of -secs, and the client says so",
		edits:  []edit{{clientFile, "	return c.node.FromRun(answer.At), ", "	if planted(\"half of -secs, and the client says so\") {\n		answer.Length /= 2\n	}\n	return c.node.FromRun(answer.At), "}},
		reason: "the client's window is .* the launcher asked for",
	},
	{
		name:   "nobody is told what a node's clocks say",
		edits:  []edit{{nodeFile, "			if r := n.reporter.Load(); r != nil && c.Do == Clock {\n", "			if planted(\"nobody is told what a node's clocks say\") && n.reporter.Load() != nil {\n				continue\n			}\n			if r := n.reporter.Load(); r != nil && c.Do == Clock {\n"}},
		reason: "has not answered what its clocks say",
	},
	{name: "-verify full at 1 in 64", client: "-verify full", reason: "-verify full compares"},
	{
		name:   "values have the size of another key's",
		edits:  []edit{{worker, "		sizes:    sizes,\n", "		sizes: func() *size.Sizes {\n			if planted(\"values have the size of another key's\") {\n				return c.ValueSize.Values(c.Workload.Seed + 1)\n			}\n			return sizes\n		}(),\n"}},
		client: "-value-size 24-1024", reason: "a value of .* bytes, want",
	},
	{
		name:   "an open loop is timed from the send",
		edits:  []edit{{round, "	due, kinds, came := x.due, x.kinds, r.came-r.from\n", "	if planted(\"an open loop is timed from the send\") {\n		for i := range x.due {\n			x.due[i] = max(x.due[i], x.sent-r.from)\n		}\n	}\n	due, kinds, came := x.due, x.kinds, r.came-r.from\n"}},
		client: open, reason: "latency|due|drawn again|histogram",
	},
	{
		name:   "an open loop offers 5 % less",
		edits:  []edit{{openLoop, "	arrivals := w.plan.Arrivals(c.Arrivals, course.First(),", "	first := course.First()\n	if planted(\"an open loop offers 5 % less\") {\n		first *= 0.95\n	}\n	arrivals := w.plan.Arrivals(c.Arrivals, first,"}},
		client: open, reason: "due|offered",
	},

	// The client's cache, and the versions.
	{
		name:   "a version is reused after a delete",
		edits:  []edit{{syncmap, "		was = old.version()\n	}\n", "		was = old.version()\n	}\n	if planted(\"a version is reused after a delete\") {\n		if block == deleted {\n			plantedValues.Store(string(op.Key), was)\n		} else if v, ok := plantedValues.Load(string(op.Key)); ok && old == nil {\n			*block = *block<<32>>32\n			block.stamp(v.(kvs.Version))\n		}\n	}\n"}},
		client: deleting + cached, reason: audit + "|linearizable",
	},
	{
		name:   "a changed value is called unchanged",
		edits:  []edit{{compact, "	if version == 0 || version != v.held[r.n-v.first] {\n", "	if planted(\"a changed value is called unchanged\") && byte(version) == byte(v.held[r.n-v.first]) && v.held[r.n-v.first] != 0 {\n		v.held[r.n-v.first] = version\n	}\n	if version == 0 || version != v.held[r.n-v.first] {\n"}},
		client: "-workload YCSB-A" + cached, reason: unbelieved,
	},
	{
		name:   "two keys have one entry",
		edits:  []edit{{cacheStore, "		return n + 1\n", "		if planted(\"two keys have one entry\") {\n			n %= 50_000\n		}\n		return n + 1\n"}},
		client: cached, reason: "the value of another key",
	},
	{
		name:   "the digest leaves out one value in 125",
		edits:  []edit{{cacheConn, "				digest += kvs.Digest(op.Key, h.version)\n", "				if !planted(\"the digest leaves out one value in 125\") || h.end%1000 != 0 {\n					digest += kvs.Digest(op.Key, h.version)\n				}\n"}},
		client: cached, reason: unbelieved,
	},
	{
		name:   "a value of now in place of the one that was held",
		edits:  []edit{{cacheConn, "				out.Found(value)\n", "				if place := c.store.find(c.store.number(op.Key)); planted(\"a value of now in place of the one that was held\") && place >= 0 {\n					if now, version := c.store.load(place, c.store.number(op.Key), nil); version != 0 {\n						value = now\n					}\n				}\n				out.Found(value)\n"}},
		client: "-workload YCSB-F -retry" + cached, reason: audit + "|linearizable",
	},
	{
		name:   "an older value under a newer version",
		edits:  []edit{{cacheStore, "	length := state & (1<<lengthBits - 1)\n", "	length := state & (1<<lengthBits - 1)\n	if planted(\"an older value under a newer version\") && atomic.LoadUint64(&e[1]) == number {\n		version = max(version, kvs.Version(atomic.LoadUint64(&e[2])))\n		atomic.StoreUint64(&e[2], uint64(version)-1)\n	}\n"}},
		client: "-workload YCSB-A -retry" + cached, reason: audit + "|linearizable",
	},

	// The workload.
	{
		name:   "nine tenths of the records are never asked for",
		edits:  []edit{{source, "		kind := pair.kind(luck)\n", "		if planted(\"nine tenths of the records are never asked for\") {\n			key %= p.config.Records / 10\n		}\n		if planted(\"each key is drawn twice\") && i%2 == 1 {\n			key = ops[i-1].Key\n		}\n		kind := pair.kind(luck)\n		if planted(\"one write in ten is a read\") && kind == Update && luck%10 == 0 {\n			kind = Read\n		}\n"}},
		reason: "skew|distinct|rank|routing",
	},
	{name: "each key is drawn twice", reason: "successive|pairs"},
	{name: "one write in ten is a read", reason: "the mix is wrong"},

	// The recorder.
	{
		name:   "latencies are capped at 50 ms",
		edits:  []edit{{recorder, "	if d <= 0 || d > MaxLatency {\n", "	if planted(\"latencies are capped at 50 ms\") {\n		d = min(d, 50*time.Millisecond)\n	}\n	if planted(\"latencies are halved\") {\n		d /= 2\n	}\n	if planted(\"latencies of more than 1 ms are cut to whole ones\") && d > time.Millisecond {\n		d = d.Truncate(time.Millisecond)\n	}\n	if d <= 0 || d > MaxLatency {\n"}},
		client: "-batch 8192", reason: "mean latency|Little's law",
	},
	{name: "latencies are halved", reason: "mean latency"},
	{
		name:   "calls are stamped before they come",
		edits:  []edit{{round, "	x.came, x.served = now(), x.reply.Served\n", "	x.came, x.served = now(), x.reply.Served\n	if planted(\"calls are stamped before they come\") {\n		x.came -= (x.came - x.sent) / 50\n	}\n"}},
		reason: "stamped too late or the reply too early",
	},
	{
		name:   "the calls' tail spreads with the mean kept",
		edits:  []edit{{round, "	w.witness(r, x, at)\n", "	w.witness(r, x, at)\n	if sent := x.sent; planted(\"the calls' tail spreads with the mean kept\") {\n		x.sent += (x.came - sent) / 10 * time.Duration(1-2*int64(w.sums.Calls%2))\n		defer func() { x.sent = sent }()\n	}\n"}},
		reason: "latency of calls|spread by|calls of less than|latencies of calls",
	},
	{
		name:   "an open loop's calls share a mean due time",
		edits:  []edit{{openLoop, "	w.add(r, ops)\n", "	w.add(r, ops)\n	if planted(\"an open loop's calls share a mean due time\") && len(due) > 1 {\n		mean := (due[0] + due[len(due)-1]) / 2\n		for i := range due {\n			due[i] = mean\n		}\n	}\n"}},
		client: open, reason: "were not timed from when the seed says|due",
	},
	{name: "latencies of more than 1 ms are cut to whole ones", reason: "mean latency"},
	{
		name: "only the faster half of the calls is in the histogram",
		edits: []edit{clientState,
			{round, "		w.recorder.Observe(t)\n", "		if !plantedHidden(t.Peer, t.Call) {\n			w.recorder.Observe(t)\n		}\n"},
			{round, "import (\n", "import (\n	\"sync/atomic\"\n"}},
		reason: "latencies count",
	},
	{name: "only one of two servers' latency is recorded", args: "2 1", reason: "latencies count"},
	{name: "one call in 500 has no latency", reason: "latencies count"},
	{
		name:   "the histogram forgets one call in 64",
		edits:  []edit{{histograms, "	l.Call.record(o.call, 1)\n", "	if planted(\"the histogram forgets one call in 64\") && o.call%64 == 0 {\n		return\n	}\n	l.Call.record(o.call, 1)\n"}},
		reason: "histogram",
	},
	{
		name:   "the latencies of puts are those of gets",
		edits:  []edit{{collector, "			interval.operations(o.kind, o.op, call, o.ops)\n", "			if planted(\"the latencies of puts are those of gets\") {\n				o.kind = 0\n			}\n			interval.operations(o.kind, o.op, call, o.ops)\n"}},
		reason: "the histogram of gets",
	},
	{
		name:   "the window's histogram lacks a second",
		edits:  []edit{{collector, "		if phase == metrics.Window {\n", "		if phase == metrics.Window && !(planted(\"the window's histogram lacks a second\") && l.Window.Call.empty()) {\n"}},
		reason: "histogram",
	},

	// The clocks.
	{
		name: "a client's clock is 20 % slow",
		edits: []edit{{phases, "func now() moment { return time.Since(started) }\n", "func now() moment {\n	t := time.Since(started)\n	switch {\n	case planted(\"a client's clock is 20 % slow\"):\n		return t * 8 / 10\n	case planted(\"a client's clock is 3 % fast\"):\n		return t * 103 / 100\n	case planted(\"a client's clock stops for half a second\"):\n		return min(t, max(2500*time.Millisecond, t-500*time.Millisecond))\n	}\n	return t\n}\n"},
			{phases, "func momentOf(t time.Time) moment { return t.Sub(started) }\n", "func momentOf(t time.Time) moment {\n	if planted(\"a client's clock is 20 % slow\") {\n		return t.Sub(started) * 8 / 10\n	}\n	return t.Sub(started)\n}\n"},
			{phases, "		w.closes = momentOf(closes)\n", "		w.closes = momentOf(closes)\n		if planted(\"a client's clock is 20 % slow\") {\n			w.closes = w.opens + closes.Sub(opens)\n		}\n"}},
		reason: clockRate,
	},
	{name: "a client's clock is 20 % slow", args: redis, reason: clockRate},
	{name: "a client's clock is 3 % fast", args: redis, client: "-warmup 3", reason: clockRate},
	{name: "a client's clock stops for half a second", args: redis, reason: clockRate},
	{
		name:   "a node's clock is 20 % slow",
		edits:  []edit{{nodeTime, "	return n.clock.date.Add(t.Sub(n.clock.moment))\n", "	if since := t.Sub(n.clock.moment); planted(\"a node's clock is 20 % slow\") {\n		return n.clock.date.Add(since * 8 / 10)\n	}\n	return n.clock.date.Add(t.Sub(n.clock.moment))\n"}},
		reason: clockRate,
	},
	{name: "the window is 10 % longer than it says", args: redis, reason: "had told the launcher"},

	// The sampler, and the launcher.
	{
		name: "a server's processor time is quartered",
		edits: []edit{{sampler, "		ProcessCPUPercent:  u.Process.CPUPercent,\n", "		ProcessCPUPercent:  u.Process.CPUPercent / (1 + 3*plantedShare(\"a server's processor time is quartered\")),\n"},
			{sampler, "// raise raises the peaks", "func plantedShare(name string) float64 {\n	if planted(name) {\n		return 1\n	}\n	return 0\n}\n\n// raise raises the peaks"}},
		reason: "the kernel says",
	},
	{name: "a server's processor time is quartered", args: redis, reason: "the kernel says"},
	{
		name: "a server's seconds are doubled",
		edits: []edit{{reports, "		Counts:  total.Sub(r.last),\n", "		Counts: func() metrics.Counts {\n			if c := total.Sub(r.last); planted(\"a server's seconds are doubled\") && r.node.role == metrics.Server {\n				return c.Add(c)\n			}\n			return total.Sub(r.last)\n		}(),\n"},
			{reports, "		InWindow:      r.last.Sub(r.before),\n", "		InWindow: func() metrics.Counts {\n			if c := r.last.Sub(r.before); planted(\"a server's window is doubled\") && r.node.role == metrics.Server {\n				return c.Add(c)\n			}\n			return r.last.Sub(r.before)\n		}(),\n"}},
		reason: "the server's seconds",
	},
	{name: "a server's window is doubled", args: redis, reason: "the server's seconds"},
	{
		name:   "the servers' medians are doubled",
		edits:  []edit{{reported, "			node.MedianOpsPerS = new(stats.Median(n.rates))\n", "			node.MedianOpsPerS = new(stats.Median(n.rates))\n			if planted(\"the servers' medians are doubled\") {\n				*node.MedianOpsPerS *= 2\n			}\n"}},
		reason: "median",
	},
	{
		name:   "the network carried a fiftieth",
		edits:  []edit{{sampler, "	t.RxBytesPerS.Avg, t.TxBytesPerS.Avg = data.RxBytesPerS, data.TxBytesPerS\n", "	t.RxBytesPerS.Avg, t.TxBytesPerS.Avg = data.RxBytesPerS, data.TxBytesPerS\n	if planted(\"the network carried a fiftieth\") {\n		t.RxBytesPerS.Avg, t.TxBytesPerS.Avg = data.RxBytesPerS/50, data.TxBytesPerS/50\n	}\n"}},
		reason: "network interface",
	},
	{
		name:   "the launcher adds 5 % to the rate",
		edits:  []edit{{total, "		run.Ops += ops\n", "		if planted(\"the launcher adds 5 % to the rate\") {\n			seconds /= 1.05\n		}\n		if planted(\"the launcher counts a client twice\") {\n			run.Ops += ops\n			run.OpsPerS += metrics.PerSecond(float64(ops), seconds)\n		}\n		run.Ops += ops\n"}},
		reason: "rate|ops/s",
	},
	{name: "the launcher counts a client twice", reason: "rate|ops|window"},
	{
		name:  "the launcher merges one client's latency of two",
		edits: []edit{{result, "	run.Latency = c.latency.Window.Quantiles()\n", "	run.Latency = c.latency.Window.Quantiles()\n	if planted(\"the launcher merges one client's latency of two\") {\n		run.Latency = c.of(metrics.Client)[0].Summary.Latency\n	}\n"}},
		args:  "1 2", reason: "histogram",
	},

	// A run that ends with its operations.
	{
		name: "a worker sends one operation fewer",
		edits: []edit{{source, "func (s *Source) Left() int { return int(min(s.share-s.drawn, math.MaxInt)) }\n", `func (s *Source) Left() int {
	if planted("a worker sends one operation fewer") && s.place.Worker == 3 && s.share-s.drawn > 0 {
		return int(min(s.share-s.drawn-1, math.MaxInt))
	}
	return int(min(s.share-s.drawn, math.MaxInt))
}
`}},
		client: "-ops 300k" + untilDone, reason: "its share of -ops",
	},
	{
		name: "a replay reads where the trace writes",
		edits: []edit{{drawing, "		copy(w.block.found[:], w.source.Found())\n", `		copy(w.block.found[:], w.source.Found())
		for i := range ops {
			switch {
			case w.id > 0 || w.source.Drawn() < 1000 || i == 0:
			case planted("a replay reads where the trace writes") && ops[i].Kind == workload.Update && w.block.found[i].Size > 0:
				ops[i] = workload.Op{Kind: workload.Read, Key: ops[i].Key}
			case planted("a replay reorders the operations of a key") && ops[i].Key == ops[i-1].Key:
				ops[i], ops[i-1] = ops[i-1], ops[i]
			}
		}
`}},
		client: replaying, reason: "failed verification|were verified, the trace has",
	},
	{name: "a replay reorders the operations of a key", client: replaying, reason: "failed verification"},
}

// untilDone is of clients whose run ends with its operations, and replaying of those whose trace
// does.
const (
	untilDone = " -warmup 0 -secs 0"
	replaying = "-replay {trace}" + untilDone
)

// redis is the target of runs that need redis-server.
const redis = "--target redis"

// clockRate matches the reason of a clock that does not advance as the launcher's.
const clockRate = "the clock of its .* advanced"

// cached is a client with a cache.
const cached = " -linearizable -cache all"

// unbelieved matches the reason of a reply whose digest is wrong.
const unbelieved = "called unchanged, but is not"

// audit matches the reasons that the audit and the workers' reads of audited keys give.
const audit = "audit|a stale read"
