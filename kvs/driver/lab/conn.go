package lab

import (
	"bufio"
	"encoding/gob"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/rpc"
	"reflect"
	"sync"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/kvs/wire"
)

// inFlight is the number of remote calls of a connection that have no reply yet, at most.
// A server of net/rpc has a goroutine for each.
const inFlight = 128

// conn is a connection. One goroutine executes its calls one after another: net/rpc's
// server executes remote calls in any order.
type conn struct {
	rpc     *rpc.Client
	codec   *codec
	gets    *message
	puts    *message // gets, if a remote call carries both
	calls   chan *kvs.Call
	timeout time.Duration
	order   order
	slots   [inFlight]slot // a ring
	first   int            // the oldest remote call in flight
	n       int            // how many there are
	id      int64          // of the last remote call that has one
	stamp   int64          // of the last operation that has one
	values  []string       // the results, in the batch's order

	remotes    [steps]*remote // of a server with transactions
	mask       uint64         // of the numbers that its fields tx hold
	transactor *transactor    // over this connection; nil of a server without transactions
	round      driver.Transactions

	mu     sync.Mutex
	closed bool  // no call is queued any more; guarded by mu
	reason error // why the connection ended; guarded by ending
	ending sync.Mutex
}

// slot is a remote call in flight.
type slot struct {
	call    *rpc.Call
	done    chan *rpc.Call
	message *message
	reply   reflect.Value // points to one of the message's type
	op      int           // the number of its only operation; -1 if it lists operations
}

// newConn returns the connection to a server that was met.
func newConn(met meeting, l *lab) *conn {
	f, o, u := l.form, l.options, l.use
	c := &conn{codec: met.codec, timeout: o.CallTimeout, calls: make(chan *kvs.Call, max(u.CallsInFlight, 1)), id: rand.Int64() >> 1}
	c.codec.Take() // of the meeting
	c.rpc = rpc.NewClientWithCodec(c.codec)
	if f.txn != nil {
		c.remotes, c.mask = f.remotes(met.types), met.mask
		c.transactor = newTransactor(f, []*conn{c}, &l.ids, o.CallTimeout)
		go c.run()
		return c
	}
	c.gets = f.message(false, met.stamp)
	if c.puts = c.gets; !f.mixed() {
		c.puts = f.message(true, met.stamp)
	}
	for i := range c.slots {
		c.slots[i].done = make(chan *rpc.Call, 1)
	}
	go c.run()
	return c
}

// Send queues a call.
func (c *conn) Send(call *kvs.Call) {
	if call.State == nil {
		call.State = make(chan error, 1)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		call.State.(chan error) <- c.cause(nil)
		return
	}
	c.calls <- call // run takes it, even while the connection closes
}

// Wait waits until a call is executed, and returns its error.
func (c *conn) Wait(call *kvs.Call) error {
	call.Err = <-call.State.(chan error)
	return call.Err
}

// Close ends the connection. Calls that are queued or in flight fail.
func (c *conn) Close() error {
	c.end(fmt.Errorf("the connection was closed: %w", net.ErrClosed))
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.closed = true
		close(c.calls)
	}
	return nil
}

// end closes the socket. The first reason is kept.
func (c *conn) end(reason error) {
	c.ending.Lock()
	defer c.ending.Unlock()
	if c.reason == nil {
		c.reason = reason
		_ = c.codec.Close() // the reason says more
	}
}

// cause returns the reason of the connection's end, or err if it has not ended.
func (c *conn) cause(err error) error {
	c.ending.Lock()
	defer c.ending.Unlock()
	if c.reason != nil {
		return c.reason
	}
	return err
}

// run executes the calls until Close.
func (c *conn) run() {
	late := time.AfterFunc(1<<62, func() { c.end(fmt.Errorf("%w: no reply within %v", wire.ErrTimeout, c.timeout)) })
	for call := range c.calls {
		if c.transactor != nil {
			call.State.(chan error) <- c.transact(call)
			continue
		}
		late.Reset(c.timeout)
		c.codec.Take()
		err := c.execute(call)
		call.Sent, call.Received = c.codec.Take()
		late.Stop()
		call.State.(chan error) <- err
	}
}

// execute executes the operations of a call in waves. Those of a wave may be executed in
// any order.
func (c *conn) execute(call *kvs.Call) error {
	waves, err := c.order.plan(call.Batch, c.gets, c.puts)
	if err != nil {
		return err
	}
	if n := call.Batch.Len(); len(c.values) < n {
		c.values = make([]string, n)
	}
	for wave := int32(0); wave < waves && err == nil; wave++ {
		err = c.send(wave, c.gets)
		if err == nil && c.puts != c.gets {
			err = c.send(wave, c.puts)
		}
		for c.n > 0 {
			if taken := c.take(wave); err == nil {
				err = taken
			}
		}
	}
	if err != nil {
		return err
	}
	call.Reply.Reset()
	for i, op := range c.order.ops {
		call.Reply.Answer(op.Kind, bytesOf(c.values[i]), c.values[i] != "")
	}
	return nil
}

// send sends a wave's operations by one remote method.
func (c *conn) send(wave int32, m *message) error {
	m.empty()
	listed := 0
	if m.stamp >= 0 { // servers may order the stamps of several clients
		c.stamp = max(c.stamp, time.Now().UnixNano())
	}
	for i := range c.order.ops {
		if op := &c.order.ops[i]; c.order.wave[i] == wave && c.message(op.Kind) == m {
			c.stamp++
			m.add(op, i, c.stamp)
			if m.ops.IsValid() {
				listed++
			} else if err := c.begin(m, i, wave); err != nil {
				return err
			}
		}
	}
	if listed == 0 {
		return nil
	}
	return c.begin(m, -1, wave)
}

// begin begins a remote call. If too many are in flight it waits for the oldest.
func (c *conn) begin(m *message, op int, wave int32) error {
	if c.n == inFlight {
		if err := c.take(wave); err != nil {
			return err
		}
	}
	if m.id.IsValid() {
		c.id++
		m.id.SetInt(c.id)
	}
	s := &c.slots[(c.first+c.n)%inFlight]
	var reply any
	if m.reply != nil {
		if s.message != m {
			s.reply = reflect.New(m.reply)
		}
		s.reply.Elem().SetZero() // gob sends no zero values
		reply = s.reply.Interface()
	}
	s.message, s.op = m, op
	s.call = c.rpc.Go(m.method, m.args.Interface(), reply, s.done)
	c.n++
	return nil
}

// take waits for the reply of the oldest remote call, of a wave, and keeps its results.
func (c *conn) take(wave int32) error {
	s := &c.slots[c.first]
	c.first, c.n = (c.first+1)%inFlight, c.n-1
	if len(s.done) == 0 {
		if err := c.codec.out.Flush(); err != nil {
			c.end(err)
		}
	}
	<-s.done
	if err := s.call.Error; err != nil {
		return c.failed(s, err)
	}
	if s.op >= 0 {
		c.values[s.op] = ""
		if s.message.reply != nil {
			c.values[s.op] = s.message.result(s.reply, 0)
		}
		return nil
	}
	return c.results(s, wave)
}

// results keeps the results of a remote call that lists a wave's operations.
func (c *conn) results(s *slot, wave int32) error {
	n := 0
	for i, op := range c.order.ops {
		if c.order.wave[i] != wave || s.message != c.message(op.Kind) {
			continue
		}
		if c.values[i] = ""; s.message.reply != nil {
			if n == s.message.results(s.reply) {
				return fmt.Errorf("%w reply: %s answers %d operations with %d results", kvs.ErrMalformed, s.message.method, s.message.ops.Len(), n)
			}
			c.values[i] = s.message.result(s.reply, n)
		}
		n++
	}
	return nil
}

// message is that of a kind of operation.
func (c *conn) message(kind kvs.Kind) *message {
	if kind == kvs.Get {
		return c.gets
	}
	return c.puts
}

// failed returns the error of a remote call. An error of the server's leaves the connection
// open, any other ends it.
func (c *conn) failed(s *slot, err error) error {
	var answered rpc.ServerError
	if errors.As(err, &answered) {
		return fmt.Errorf("the store answers %s with %w (%s)", s.message.method, err, driver.Unknown)
	}
	c.end(err)
	return c.cause(err)
}

// codec is net/rpc's own encoding, but requests wait for the next flush of out.
type codec struct {
	*driver.Meter
	dec *gob.Decoder
	enc *gob.Encoder
	out *bufio.Writer
}

func (c *codec) WriteRequest(r *rpc.Request, args any) error {
	if err := c.enc.Encode(r); err != nil {
		return err
	}
	return c.enc.Encode(args)
}

func (c *codec) ReadResponseHeader(r *rpc.Response) error { return c.dec.Decode(r) }

func (c *codec) ReadResponseBody(reply any) error { return c.dec.Decode(reply) }
