// Package door serves a store to the clients of Redis, in RESP2 and RESP3. What one read
// delivers is executed as one batch.
//
//	door     a connection: read, parse, apply, answer, write
//	table    the commands
//	strings  those that are operations of the store
//	hash     those on hashes, each of which is one value of the store
//	session  those about the connection
//	info     those about the server, and what the gateway counts
//	outbox   sends replies
package door

import (
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/resp"
	"kvlab/kvs/server"
	"kvlab/kvs/service"
	"kvlab/kvs/wire"
	"kvlab/metrics"
)

// Row is the gateway of kvsserver.
var Row = server.Gateway{
	Protocol: "RESP", Flag: "resp",
	Usage: "`host:port` on which the store is a Redis server too, for redis-cli, redis-benchmark and others; under a launcher the password is the run's token, reads are counted apart, and a write makes the run INVALID",
	Open: func(s *service.Service, o server.GatewayOptions) (func(net.Conn) error, func(*metrics.Summary)) {
		return New(s, o).Serve, nil
	},
}

// Peer is the name of all clients of gateways in the service's counts.
const Peer = "resp"

// Gateway is a server of Redis's protocol over a service. It is safe for concurrent use.
type Gateway struct {
	options  server.GatewayOptions
	service  *service.Service
	started  time.Time
	refused  [commands]string // why the engine has no such command
	table    []row
	hashes   hashLocks
	accepted atomic.Uint64

	mu     sync.Mutex
	conns  map[*conn]bool    // open; guarded by mu, as are the next two
	closed tally             // of closed connections
	errors map[string]uint64 // error replies by their codes
}

// New returns a gateway to a service.
func New(s *service.Service, o server.GatewayOptions) *Gateway {
	g := &Gateway{options: o, service: s, started: time.Now(), conns: map[*conn]bool{}, errors: map[string]uint64{}, table: table[:]}
	g.hashes.seed = maphash.MakeSeed()
	for i, row := range g.table {
		if err := o.Check(row.kinds); len(row.kinds) > 0 && err != nil {
			g.refused[i] = "ERR " + err.Error()
		}
	}
	return g
}

// conn is a client's connection. Only its goroutine uses it, unless it says otherwise.
type conn struct {
	gateway  *Gateway
	id       uint64
	name     string // as CLIENT SETNAME has it
	service  *service.Conn
	timer    *wire.RequestTimer
	in       *inbox
	commands resp.Commands
	out      *outbox
	version  resp.Version
	trusted  bool // it has given the password
	quit     bool // it is closed after the replies
	err      error

	// Commands that are operations wait until apply.
	ops     []kvs.Op
	writes  bool      // one of ops does
	pending []pending // their commands, in order
	first   int       // of pending that is not answered
	reply   kvs.Reply
	result  kvs.Result // that answer is given
	single  [1]kvs.Op  // that one applies
	hash    hash

	tally
	mu        sync.Mutex
	published tally // guarded by mu
}

// pending is a command whose operations have not all been answered.
type pending struct {
	row  *row
	left int // operations
	all  int
	sum  int // of what answer counts
}

// most is how many operations are applied at a time: their reply fits into one of the
// service, however large the values are.
const most = kvs.MaxBody / (kvs.MaxValueLen + 8)

const (
	maxArgs  = 1 << 20 // as in Redis
	flushAt  = 256 << 10
	unproven = 10       // arguments of a client that has not given the password, as in Redis
	unsized  = 16 << 10 // and the bytes of each
)

// Serve serves a client until the connection ends, and closes it. It returns nil when the
// client has ended it between two commands.
func (g *Gateway) Serve(socket net.Conn) error {
	c := &conn{gateway: g, id: g.accepted.Add(1), version: resp.RESP2, trusted: g.options.Password == "", ops: make([]kvs.Op, 0, most), hash: hash{index: map[string]int{}}}
	c.timer = wire.WatchRequests(socket, g.options.Limits)
	c.in, c.out = newInbox(socket), newOutbox(socket, g.options.Limits.Request)
	c.trust(c.trusted)
	if g.options.ThirdParty {
		c.service = g.service.OpenThirdParty()
	} else {
		c.service = g.service.Open(Peer)
	}
	g.mu.Lock()
	g.conns[c] = true
	g.mu.Unlock()
	err := errors.Join(c.serve(), c.out.finish())
	c.close()
	if err != nil {
		return fmt.Errorf("RESP client %s: %w", socket.RemoteAddr(), err)
	}
	return nil
}

// trust sets the limits of a client that has given the password, or has not.
func (c *conn) trust(ok bool) {
	frame := c.gateway.options.Limits.Frame
	c.trusted, c.commands.Limits = ok, resp.Limits{Args: maxArgs, Bulk: frame, Size: frame}
	if !ok {
		c.commands.Limits = resp.Limits{Args: unproven, Bulk: unsized, Size: unproven * (unsized + 32)}
	}
}

// close ends the connection and keeps its counts.
func (c *conn) close() {
	c.timer.Stop()
	_ = c.timer.Conn.Close() // what ended the connection is known
	c.service.Close()
	g := c.gateway
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.conns, c)
	g.closed.add(&c.tally)
}

// serve executes commands until the client leaves.
func (c *conn) serve() error {
	request := false // a part of one has arrived
	err := c.in.each(func() error {
		if err := c.commands.Read(c.in); err != nil {
			return err
		}
		if !request {
			c.timer.Turn()
		}
		some := c.execute()
		c.publish()
		if c.err != nil {
			return c.err // and no answer: some of those in buf may be wrong
		}
		if err := c.out.flush(); err != nil {
			return err
		}
		if request = c.commands.Partial(); !request || some {
			c.timer.Turn()
		}
		if request && some {
			c.timer.Turn()
		}
		if c.quit {
			return errQuit
		}
		return nil
	})
	if err == errQuit || err == io.EOF && !c.commands.Partial() {
		return nil
	}
	return c.timer.Conn.Cause(err)
}

// errQuit ends the connection after the replies.
var errQuit = errors.New("the client has quit")

// execute executes the commands that have arrived, and reports whether there were some.
func (c *conn) execute() (some bool) {
	for !c.quit && c.err == nil {
		args, err := c.commands.Next()
		if err != nil {
			c.apply()
			c.fail("ERR " + err.Error())
			c.quit = true
		}
		if args == 0 || err != nil {
			break
		}
		some = true
		c.command(args)
	}
	c.apply()
	return some
}

// command executes the command that has been parsed, or leaves its operations to apply.
func (c *conn) command(args int) {
	row := find(c.commands.Arg(0))
	why := ""
	switch {
	case row == nil:
		why = fmt.Sprintf("ERR unknown command '%.128s', with args beginning with: %s", c.commands.Arg(0), c.beginnings(args))
	case row.args > 0 && args != row.args, args < -row.args:
		why = fmt.Sprintf("ERR wrong number of arguments for '%s' command", row.name)
	case !c.trusted && !row.open:
		why = "NOAUTH Authentication required."
	default:
		why = c.gateway.refused[row.index]
	}
	switch {
	case why != "":
		c.apply()
		if row != nil {
			c.rejected[row.index]++
		}
		c.fail(why)
	case row.answer != nil:
		row.run(c, row, args)
	default:
		c.apply()
		failures := c.failures
		row.run(c, row, args)
		c.done(row, c.failures != failures)
	}
}

// done counts a command that was executed.
func (c *conn) done(row *row, failed bool) {
	c.calls[row.index]++
	if failed {
		c.failed[row.index]++
	}
}
