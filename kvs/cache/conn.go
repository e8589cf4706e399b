// Package cache keeps the values that a client holds from being sent to it again. Every
// operation is still sent, executed in its order at the server, and answered, so that a
// store is as linearizable with a cache as without: a read carries the version of the value
// that the client held when it was sent, and the server answers with the value only if
// another one is current. HTTP does so with entity tags (RFC 9110, section 8.8.3).
//
//	Store  values by key, of all workers of a client
//	Conn   a connection that sends compact batches, and fills values into their replies
package cache

import (
	"errors"
	"fmt"

	"kvlab/kvs"
	"kvlab/kvs/engine/prefetch"
)

// ErrDigest is wrapped by the error of a call whose server took a value for unchanged that
// is not the one that the client held.
var ErrDigest = errors.New("a value was called unchanged, but is not the one that the client holds")

// Inner is a connection to a server that takes compact batches.
type Inner interface {
	Send(*kvs.Call)
	Wait(*kvs.Call) error
	Close() error
}

// Conn is a connection with a cache. Its calls are those of the inner connection, and
// workers that share it may use it at the same time.
type Conn struct {
	inner Inner
	store *Store
}

// Over returns a connection whose values are in a store, which one client's connections to
// all servers share: each key belongs to one server.
func (s *Store) Over(inner Inner) *Conn { return &Conn{inner: inner, store: s} }

// exchange is a call's state. It keeps what the client held when it sent the call: the
// store may have a later value by the time of the reply.
type exchange struct {
	call   kvs.Call // of the inner connection
	batch  kvs.Batch
	reply  kvs.Reply
	held   []held // of the operations that read, in order
	values []byte // their values, one after another

	ops     [group]kvs.Op
	numbers [group]uint64
	places  [group]int
	lines   prefetch.List
}

type held struct {
	version kvs.Version // 0: the client held no value
	end     uint32      // of the value, which begins at the end of the one before
}

// group is how many operations are looked up together, so that their cache misses overlap.
const group = 32

// Send sends a call's operations as a compact batch.
func (c *Conn) Send(call *kvs.Call) {
	x, ok := call.State.(*exchange)
	if !ok {
		x = new(exchange)
		x.call.Batch, x.call.Reply = &x.batch, &x.reply
		call.State = x
	}
	x.batch.Reset()
	x.batch.Grow(call.Batch.Size())
	x.held, x.values = x.held[:0], x.values[:0]
	for cursor := call.Batch.Ops(); ; {
		n, err := cursor.Next(x.ops[:])
		c.look(x, n)
		c.add(x, n)
		if err != nil || n < group { // the client has encoded the batch
			break
		}
	}
	c.inner.Send(&x.call)
}

// look finds the places of n operations' keys, and fetches the entries of those that read.
func (c *Conn) look(x *exchange, n int) {
	for i := range x.ops[:n] {
		number := c.store.number(x.ops[i].Key)
		x.numbers[i] = number
		prefetch.Add(&x.lines, &c.store.set(number)[0])
	}
	x.lines.Fetch()
	for i := range x.ops[:n] {
		if x.places[i] = -1; x.ops[i].Kind.Reads() {
			if x.places[i] = c.store.find(x.numbers[i]); x.places[i] >= 0 {
				prefetch.AddRange(&x.lines, &c.store.at(x.places[i])[0], c.store.entry*8)
			}
		}
	}
	x.lines.Fetch()
}

// add adds n operations to the compact batch, and copies the values that the client holds.
func (c *Conn) add(x *exchange, n int) {
	for i := range x.ops[:n] {
		op, version := &x.ops[i], kvs.Version(0)
		if op.Kind.Reads() {
			if x.places[i] >= 0 {
				x.values, version = c.store.load(x.places[i], x.numbers[i], x.values)
			}
			x.held = append(x.held, held{version, uint32(len(x.values))})
		}
		x.batch.AppendCompact(op, version)
	}
}

// Wait waits for the reply to a sent call, and fills in the values that are unchanged. A
// reply that it cannot believe is an error. It does not close the connection: other workers
// may share it, and would blame that.
func (c *Conn) Wait(call *kvs.Call) error {
	x := call.State.(*exchange)
	if call.Err = c.inner.Wait(&x.call); call.Err != nil {
		return call.Err
	}
	call.Sent, call.Received = x.batch.Size(), x.reply.Size()
	call.Err = c.expand(x, call)
	x.reply.Free()
	return call.Err
}

// expand writes the call's reply.
func (c *Conn) expand(x *exchange, call *kvs.Call) error {
	results, claimed, err := x.reply.Versions()
	if err != nil {
		return err
	}
	out := call.Reply
	out.Reset()
	out.Served = x.reply.Served
	digest, unchanged, from, reads := uint64(0), 0, uint32(0), x.held
	for cursor := call.Batch.Ops(); ; {
		n, err := cursor.Next(x.ops[:])
		for i := range x.ops[:n] {
			op := &x.ops[i]
			result, version, err := results.NextVersion(op.Kind)
			if err != nil {
				return err
			}
			if !op.Kind.Reads() {
				c.wrote(op, result, version, out)
				continue
			}
			h := reads[0]
			reads = reads[1:]
			switch value := x.values[from:h.end]; {
			case result.Found:
				out.Found(result.Value)
				if op.Kind == kvs.Get {
					c.store.keep(c.store.number(op.Key), version, result.Value)
				}
			case result.Read:
				out.Missing()
			case h.version == 0:
				return fmt.Errorf("%w reply: %q is called unchanged, of which the client holds no value", kvs.ErrMalformed, op.Key)
			default:
				out.Found(value)
				digest += kvs.Digest(op.Key, h.version)
				unchanged++
			}
			if from = h.end; out.Excess { // with -dedup the server's was smaller
				return fmt.Errorf("the reply is too large: at most %d bytes", kvs.MaxBody)
			}
			if op.Kind.Writes() {
				c.store.keep(c.store.number(op.Key), version, op.Value)
			}
		}
		if err != nil || n < group {
			break
		}
	}
	if digest != claimed {
		return fmt.Errorf("%w: of the keys and versions of %d values the server's digest is %016x, and the client's %016x", ErrDigest, unchanged, claimed, digest)
	}
	return results.End()
}

// wrote copies the result of an operation that does not read.
func (c *Conn) wrote(op *kvs.Op, result kvs.Result, version kvs.Version, out *kvs.Reply) {
	switch {
	case result.Read:
		out.Missing() // a Delete of no key
	case op.Kind == kvs.Delete:
		out.Removed()
	default:
		out.Stored()
		c.store.keep(c.store.number(op.Key), version, op.Value)
	}
}

// Close closes the inner connection.
func (c *Conn) Close() error { return c.inner.Close() }
