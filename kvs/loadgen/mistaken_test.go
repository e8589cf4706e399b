package loadgen

import (
	"math/rand/v2"
	"os"
	"sync"

	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/kvs/route"
	"kvlab/kvs/value"
	"kvlab/workload"
)

// rewriting is a conn that sends other operations than it was given, and hides that in
// its results.
type rewriting struct {
	driver.Conn
	// forward is what the server gets in place of an operation; false for nothing.
	forward func(op kvs.Op) (kvs.Op, bool)
	// restore changes a result that came back for an operation; nil for none.
	restore func(op kvs.Op, r *kvs.Result)

	batch kvs.Batch
	reply kvs.Reply
	inner kvs.Call
	sent  []kvs.Op // by operation of the outer batch; no key: not sent
}

func (c *rewriting) Send(call *kvs.Call) {
	c.batch.Reset()
	c.sent = c.sent[:0]
	for _, op := range ops(call.Batch) {
		given, ok := c.forward(op)
		switch {
		case !ok:
			given = kvs.Op{}
		case given.Kind.Writes():
			c.batch.Append(given.Kind, given.Key, given.Value)
		default:
			c.batch.Get(given.Key)
		}
		c.sent = append(c.sent, given)
	}
	c.inner = kvs.Call{Batch: &c.batch, Reply: &c.reply}
	if c.batch.Len() > 0 {
		c.Conn.Send(&c.inner)
	}
}

func (c *rewriting) Wait(call *kvs.Call) error {
	if c.batch.Len() > 0 {
		if err := c.Conn.Wait(&c.inner); err != nil {
			return err
		}
	}
	results := c.reply.Results()
	call.Reply.Reset()
	for i, op := range ops(call.Batch) {
		r := kvs.Result{Read: op.Kind != kvs.Put, Found: op.Kind != kvs.Put}
		if c.sent[i].Key != nil {
			r, _ = results.Next()
		}
		if op.Kind != kvs.Put && (c.sent[i].Key == nil || c.sent[i].Kind == kvs.Put) {
			r = kvs.Result{Read: true, Found: true, Value: newValue(100, route.Hash(op.Key), value.NewWriter(0, 0))}
		}
		if c.restore != nil {
			c.restore(op, &r)
		}
		switch {
		case op.Kind == kvs.Put:
			call.Reply.Stored()
		case r.Found:
			call.Reply.Found(r.Value)
		default:
			call.Reply.Missing()
		}
	}
	if c.batch.Len() > 0 {
		c.reply.Free()
	}
	return nil
}

// ops are a batch's operations; they lie in the batch.
func ops(b *kvs.Batch) []kvs.Op {
	all := make([]kvs.Op, b.Len())
	cursor := b.Ops()
	_, _ = cursor.Next(all)
	return all
}

// twice sends every tenth call again, like a client that retries a call whose outcome is
// unknown.
type twice struct {
	driver.Conn
	calls int
}

func (c *twice) Wait(call *kvs.Call) error {
	err := c.Conn.Wait(call)
	if c.calls++; err != nil || c.calls%10 != 0 {
		return err
	}
	c.Conn.Send(call)
	return c.Conn.Wait(call)
}

// discarding is a conn that discards operations every tenth time, as if its queue were
// full.
type discarding struct {
	driver.Conn
	worker *worker
	calls  int
}

func (c *discarding) Send(call *kvs.Call) {
	if c.calls++; c.calls%10 == 0 {
		nextOp(c.worker.source)
	}
	c.Conn.Send(call)
}

// anywhere is a router that chooses at random.
type anywhere struct {
	servers int
	random  *rand.Rand
}

func (a anywhere) Server([]byte, uint64) int { return a.random.IntN(a.servers) }

// expiring is an engine that forgets what was written some operations ago.
type expiring struct {
	empty bool // it keeps the key and gives no bytes for it

	mu     sync.Mutex
	now    int               // guarded by mu
	values map[string][]byte // guarded by mu
	born   map[string]int    // guarded by mu
	ttl    int               // operations; guarded by mu
}

func newExpiring(empty bool) *expiring {
	return &expiring{empty: empty, values: map[string][]byte{}, born: map[string]int{}, ttl: 1 << 40}
}

func (e *expiring) Len() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.values)
}

func (e *expiring) Apply(ops []kvs.Op, reply *kvs.Reply) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, op := range ops {
		e.now++
		key := string(op.Key)
		if op.Kind == kvs.Put {
			e.values[key], e.born[key] = append([]byte(nil), op.Value...), e.now
			reply.Stored()
			continue
		}
		if e.now-e.born[key] > e.ttl {
			if e.empty {
				reply.Found(nil)
				continue
			}
			delete(e.values, key)
		}
		if value, ok := e.values[key]; ok {
			reply.Found(value)
		} else {
			reply.Missing()
		}
	}
}

// rareMistakes need more operations than a short test has time for.
func rareMistakes() []mistake {
	if os.Getenv("KVLAB_LONG") != "1" {
		return nil
	}
	return []mistake{{name: "a hundredth of the puts to a hundredth of the keys dropped", want: "a write is lost", ops: 900_000,
		config: func(c *Config) {
			c.Linearizable, c.Batch, c.Workload.Records = true, 2000, 300_000
			c.Workload.Workload, c.Workload.Reads, c.Workload.Distribution = workload.Mix, 0.1, workload.Uniform
		},
		engine: func() kvs.Engine {
			return losing(func(_ string, hash uint64) bool { return route.Thin(hash)%100 == 0 }, 100)
		}, lie: lying}}
}

// runs is how often each mistake is made, with other seeds.
func runs() int {
	if os.Getenv("KVLAB_LONG") == "1" {
		return 100
	}
	return 1
}
