// Package driver connects a client to what it talks to: kvlab's servers by TCP, an engine in
// this process, or a foreign store. A new store is a package with a Driver and a Row in
// the programs' mains; it must pass the suite in driver/drivertest.
package driver

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"time"

	"kvlab/internal/cli"
	"kvlab/kvs"
	"kvlab/kvs/cache"
	"kvlab/kvs/engine"
	"kvlab/kvs/wire"
	"kvlab/metrics"
)

// Driver connects a client to its servers, Options.Addresses, which it numbers from
// 0. It is safe for concurrent use.
type Driver interface {
	// Dial connects to a server. The workers that share a connection are a lane:
	// lanes are numbered from 0, and dial in that order.
	Dial(ctx context.Context, server, lane int) (Conn, Server, error)
	// Explain returns a better reason for the error of a call to a server, or nil if
	// it knows none.
	Explain(ctx context.Context, server int, err error) error
	Info() Info
	// Close releases what the driver holds, after its connections are closed.
	Close() error
}

// Conn carries calls to one server. A call belongs to its Conn from Send until Wait
// returns. Workers that share a Conn may use it at the same time.
type Conn interface {
	Send(*kvs.Call)       // begins a call
	Wait(*kvs.Call) error // waits for its reply
	Close() error         // calls in flight fail
}

// Counter is a Driver of a foreign store that counts what it executes.
type Counter interface {
	// Counts returns a server's own counters, since its start. It may be called while
	// calls are in flight.
	Counts(ctx context.Context, server int) (metrics.StoreCounts, error)
}

// Effect says what a failed operation did to the store.
type Effect string

const (
	Applied    Effect = "applied"
	NotApplied Effect = "not applied"
	Unknown    Effect = "perhaps applied"
)

// OpError is a foreign store's refusal of one operation of a call.
type OpError struct {
	Kind   kvs.Kind
	Effect Effect
	Text   string // the store's own
}

func (e *OpError) Error() string {
	return fmt.Sprintf("the store answers a %s with %q (%s)", e.Kind, e.Text, e.Effect)
}

// Server is a server as Dial met it.
type Server struct {
	Name    string // in reports
	NoStore bool   // it has one value for every key: a ceiling, not a store
}

// Info says what a driver can do, and what it did.
type Info struct {
	Capabilities metrics.Capabilities
	CacheBytes   uint64           // memory of the values that servers need not send again
	Retries      *metrics.Retries // what broken connections cost so far; nil when none broke
	FirstReplies []time.Time      // by server: when the process that took its place, with its store, first replied; zero or nil if none has
}

// Options say what a client talks to. The comments name the flags.
type Options struct {
	Transport    string            // -transport: the driver, TCP or InProcess
	Hosts        []string          // -hosts: every server's address, in the order that the router numbers them
	Engine       string            // -engine: of InProcess
	Foreign      []Row             // the drivers of foreign stores that the program has
	Settings     map[string]string // of the foreign store's driver, by name
	TTL          time.Duration     // -ttl: how long a key lives after its last write; 0 for ever
	Null         bool              // -engine null: the servers of the foreign store's driver are Row.Null's, without a store
	Fresh        bool              // the servers of the foreign store were started for this run: the driver may set them up
	Cached       cache.Size        // -cache: of the values that the servers need not send again
	wire.Options                   // -node, -codec, -socket-buffer, -call-timeout, -dedup, -crc, -retry; the driver sets Cache, Session, Placement, Shared, Retried, Replaced and KnownInstance
}

// DefaultOptions returns the options of a client of one server on this machine.
func DefaultOptions() Options {
	return Options{
		Transport: TCP,
		Hosts:     []string{"127.0.0.1:8080"},
		Engine:    engine.Names[0],
		Options:   wire.Options{Hello: wire.Hello{Node: "client", Codec: wire.Codecs[0]}, CallTimeout: 10 * time.Second},
	}
}

// Use is how a client will use a driver.
type Use struct {
	Shared        bool       // several workers send on a connection
	CallsInFlight int        // on a connection, at most
	Records       uint64     // a hint for the engine of InProcess, and the entries of a cache
	Longest       int        // bytes of the longest value that a cache keeps
	Router        string     // its name
	Owners        string     // its route.Fingerprint
	Kinds         []kvs.Kind // of its operations; a server without one of them refuses the client
	Txn           int        // operations of a transaction at most; 0: it has none
	Trace         string     // the path of the trace whose kinds they are; "" for a workload's
}

// The sizes that bound a client's batches, in bytes.
const (
	MaxCall  = kvs.MaxBody   // a call, or its reply
	MaxGroup = wire.MaxGroup // calls that a shared connection sends together
)

// Row is a driver.
type Row struct {
	Name  string
	Check func(Options, Use) error // returns an error that names the first wrong flag or setting and its right form
	Open  func(Options, Use) (Driver, error)

	// Find returns all servers of a store that runs, of which the options have some, and the
	// -router of its keys, "" for any; nil if the options have all.
	Find func(context.Context, Options) (hosts []string, router string, err error)

	// Null serves a connection as a server without a store does; nil if there is no such
	// server. Protocol then names what both speak.
	Protocol string
	Null     func(net.Conn, Options, *Null) error

	Router string // decides which server owns a key; "": -router does
	Batch  int    // the default of -batch, for servers that answer large calls slowly; 0: the client's
	TTL    bool   // it takes Options.TTL

	// Transactions says that the driver is Transactional; Check then says with which settings.
	Transactions bool

	Rival bool // only the programs of extra/rivals have it: a plain one does not open it
}

// Null is what a server without a store has: one value for every key.
type Null = engine.Null

// Rival returns the row of a plain program for a driver of extra/rivals.
func Rival(name string) Row {
	return Row{Name: name, Check: func(Options, Use) error { return nil }, Rival: true}
}

// Label returns the name, which says enough.
func (r Row) Label() (name, description string) { return r.Name, "" }

// The drivers' names.
const (
	TCP       = "tcp"    // kvlab's servers
	InProcess = "inproc" // an engine in this process
)

var own = []Row{{Name: TCP, Check: checkNetwork, Open: openNetwork, Transactions: true}, {Name: InProcess, Check: checkDirect, Open: openDirect, Transactions: true}}

// find returns the options' driver.
func (o Options) find() (Row, error) {
	return cli.Find("-transport", o.Transport, slices.Concat(own, o.Foreign))
}

// Addresses returns the addresses of the servers.
func (o Options) Addresses() []string {
	if o.Transport == InProcess {
		return []string{"127.0.0.1:0"}
	}
	return o.Hosts
}

// features returns the features that the options ask of a codec. A reply to a client with a
// cache also sends a value once: the client may have held an old value of a popular key.
func (o Options) features(u Use) wire.Features {
	f := o.Features
	f.Transactions = u.Txn > 0
	if o.Cached != 0 {
		f.Cache, f.Dedup = true, true
	}
	return f
}

// Validate returns an error that names the first wrong flag and its right form.
func (o Options) Validate(u Use) error {
	r, err := o.find()
	if err != nil {
		return err
	}
	a := o.Addresses()
	return cmp.Or(
		cli.Want(o.CallTimeout > 0, "-call-timeout", o.CallTimeout, "more than 0 seconds, such as 10"),
		wire.CheckCodec(o.Codec, o.features(u)), wire.CheckSocketBuffer(o.SocketBuffer),
		cli.Want(o.TTL == 0 || o.TTL >= time.Second, "-ttl", o.TTL, "1s or longer"),
		cli.Want(o.TTL == 0 || r.TTL, "-ttl", o.TTL, "a target whose keys expire, such as redis://HOST:PORT or memcached://HOST:PORT: those of %s do not", o.Transport),
		cli.Want(u.Txn == 0 || r.Transactions, "-txn", u.Txn, "a target with transactions, such as kvlab's own servers: %s has none", o.Transport),
		cli.Want(u.Txn == 0 || !o.features(u).Dedup, "-txn", u.Txn, "neither -dedup nor -cache with it: a reply of transactions has every value"), r.Check(o, u),
		cli.Want(len(a) > 0 && !slices.Contains(a, ""), "-hosts", fmt.Sprintf("%q", o.Hosts), "host:port, or several with commas between them"))
}

// Open returns the driver that valid options name. It does not connect.
func Open(o Options, u Use) (Driver, error) {
	r, err := o.find()
	if err != nil {
		return nil, err
	}
	if !o.Null {
		return r.Open(o, u)
	}
	o.Settings = maps.Clone(o.Settings)
	for _, of := range []string{"user", "password", "tls", "ca"} { // the store
		delete(o.Settings, of)
	}
	d, err := r.Open(o, u)
	return storeless{d}, err
}

// storeless is a driver of servers without a store, which count nothing.
type storeless struct{ Driver }

// Dial says that the server has no store.
func (d storeless) Dial(ctx context.Context, server, lane int) (Conn, Server, error) {
	conn, met, err := d.Driver.Dial(ctx, server, lane)
	met.NoStore = true
	return conn, met, err
}

// Transactor is called if the driver's row says that it has transactions.
func (d storeless) Transactor(conns []Conn) (Transactor, error) {
	return d.Driver.(Transactional).Transactor(conns)
}
