package mutants

// The files that these mutants edit.
const (
	auditFile = "kvs/loadgen/audit.go"
	spotFile  = "kvs/loadgen/spot.go"
)

// valueState is what mistakes in values and in their age need of the default engine.
var valueState = []edit{
	{syncmap, "import (\n", "import (\n	\"encoding/binary\"\n	\"time\"\n\n	\"kvlab/kvs/value\"\n	\"kvlab/metrics\"\n"},
	{syncmap, "		key, value = old.contents()\n", "		key, value = old.contents()\n		plantedHold(key, value)\n"},
	{syncmap, "	n := plantedPuts.Add(1)\n", "	n := plantedPuts.Add(1)\n	plantedLast.Store(time.Now().UnixNano())\n"},
	{syncmap, "	return value\n}\n\n// plantedMiss", `	return plantedOld(op, value)
}

var plantedLast atomic.Int64 // put

// plantedOld returns plantedValue for values that are made up, or too old.
func plantedOld(op *kvs.Op, v []byte) []byte {
	writing := time.Now().UnixNano()-plantedLast.Load() < 2e6
	switch {
	case planted("loaded values are made up"), planted("one value in a hundred is made up after the load") && plantedReads.Add(1) > 2*` + loaded + ` && plantedReads.Load()%100 == 0, planted("bodies are made up"):
		made := make([]byte, len(v))
		value.Fixed.Put(made, value.HashIn(v), metrics.WriteID(binary.LittleEndian.Uint64(v[8:])))
		if planted("bodies are made up") {
			copy(made, v[:value.HeaderLen])
		}
		return made
	case planted("reads are stale while somebody writes") && writing, planted("reads are stale for a while") && plantedReads.Add(1)%200_000 > 160_000:
		cached, _ := plantedValues.LoadOrStore(string(op.Key), append([]byte(nil), v...))
		return cached.([]byte)
	case planted("puts are applied when none has come for 2 ms") && writing:
		if held, ok := plantedValues.Load(string(op.Key)); ok {
			return held.([]byte)
		}
	case planted("puts are applied when none has come for 2 ms"):
		plantedValues.Delete(string(op.Key))
	}
	return v
}

// plantedHold keeps the value that a put replaces.
func plantedHold(key, v []byte) {
	if planted("puts are applied when none has come for 2 ms") {
		plantedValues.LoadOrStore(string(key), append([]byte(nil), v...))
	}
}

// plantedMiss`},
}

const (
	madeUp = "of an earlier run, or made up"
	// A stale read shows in the window, or in the audit, whichever draws one.
	stale = "stale read|an old value was read"
)

// values are mistakes in what values are, in how old they are, and in the audit.
var values = []mutant{
	{name: "loaded values are made up", edits: valueState, reason: madeUp},
	{name: "one value in a hundred is made up after the load", reason: madeUp},
	{name: "bodies are made up", reason: "at offset 24"},
	{name: "reads are stale while somebody writes", reason: stale},
	{name: "reads are stale while somebody writes", args: "2 2", reason: stale},
	{name: "reads are stale for a while", client: "-workload YCSB-A", reason: stale + "|audit"},
	{name: "puts are applied when none has come for 2 ms", reason: stale},
	{name: "puts are applied when none has come for 2 ms", client: "-inflight 4 -workload YCSB-A", reason: stale},
	{name: "puts are applied when none has come for 2 ms", client: open + " -workload YCSB-A", reason: stale},
	{
		name:   "the key of the values is ignored",
		edits:  []edit{{generator, "		w.checker.Key = k\n", "		if !planted(\"the key of the values is ignored\") {\n			w.checker.Key = k\n		}\n"}},
		reason: "trial's key",
	},
	{
		name:   "15 keys are audited",
		edits:  []edit{{auditFile, "		from, to := g.config.place(w.id).Part(uint64(len(a.ids)))\n", "		from, to := g.config.place(w.id).Part(uint64(len(a.ids)))\n		if planted(\"15 keys are audited\") {\n			from, to = min(from, first+15), min(to, first+15)\n		}\n"}},
		reason: "the audit found .* of .* reads wrong",
	},
	{
		name:   "the audit ignores the secret",
		edits:  []edit{{auditFile, "	for _, rank := range plan.Sample(secret, each) {\n", "	if planted(\"the audit ignores the secret\") {\n		secret = 1\n	}\n	for _, rank := range plan.Sample(secret, each) {\n		if planted(\"the audit reads what nobody writes\") {\n			rank = c.Workload.Records - 1 - uint64(len(a.ids))\n		}\n"}},
		reason: "the secret selects",
	},
	{name: "the audit reads what nobody writes", reason: "the secret selects"},
	{
		name:   "the clients remember no write",
		edits:  []edit{{auditFile, "	if len(x.written) == 0 {\n", "	if len(x.written) == 0 || planted(\"the clients remember no write\") {\n"}},
		reason: "audit",
	},
	{
		name:   "nothing is audited in the window",
		edits:  []edit{{spotFile, "	return len(w.spots) > 0\n", "	return len(w.spots) > 0 && !planted(\"nothing is audited in the window\")\n"}},
		reason: "did not read key",
	},
	{
		name: "the cache answers for another key",
		edits: []edit{
			{cacheConn, "			switch value := x.values[from:h.end]; {\n", "			switch value := plantedOther(op, x.values[from:h.end]); {\n"},
			{cacheConn, "// wrote copies the result", `// plantedOther returns the value of another key, with the header of this one's.
func plantedOther(op *kvs.Op, held []byte) []byte {
	if !planted("the cache answers for another key") || len(held) == 0 {
		return held
	}
	other := append([]byte(nil), held...)
	value.Fixed.Put(other, route.Hash(op.Key), metrics.WriteID(binary.LittleEndian.Uint64(held[8:])))
	return other
}

// wrote copies the result`},
			{cacheConn, "	\"fmt\"\n", "	\"encoding/binary\"\n	\"fmt\"\n	\"kvlab/kvs/route\"\n	\"kvlab/kvs/value\"\n	\"kvlab/metrics\"\n"},
		},
		client: cached, reason: madeUp,
	},
}
