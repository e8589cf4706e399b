// Package server is a server node's process: it serves a store to a run's clients,
// counts the operations applied, and reports each second.
package server

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"kvlab/internal/cli"
	"kvlab/kvs/driver"
	"kvlab/kvs/engine"
	"kvlab/kvs/node"
	"kvlab/kvs/target"
	"kvlab/kvs/txn"
	"kvlab/kvs/wire"
	"kvlab/metrics"
)

// config configures a server. The comments name the flags.
type config struct {
	wire.Options                 // -node, -codec, -socket-buffer; Limits: -max-frame, -max-batch, -request-timeout, -idle-timeout
	Listen         string        // -listen, or -port on loopback: host:port
	Gateways       []string      // host:port of each of the program's gateways, or its form; "" for none
	Server         int           // -server: which server this is, from 0; of Servers
	Servers        int           // -servers: how many there are; 0 if unknown
	Engine         string        // -engine
	Model          string        // -model
	Policy         string        // -policy: of transactions
	Dir            string        // -dir: the parent of the folder of an engine on disk; "" for a temporary one
	Sync           engine.Sync   // -sync: of an engine on disk; "" of one in memory
	Reopen         bool          // -reopen
	MaxConnections int           // -max-connections
	AllowPublic    bool          // -allow-public
	MaxMemory      memoryCap     // -max-memory
	Inject         string        // -inject
	Repeat         bool          // -repeat
	Target         target.Target // -target
	System         target.System // -system; then Target starts its server

	store driver.Row // of Target; the zero Row of kvlab's own store
}

// aliases are the labs' names of flags.
var aliases = map[string]string{
	"numshards": "-engine", "num-shards": "-engine", "alloc": "-engine", "host": "-listen host:port",
	"trace": "-exec-trace", "addr": "-listen host:port", "address": "-listen host:port",
}

// parse parses a command line; its errors are node.UsageErrors.
func parse(args []string, foreign []driver.Row, gateways []Gateway) (config, *node.Flags, error) {
	c := config{Options: wire.Options{Limits: wire.DefaultLimits()}, MaxMemory: "70%"}
	var port string
	flags := node.NewFlags("kvsserver")
	flags.Class(metrics.OwnFlag)
	flags.StringVar(&c.Node, "node", "server", "this server's `name` in reports")
	flags.StringVar(&c.Listen, "listen", "127.0.0.1:8080", "`host:port` to listen on; port 0 takes a free one")
	flags.StringVar(&port, "port", "", "`port` to listen on in place of -listen's")
	flags.IntVar(&c.Server, "server", 0, "which server this is, from `0`, in the order of the clients' -hosts; goes with -servers")
	flags.IntVar(&c.Servers, "servers", 0, "how many servers there are; a client with another number is refused; 0 takes the first client's")
	flags.Class(metrics.StoreFlag)
	flags.Var(&c.Target, "target", target.Usage)
	flags.Var(&c.System, "system", target.SystemUsage)
	flags.StringVar(&c.Engine, "engine", engine.Names[0], "the store: "+engine.Usage())
	flags.StringVar(&c.Model, "model", models[0].Name, "the execution model, which goroutine executes a call: "+cli.Usage(models))
	flags.StringVar(&c.Policy, "policy", txn.PolicyNames[0], "what a transaction of clients with -txn does about a lock that another one holds: "+txn.PolicyUsage())
	c.defineDisk(flags)
	flags.Class(metrics.ShapeFlag)
	flags.StringVar(&c.Codec, "codec", wire.Codecs[0], "encoding of calls: "+strings.Join(wire.Codecs, ", "))
	flags.Var(cli.Bytes(&c.SocketBuffer), "socket-buffer", "`bytes` of every socket's send and receive buffers, up to the kernel's maximum; 0 is the kernel's default")
	flags.Common()
	c.Gateways = make([]string, len(gateways))
	for i, g := range gateways {
		flags.StringVar(&c.Gateways[i], g.Flag, "", g.Usage)
	}
	flags.IntVar(&c.MaxConnections, "max-connections", 4096, "maximum number of `connections`")
	flags.BoolVar(&c.AllowPublic, "allow-public", false, "allow all interfaces, the control interface and public addresses")
	flags.StringVar((*string)(&c.MaxMemory), "max-memory", string(c.MaxMemory), "`memory` at which the server stops with an error: a share of the machine's or the control group's, or a size such as 12GiB")
	flags.Var(cli.Bytes(&c.Limits.Frame), "max-frame", "maximum `bytes` of a request")
	flags.Var(cli.Count(&c.Limits.Batch), "max-batch", "maximum `operations` of a request")
	flags.DurationVar(&c.Limits.Request, "request-timeout", c.Limits.Request, "close a connection if a request and its reply take longer")
	flags.DurationVar(&c.Limits.Idle, "idle-timeout", c.Limits.Idle, "close a connection without a request for this time")
	flags.StringVar(&c.Inject, "inject", "", "slow the server down, for run-cluster.sh --selftest: `fault` is slowdown=5% (more processor time), pause=100ms@10s (a pause in each period) or service=1ms (added to each call); never VALID")
	flags.BoolVar(&c.Repeat, "repeat", false, "answer all calls of one size with the bytes of the first reply, for clients with -repeat: the ceiling of the network; never VALID")
	flags.Main("engine")
	if text := target.Named(args, "system"); text != "" && c.System.Set(text) == nil && c.System.Server != nil {
		if err := c.System.Server.Define(flags.FlagSet); err != nil {
			return c, flags, node.UsageError{Err: fmt.Errorf("-system: server: %w", err)}
		}
	}
	err := flags.Parse(args, aliases, func() error { return c.onPort(port) }, func() error { return c.findSystem() }, func() error { return c.findStore(flags, foreign) }, func() error { return c.findEngine(flags) }, func() error { return c.validate() }, func() error { return c.checkGateways(flags, gateways) })
	return c, flags, err
}

// onPort replaces the port of -listen, unless port is "".
func (c *config) onPort(port string) error {
	if port == "" {
		return nil
	}
	host, _, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return fmt.Errorf("-listen %q: want host:port", c.Listen)
	}
	c.Listen = net.JoinHostPort(host, port)
	_, err = net.LookupPort("tcp", port)
	return cli.Want(err == nil, "-port", strconv.Quote(port), "0 to 65535")
}

// findSystem makes the target of -system.
func (c *config) findSystem() error {
	switch {
	case c.System.Client == nil:
		return nil
	case !c.Target.Own():
		return errors.New("-system has its own servers: leave -target out")
	case c.System.Server == nil:
		return errors.New("-system: want [server] and [client]: a client alone runs by run-cluster.sh --client")
	}
	c.Target = c.System.Target()
	return nil
}

// hostFlags are the flags that a foreign store's host has; the others are kvlab's own
// store's.
var hostFlags = []string{"node", "listen", "port", "server", "servers", "target", "system", "allow-public", "sample-every", "profile"}

// findStore finds the driver of a foreign store, and refuses flags of kvlab's own.
func (c *config) findStore(flags *node.Flags, foreign []driver.Row) (err error) {
	if c.Target.Own() {
		return nil
	}
	if c.store, err = cli.Find("-target: driver", c.Target.Driver, foreign); err != nil {
		return err
	}
	if c.store.Rival {
		flags.Rival = "-target: driver " + c.store.Name
	}
	flags.Visit(func(f *flag.Flag) {
		if storeless := f.Name == "engine" && c.storeless(); !slices.Contains(hostFlags, f.Name) && !storeless && c.Target.Settings[f.Name] == "" && err == nil {
			err = fmt.Errorf("-%s is of kvlab's own store: it does not go with -target %s", f.Name, c.Target.Name)
		}
	})
	if !c.storeless() {
		c.Engine = ""
	} else if c.store.Null == nil {
		return fmt.Errorf("-engine %s: kvlab has no server that speaks as %s does and has no store", engine.NullName, c.store.Name)
	}
	if n := len(c.Target.Servers); n > 0 && err == nil {
		err = cmp.Or(cli.Want(c.Servers == 0 || c.Servers == n, "-servers", c.Servers, "%d, the number of addresses in -target", n),
			cli.Want(c.Server < n, "-server", c.Server, "less than %d, the number of addresses in -target", n))
	}
	return err
}

// storeless reports whether the host is itself the foreign store's server, which keeps nothing.
func (c config) storeless() bool { return !c.Target.Own() && c.Engine == engine.NullName }

// defineDisk defines the flags of engines on disk.
func (c *config) defineDisk(flags *node.Flags) {
	flags.StringVar((*string)(&c.Sync), "sync", "", "`when` an engine on disk writes: "+engine.SyncUsage()+" (default the strongest that the engine has)")
	flags.StringVar(&c.Dir, "dir", "", "`folder` of an engine on disk, in which each server empties or makes a folder of its own name that stays (default a temporary folder, which is removed)")
	flags.BoolVar(&c.Reopen, "reopen", false, "open the store in -dir with the keys that it holds; each server must have one there")
}

// findEngine finds the engine, and completes the flags of one on disk.
func (c *config) findEngine(flags *node.Flags) error {
	if !c.Target.Own() {
		return nil
	}
	row, err := engine.Find(c.Engine)
	switch {
	case err != nil:
		return err
	case row.Rival:
		flags.Rival = "-engine " + row.Name
		return nil
	case c.Policy != txn.PolicyNames[0] && row.CheckTransactions() != nil && !row.NoStore:
		return fmt.Errorf("-policy %s: it is for transactions: %w", c.Policy, row.CheckTransactions())
	case row.NoStore: // it stands for the engine of a run
		return nil
	case row.Syncs == nil:
		flags.Visit(func(f *flag.Flag) {
			if slices.Contains([]string{"sync", "dir", "reopen"}, f.Name) && err == nil {
				err = fmt.Errorf("-%s: -engine %s stores nothing on disk: want one that does, such as pebble", f.Name, row.Name)
			}
		})
		return err
	case c.Sync == "":
		c.Sync = row.Syncs[0]
	}
	return cmp.Or(row.CheckSync(c.Sync),
		cli.Want(c.Dir != "" || !c.Reopen, "-reopen", c.Reopen, "a -dir with the stores"),
		cli.Want(c.Inject == "", "-inject", c.Inject, "an engine in memory, which -engine %s is not", row.Name))
}

// validate returns an error that names the first wrong flag and its right form.
func (c config) validate() error {
	_, policyErr := txn.FindPolicy(c.Policy)
	_, modelErr := findModel(c.Model)
	_, faultErr := engine.ParseFault(c.Inject)
	_, memoryErr := c.MaxMemory.bytes(0)
	if err := cmp.Or(modelErr, policyErr, faultErr, memoryErr,
		wire.CheckCodec(c.Codec, wire.Features{}), wire.CheckSocketBuffer(c.SocketBuffer), c.Limits.Validate(),
		cli.Want(c.Server >= 0 && c.Server < max(c.Servers, 1) && c.Servers >= 0, "-server", fmt.Sprintf("%d -servers %d", c.Server, c.Servers), "-server 0 to -servers minus 1"),
		cli.Want(!c.Repeat || c.Model == models[0].Name, "-repeat -model", c.Model, "-model %s with -repeat", models[0].Name),
		cli.Want(c.MaxConnections >= 1, "-max-connections", c.MaxConnections, "at least 1"),
	); err != nil {
		return err
	}
	return c.checkAddress("-listen", c.Listen)
}

// newModel returns the execution model.
func (c config) newModel() (Model, error) {
	if c.Repeat {
		return repeating{}, nil
	}
	return OpenModel(c.Model)
}

// checkAddress returns an error that names the flag unless the server may listen on its
// address: without -allow-public, on none that the public can reach.
func (c config) checkAddress(flag, address string) error {
	resolved, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return fmt.Errorf("%s %q: want host:port: %w", flag, address, err)
	}
	switch addr := resolved.AddrPort().Addr().Unmap(); {
	case c.AllowPublic:
	case !addr.IsValid() || addr.IsUnspecified():
		return fmt.Errorf("%s %q: every interface, including the control network's: name one address, or give -allow-public", flag, address)
	case !addr.IsLoopback() && !addr.IsPrivate() && !addr.IsLinkLocalUnicast():
		return fmt.Errorf("%s %q: a public address: name the experiment network's, or give -allow-public", flag, address)
	case node.OnControl(addr):
		return fmt.Errorf("%s %q: the control interface's address: name the experiment network's, or give -allow-public", flag, address)
	}
	return nil
}
