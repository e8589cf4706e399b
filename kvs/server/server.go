package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/kvs/engine"
	"kvlab/kvs/node"
	"kvlab/kvs/service"
	"kvlab/kvs/txn"
	"kvlab/kvs/wire"
	"kvlab/metrics"
)

// Program returns kvsserver, which hosts the stores of some drivers, and serves its own store
// through some gateways.
func Program(foreign []driver.Row, gateways ...Gateway) node.Program {
	return node.Program{
		Name: "kvsserver", Role: metrics.Server, Protocols: wire.Versions,
		Parse: func(args []string) (*node.Flags, node.Work, error) {
			c, flags, err := parse(args, foreign, gateways)
			if !c.Target.Own() {
				return flags, c.host, err
			}
			return flags, func(ctx context.Context, n *node.Node, token string) error { return c.run(ctx, n, token, gateways) }, err
		},
		Find: func(ctx context.Context, in io.Reader, out io.Writer) error { return find(ctx, foreign, in, out) },
	}
}

// server is the running process.
type server struct {
	config   config
	node     *node.Node
	service  *service.Service
	model    Model
	reporter *node.Reporter
	injected *engine.Injected // nil without -inject
	memory   uint64           // limit in bytes
	failed   chan error       // why the engine can store nothing more
	abandon  chan struct{}    // closed when failed is known

	thirdParty  bool // a gateway's clients are not the run's
	summarizers []func(*metrics.Summary)
	peer        sync.Once     // the first connection
	met         chan struct{} // closed after it

	inWindow       bool
	before, window *service.Sample // of the operations before and in the window; nil until complete

	marks            marks
	opening, closing *metrics.Marks // up to the window's ends; nil until then
}

func (config config) run(ctx context.Context, n *node.Node, token string, gateways []Gateway) (err error) {
	config.Token = token
	if config.TLS, err = n.TLS(); err != nil {
		return err
	}
	row, _ := engine.Find(config.Engine) // parse has refused errors, as those of -policy and -inject below
	config.Null, config.CheckKinds, config.Unversioned = row.NoStore, row.CheckKinds, row.CheckVersions()
	config.Untransactional = row.CheckTransactions()
	s := &server{config: config, node: n, failed: make(chan error, 1), abandon: make(chan struct{}), met: make(chan struct{})}
	store, instance, closeStore, err := s.openStore(row)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeStore()) }()
	if fault, _ := engine.ParseFault(config.Inject); fault != (engine.Fault{}) {
		s.injected = engine.Inject(store, fault)
		store = s.injected
	}
	s.service = service.New(store)
	s.service.Policy, _ = txn.FindPolicy(config.Policy)
	if instance != "" {
		s.service.Continue(instance)
	}
	s.service.Place(service.Placement{Server: config.Server, Servers: config.Servers})
	if s.reporter, err = node.NewReporter(n, s.counts, s.log(logTo(n))); err != nil {
		return err
	}
	if s.model, err = config.newModel(); err != nil {
		return err
	}
	l, err := s.listen(config.Listen)
	if err != nil {
		return err
	}
	listeners := []*listener{l}
	for i, address := range config.Gateways {
		if address == "" {
			continue
		}
		other, err := s.openGateway(gateways[i], address, row, l)
		if err != nil {
			return err
		}
		if other != nil {
			listeners = append(listeners, other)
		}
	}
	host, err := n.ReportConfig(config.capabilities(row))
	if err != nil {
		return err
	}
	engine.TuneCollector(host.MemoryTotalBytes)
	if s.memory, err = config.MaxMemory.limit(host.MemoryTotalBytes); err != nil {
		return err
	}
	n.Logf("Starting KVS server on %s", l.Addr())
	if err := n.Send(node.Event{Event: node.Ready, Addr: l.Addr().String()}); err != nil {
		return err
	}
	return s.serve(ctx, listeners)
}

// openStore opens the engine and, if it is on disk, its folder. instance identifies the store
// in the folder; it is "" for an engine in memory.
func (s *server) openStore(row engine.Row) (store kvs.Engine, instance string, closeStore func() error, err error) {
	options := engine.Options{Sync: s.config.Sync, Fail: s.fail}
	closeStore = func() error { return nil }
	if row.Syncs != nil {
		f, err := openFolder(s.config)
		if err != nil {
			return nil, "", nil, err
		}
		options.Dir, instance, closeStore = f.data(), f.Instance, f.close
	}
	if store, err = row.Open(options); err != nil {
		return nil, "", nil, errors.Join(fmt.Errorf("-engine %s: %w", row.Name, err), closeStore())
	}
	if closer, ok := store.(io.Closer); ok {
		closeFolder := closeStore
		closeStore = func() error { return errors.Join(closer.Close(), closeFolder()) }
	}
	return store, instance, closeStore, nil
}

// fail ends the server because its engine can store nothing more. The first reason counts.
func (s *server) fail(why error) {
	select {
	case s.failed <- why:
	default:
	}
}

// watchStore waits for the engine's failure.
func (s *server) watchStore(ctx context.Context) error {
	select {
	case err := <-s.failed:
		close(s.abandon)
		s.node.Logf("the store failed: %v", err)
		return fmt.Errorf("-engine %s: %w", s.config.Engine, err)
	case <-ctx.Done():
		return nil
	}
}

// capabilities returns what a server reports of its engine.
func (c config) capabilities(row engine.Row) metrics.Capabilities {
	can := metrics.Capabilities{Engine: row.Name + ": " + row.Description, Store: !row.NoStore}
	if row.Syncs != nil {
		can.Durability = c.Sync.String()
	}
	return can
}

// listen returns a listener on an address for kvlab's own clients.
func (s *server) listen(address string) (*listener, error) {
	socket, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err // it names the address
	}
	return &listener{
		Listener:  s.model.Listener(socket),
		model:     s.model,
		config:    s.config,
		service:   s.service,
		logf:      s.node.Logf,
		first:     s.firstPeer,
		abandoned: s.abandon,
		conns:     map[net.Conn]bool{},
	}, nil
}

// serve runs until a stop command, or without a launcher until an interrupt, and reports.
func (s *server) serve(ctx context.Context, listeners []*listener) error {
	tasks := []func(context.Context) error{
		s.mark, s.watchStore, func(ctx context.Context) error { return s.config.MaxMemory.watch(ctx, s.memory) },
	}
	for _, l := range listeners {
		tasks = append(tasks, l.run, func(ctx context.Context) error {
			<-ctx.Done()
			return l.stop()
		})
	}
	lead := func(ctx context.Context) error {
		err := obey(ctx, s.node, func(phase metrics.Phase) error { return s.await(ctx, phase) })
		s.service.Records() // an engine on disk counts them, and remembers the number; the reports go on meanwhile
		return err
	}
	if err := s.reporter.Run(ctx, lead, tasks...); err != nil {
		return err
	}
	if line := s.model.Stop(); line != "" {
		s.node.Logf("%s", line)
	}
	if s.node.Controlled() && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return s.summarize()
}

// obey executes the launcher's commands until stop.
func obey(ctx context.Context, n *node.Node, enter func(metrics.Phase) error) error {
	for {
		c, err := n.Next(ctx)
		switch {
		case err != nil && !n.Controlled():
			return nil // interrupted, without a launcher: the normal end
		case err != nil:
			return err
		case c.Do == node.Stop:
			return nil
		case c.Do == node.Phase:
			err := enter(c.Phase)
			if err == nil && c.Phase == metrics.Drain {
				err = n.Send(node.Event{Event: node.Drained})
			}
			if err != nil {
				return fmt.Errorf("enter %s: %w", c.Phase, err)
			}
		default:
			return fmt.Errorf("unknown command %q from the launcher", c.Do)
		}
	}
}

// await enters a phase. A server that was started again in the window waits for its first
// client before it enters the window.
func (s *server) await(ctx context.Context, phase metrics.Phase) error {
	if phase == metrics.Window && s.config.Reopen {
		select {
		case <-s.met:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return s.enter(phase)
}

// firstPeer takes the data interface from the first connection. Without a launcher, it
// also starts the window.
func (s *server) firstPeer(remote net.Addr) {
	s.peer.Do(func() {
		defer close(s.met)
		_, err := s.reporter.SetPeer(remote.String())
		if err == nil && !s.node.Controlled() {
			err = s.reporter.Enter(metrics.Window)
		}
		if err != nil {
			s.node.Logf("data interface: %v", err)
		}
	})
}

// counts returns the counts of all peers so far.
func (s *server) counts() metrics.Counts {
	var sum metrics.Counts
	for _, c := range s.service.Counts() {
		sum = sum.Add(c)
	}
	return sum
}
