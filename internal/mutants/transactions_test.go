package mutants

// The files of transactions that mutants edit.
const (
	txnExecute = "kvs/txn/execute.go"
	txnDecide  = "kvs/txn/decide.go"
)

// pool is the work of runs that find faults of isolation. pool1 has one server, which holds all
// locks within a call, and pool2 two.
const (
	pool1 = "-workload pool -records 64 -batch 16 -connections 16 -secs 3"
	pool2 = "-workload pool -records 64 -workers 8 -batch 4 -connections 8 -secs 3"
	two   = "2 2"
)

// isolation are faults of transactions, each named by its anomaly.
var isolation = []mutant{
	{
		name: "a prepared read-modify-write takes a read lock",
		edits: []edit{
			{txnExecute, "	a.locks = c.want(a.locks)\n	s := c.lockAll(a, false)\n", `	a.locks = c.want(a.locks)
	for i := range a.locks {
		a.locks[i].write = a.locks[i].write && !planted("a prepared read-modify-write takes a read lock")
	}
	s := c.lockAll(a, false)
`},
			{txnDecide, "	c.table.unlockAll(a, false, commit)\n	a.locks", `	for i := range a.writes {
		if commit && planted("a prepared read-modify-write takes a read lock") {
			c.table.words[c.table.word(a.writes[i].Key)].Add(1)
		}
	}
	c.table.unlockAll(a, false, commit)
	a.locks`},
		},
		args: two, client: pool2, reason: "serializable.*: lost update: ",
	},
	{
		name: "a prepared write is there before its commit",
		edits: []edit{{txnExecute, "	a.stage(c.ops)\n	return nil\n", `	a.stage(c.ops)
	if planted("a prepared write is there before its commit") {
		t.engine.Apply(a.writes, &c.scratch)
	}
	if planted("read locks are released with the vote") && len(a.writes) == 0 {
		t.unlockAll(a, false, false)
		a.locks = a.locks[:0]
	}
	return nil
`}},
		args: two, client: pool2, reason: "serializable.*: aborted read",
	},
	{name: "read locks are released with the vote", args: two, client: pool2, reason: `serializable.*: (read skew \(G-single\)|stale): `},
	{
		name: "a transaction reads a key twice without a lock",
		edits: []edit{
			{txnExecute, "	\"math/bits\"\n", "	\"math/bits\"\n	\"slices\"\n	\"sync\"\n"},
			{txnExecute, "// run executes a whole transaction.\n", plantedRuns},
			{txnExecute, "	o, t := c.owner, c.table\n	a, err := c.open()\n", "	if planted(\"read locks are released with the vote\") && c.part.Ops == 2 && !slices.ContainsFunc(c.ops, func(op kvs.Op) bool { return op.Kind != kvs.Get }) {\n		time.Sleep(time.Millisecond)\n	}\n	o, t := c.owner, c.table\n	a, err := c.open()\n"},
			{txnExecute, "	t, a := c.table, &c.self\n", "	t, a := c.table, &c.self\n	if planted(\"a transaction writes what it read in a snapshot\") {\n		c.plantedSkew(t, a)\n		return\n	}\n"},
			{txnExecute, "	defer t.unlockAll(a, true, true) // after a panic of the engine too\n", "	if planted(\"a transaction reads a key twice without a lock\") && c.plantedTwice(t, a) {\n		return\n	}\n	defer t.unlockAll(a, true, true) // after a panic of the engine too\n"},
		},
		client: pool1, reason: "serializable.*: non-repeatable read: ",
	},
	{name: "a transaction writes what it read in a snapshot", client: pool1, reason: `serializable.*: write skew \(G2\): `},
	{name: "a read returns a value that is replaced", client: pool1, reason: "serializable.*: value back after its successor: "},
}

// plantedRuns is what mistakes in transactions of one server need.
const plantedRuns = `var plantedSnapshot sync.Mutex

// plantedTwice executes, without locks, a transaction that only reads, and one key twice. It
// returns false of others.
func (c *call) plantedTwice(t *Table, a *attempt) bool {
	again := false
	for i := range c.ops {
		if writes(c.ops[i].Kind) {
			return false
		}
		for k := range i {
			again = again || bytes.Equal(c.ops[k].Key, c.ops[i].Key)
		}
	}
	if !again {
		return false
	}
	c.done(a.locks)
	t.unlockAll(a, true, false)
	hits, misses := c.reply.Hits, c.reply.Misses
	for i := range c.ops {
		t.engine.Apply(c.ops[i:i+1], c.reply)
		time.Sleep(200 * time.Microsecond)
	}
	c.tally.count(c.ops, c.reply, hits, misses)
	c.tally.Runs++
	return true
}

// plantedSkew reads a snapshot, and writes later: snapshot isolation, as it locks what it
// writes.
func (c *call) plantedSkew(t *Table, a *attempt) {
	var locks []lock
	for _, l := range c.want(a.locks) {
		if l.write {
			locks = append(locks, l)
		}
	}
	a.locks = locks
	if s := c.lockAll(a, true); s != kvs.Done {
		c.answer(s)
		return
	}
	plantedSnapshot.Lock()
	c.note = append(c.note[:0], byte(kvs.Done))
	for i := range c.ops {
		version := t.words[c.words[i]].Load()&(oneReader-1) + 1
		if writes(c.ops[i].Kind) {
			version++
		}
		c.note = binary.AppendUvarint(c.note, version)
	}
	c.reply.Note(c.note)
	hits, misses := c.reply.Hits, c.reply.Misses
	c.read()
	plantedSnapshot.Unlock()
	time.Sleep(50 * time.Microsecond)
	a.writes, a.data = a.writes[:0], a.data[:0]
	a.stage(c.ops)
	plantedSnapshot.Lock()
	c.scratch.Reset()
	t.engine.Apply(a.writes, &c.scratch)
	t.unlockAll(a, true, true)
	plantedSnapshot.Unlock()
	c.tally.count(c.ops, c.reply, hits, misses)
	c.tally.Runs++
}

// run executes a whole transaction.
`
