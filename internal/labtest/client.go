package labtest

import (
	"errors"
	"math/rand/v2"
	"net/rpc"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Client is a program that does the course's work: goroutines with generators of their own,
// which collect a batch for each server and wait for its replies.
type Client struct {
	Form    string // a preset of Forms
	Hosts   []string
	Secs    float64
	Workers int
	Batch   int // operations of a call
	Seed    uint64
	Theta   float64 // 0 stands for 0.99
	Reads   float64 // the share of GETs
	Records int
	Fault   Misdeed

	Flush  bool          // a PUT ends its server's batch
	Shared bool          // the goroutines share a connection to each server
	Async  bool          // a goroutine waits for a server's replies before the next call to it, and for no other server's
	Tail   bool          // what is left at the end is sent
	Ready  time.Duration // getting ready takes so long, and is in the claim
	Skip   time.Duration // at the beginning, which the claim leaves out
}

// Misdeed is what a client does wrong; "" for nothing.
type Misdeed string

const (
	CountsEarly  Misdeed = "counts early"  // it counts what it draws, and leaves with calls in flight
	FireForget   Misdeed = "fire, forget"  // it waits for no reply
	CountsOne    Misdeed = "counts one"    // it counts what one goroutine does
	Drops        Misdeed = "drops"         // it counts, and drops what a queue has no room for
	DropsUnseen  Misdeed = "drops, unseen" // it drops so, and does not count it
	GetsAsPuts   Misdeed = "gets as puts"  // it sends each GET as a PUT, too
	OneServer    Misdeed = "one server"
	RandomRoute  Misdeed = "random route"
	NeverFull    Misdeed = "never full"   // a PUT ends a batch, which is much larger
	DeadBatch    Misdeed = "dead batch"   // a batch is of 8 operations
	Overtakes    Misdeed = "overtakes"    // it sends two batches to a server, and then waits
	OtherTheta   Misdeed = "other theta"  // 0.7
	OutOfRange   Misdeed = "out of range" // a key in 1000 is too large
	SendsTwice   Misdeed = "sends twice"  // a batch in 10
	EqualStreams Misdeed = "equal streams"
)

// Claim is what a client says.
type Claim struct {
	Ops     uint64
	OpsPerS float64
	RanS    float64 // how long it ran
}

// value is what the course's client writes.
var value = strings.Repeat("x", 128)

// Run runs the client, and returns its claim.
func (c Client) Run() (Claim, error) {
	began := time.Now()
	c.Theta = max(c.Theta, 0.99)
	if c.Fault == OtherTheta {
		c.Theta = 0.7
	}
	if c.Fault == OneServer {
		c.Hosts = c.Hosts[:1]
	}
	if c.Fault == DeadBatch {
		c.Batch = 8
	}
	law := newZipf(c.Records, c.Theta)
	var shared []*rpc.Client
	workers := make([]*worker, c.Workers)
	for i := range workers {
		w := &worker{client: c, conns: shared}
		workers[i] = w
		if !c.Shared || shared == nil {
			w.conns = nil
			for _, host := range c.Hosts {
				conn, err := rpc.DialHTTP("tcp", host)
				if err != nil {
					return Claim{}, err
				}
				defer conn.Close()
				w.conns = append(w.conns, conn)
			}
		}
		if c.Shared {
			shared = w.conns
		}
		seed := c.Seed*1000 + uint64(i)
		if c.Fault == EqualStreams {
			seed = c.Seed
		}
		w.law, w.random = law, rand.New(rand.NewPCG(seed, 1))
		w.waiting, w.batches = make([][]*rpc.Call, len(c.Hosts)), make([][]Op, len(c.Hosts))
	}
	time.Sleep(c.Ready)
	work := time.Now()
	var stop atomic.Bool
	timer := time.AfterFunc(time.Duration(c.Secs*float64(time.Second)), func() { stop.Store(true) })
	defer timer.Stop()
	var all sync.WaitGroup
	errs := make([]error, len(workers))
	for i, w := range workers {
		w.counts = work.Add(c.Skip)
		all.Go(func() { errs[i] = w.run(&stop) })
	}
	all.Wait()
	ended := time.Now()
	claim := Claim{RanS: ended.Sub(began).Seconds()}
	for _, w := range workers {
		if claim.Ops += w.done; c.Fault == CountsOne {
			break
		}
	}
	took := ended.Sub(began)
	if c.Skip > 0 {
		took = ended.Sub(work.Add(c.Skip))
	}
	claim.OpsPerS = float64(claim.Ops) / took.Seconds()
	return claim, errors.Join(errs...)
}

// worker is a goroutine with a generator.
type worker struct {
	client  Client
	conns   []*rpc.Client
	law     *zipf
	random  *rand.Rand
	batches [][]Op        // by server
	waiting [][]*rpc.Call // by server: calls whose replies nobody has waited for
	done    uint64
	counts  time.Time // from which on operations count
	sent    int       // batches
}

// draw returns the next operation, and its server.
func (w *worker) draw() (op Op, server int) {
	key := w.law.draw(w.random.Float64())
	server = key % len(w.conns)
	if w.client.Fault == RandomRoute {
		server = w.random.IntN(len(w.conns))
	}
	if w.client.Fault == OutOfRange && w.random.IntN(1000) == 0 {
		key += w.client.Records
	}
	op = Op{Key: strconv.Itoa(key), IsRead: w.random.Float64() < w.client.Reads}
	if !op.IsRead {
		op.Value = value
	}
	return op, server
}

// run works until it is told to stop.
func (w *worker) run(stop *atomic.Bool) error {
	switch w.client.Fault {
	case CountsEarly, Drops, DropsUnseen:
		return w.queue(stop)
	}
	for !stop.Load() {
		op, server := w.draw()
		w.batches[server] = append(w.batches[server], op)
		if op.IsRead && w.client.Fault == GetsAsPuts {
			w.batches[server] = append(w.batches[server], Op{Key: op.Key, Value: value})
		}
		full := len(w.batches[server]) >= w.client.Batch
		if flush := w.client.Flush || w.client.Fault == NeverFull; full || flush && !op.IsRead {
			if err := w.send(server); err != nil {
				return err
			}
		}
	}
	if w.client.Fault == FireForget {
		return nil
	}
	for server := range w.batches {
		if w.client.Tail && len(w.batches[server]) > 0 {
			if err := w.send(server); err != nil {
				return err
			}
		}
		if err := w.wait(server); err != nil {
			return err
		}
	}
	return nil
}

// send sends a server's batch.
func (w *worker) send(server int) error {
	ops := w.batches[server]
	w.batches[server] = nil
	w.sent++
	if w.client.Async {
		if err := w.wait(server); err != nil {
			return err
		}
	}
	w.begin(server, ops)
	if w.client.Fault == SendsTwice && w.sent%10 == 0 {
		w.begin(server, ops)
	}
	if time.Now().After(w.counts) {
		w.done += uint64(len(ops))
	}
	switch {
	case w.client.Async || w.client.Fault == Overtakes && w.sent%4 != 0:
		return nil
	case w.client.Fault == FireForget:
		w.waiting[server] = nil
		return nil
	}
	return w.wait(server)
}

// begin sends operations in the client's form. Calls of one operation follow one another, so that
// they keep their order.
func (w *worker) begin(server int, ops []Op) {
	calls := Forms[w.client.Form](ops)
	for i, call := range calls {
		w.waiting[server] = append(w.waiting[server], w.conns[server].Go(call.Method, call.Args, call.Reply, make(chan *rpc.Call, 1)))
		if i+1 < len(calls) && w.client.Fault == "" {
			_ = w.wait(server) // the next call fails, too
		}
	}
}

// wait waits for a server's replies.
func (w *worker) wait(server int) (err error) {
	for _, call := range w.waiting[server] {
		err = errors.Join(err, (<-call.Done).Error)
	}
	w.waiting[server] = nil
	return err
}

// queue works with a queue for each server, which a goroutine sends. To count early, the queue
// has room for everything, and nobody waits for its end.
func (w *worker) queue(stop *atomic.Bool) error {
	early := w.client.Fault == CountsEarly
	room := 1
	if early {
		room = 1 << 16
	}
	queues, errs := make([]chan []Op, len(w.conns)), make([]error, len(w.conns))
	var senders sync.WaitGroup
	for server := range queues {
		queues[server] = make(chan []Op, room)
		senders.Go(func() {
			for ops := range queues[server] {
				if !early && server == 0 {
					time.Sleep(time.Millisecond) // as if this server were busy
				}
				w.begin(server, ops)
				for early && len(w.waiting[server]) >= 4 { // some are in flight at any time
					<-w.waiting[server][0].Done
					w.waiting[server] = w.waiting[server][1:]
				}
				if early && stop.Load() {
					return
				} else if !early {
					errs[server] = errors.Join(errs[server], w.wait(server))
				}
			}
		})
	}
	for !stop.Load() {
		op, server := w.draw()
		if w.batches[server] = append(w.batches[server], op); len(w.batches[server]) < w.client.Batch {
			continue
		}
		n := uint64(len(w.batches[server]))
		select {
		case queues[server] <- w.batches[server]:
			w.done += n
		default:
			if w.client.Fault != DropsUnseen {
				w.done += n
			}
		}
		w.batches[server] = nil
		if w.sent++; !early || w.sent%8 == 0 {
			time.Sleep(50 * time.Microsecond) // the senders are to work, too
		}
	}
	for _, q := range queues {
		close(q)
	}
	if early {
		return nil
	}
	senders.Wait()
	return errors.Join(errs...)
}
