package etcd

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/kvs/wire"
)

// conn is a gRPC connection to a server. One goroutine executes its calls in order, the
// transactions of each one after another.
type conn struct {
	etcd    *grpc.ClientConn
	kv      pb.KVClient
	meter   *driver.Meter
	timeout time.Duration
	ctx     context.Context // ends with Close
	cancel  context.CancelCauseFunc
	done    chan struct{} // closed when the goroutine has ended

	mu     sync.Mutex
	closed bool // guarded by mu
	queue  chan *kvs.Call

	// The goroutine's.
	err           error // of the connection: no call follows it
	reads, writes *txn
	ops           [256]kvs.Op
	results       []result
}

// state is what a call keeps in kvs.Call.State: where its end is reported.
type state chan struct{}

func newConn(etcd *grpc.ClientConn, meter *driver.Meter, timeout time.Duration, depth int) *conn {
	c := &conn{etcd: etcd, kv: pb.NewKVClient(etcd), meter: meter, timeout: timeout, done: make(chan struct{}), queue: make(chan *kvs.Call, depth), reads: newTxn(), writes: newTxn()}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	go c.run()
	return c
}

var errClosed = errors.New("the connection was closed")

func (c *conn) Send(call *kvs.Call) {
	if _, ok := call.State.(state); !ok {
		call.State = make(state, 1)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		call.Err = errClosed
		call.State.(state) <- struct{}{}
		return
	}
	c.queue <- call
}

func (c *conn) Wait(call *kvs.Call) error {
	<-call.State.(state)
	return call.Err
}

func (c *conn) Close() error {
	c.cancel(errClosed)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	close(c.queue)
	<-c.done
	return c.etcd.Close()
}

func (c *conn) run() {
	defer close(c.done)
	for call := range c.queue {
		call.Err = c.err
		if call.Err == nil {
			c.meter.Take()
			call.Err = c.execute(call)
			call.Sent, call.Received = c.meter.Take()
		}
		call.State.(state) <- struct{}{}
	}
}

// execute executes a call's operations: as many as possible in a txn, on each key in
// order.
func (c *conn) execute(call *kvs.Call) error {
	ctx, cancel := context.WithTimeoutCause(c.ctx, c.timeout, fmt.Errorf("%w: no reply within %v", wire.ErrTimeout, c.timeout))
	defer cancel()
	c.results = c.results[:0]
	c.reads.reset()
	c.writes.reset()
	for ops := call.Batch.Ops(); ; {
		n, err := ops.Next(c.ops[:])
		if err != nil {
			return err
		}
		for i := range c.ops[:n] {
			if err := c.add(ctx, &c.ops[i]); err != nil {
				return err
			}
		}
		if n < len(c.ops) {
			break
		}
	}
	for _, t := range []*txn{c.reads, c.writes} {
		if err := c.commit(ctx, t); err != nil {
			return err
		}
	}
	call.Reply.Reset()
	for i := range c.results {
		r := &c.results[i]
		call.Reply.Answer(r.kind, r.value, r.found)
		*r = result{} // releases the value
	}
	if call.Reply.Excess {
		return fmt.Errorf("the values of %d operations exceed %d bytes: want a smaller -batch", call.Batch.Len(), kvs.MaxBody)
	}
	return nil
}

// add adds an operation to the txn of its kind. The two txns have no key in common, so
// that either may be executed first.
func (c *conn) add(ctx context.Context, op *kvs.Op) error {
	mine, other := c.writes, c.reads
	if op.Kind == kvs.Get {
		mine, other = c.reads, c.writes
	}
	hash := maphash.Bytes(seed, op.Key)
	if other.has(hash) {
		if err := c.commit(ctx, other); err != nil {
			return err
		}
	}
	if !mine.fits(op) || op.Kind != kvs.Get && mine.has(hash) {
		if err := c.commit(ctx, mine); err != nil {
			return err
		}
	}
	mine.add(op, hash, len(c.results))
	c.results = append(c.results, result{kind: op.Kind})
	return nil
}

// commit executes a txn, takes its results and empties it.
func (c *conn) commit(ctx context.Context, t *txn) error {
	n := t.len()
	if n == 0 {
		return nil
	}
	response, err := c.kv.Txn(ctx, &t.request)
	if err != nil {
		return c.failure(ctx, c.results[t.at[0]].kind, err)
	}
	if len(response.Responses) != n {
		c.err = fmt.Errorf("etcd answers %d operations with %d results", n, len(response.Responses))
		return c.err
	}
	for i, r := range response.Responses {
		c.results[t.at[i]].take(r)
	}
	t.reset()
	return nil
}

// failure returns the error of a txn, whose first operation is of a kind. One that is not
// etcd's own is the connection's.
func (c *conn) failure(ctx context.Context, kind kvs.Kind, err error) error {
	var refusal rpctypes.EtcdError
	switch {
	case ctx.Err() != nil:
		c.err = context.Cause(ctx)
	case !errors.As(rpctypes.Error(err), &refusal):
		c.err = err
	case refusal.Code() == codes.InvalidArgument || refusal.Code() == codes.ResourceExhausted:
		return &driver.OpError{Kind: kind, Effect: driver.NotApplied, Text: refusal.Error()}
	default:
		return &driver.OpError{Kind: kind, Effect: driver.Unknown, Text: refusal.Error()}
	}
	return c.err
}
