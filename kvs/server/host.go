package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"kvlab/internal/cgroup"
	"kvlab/kvs/child"
	"kvlab/kvs/driver"
	"kvlab/kvs/node"
	"kvlab/kvs/target"
	"kvlab/metrics"
	"kvlab/metrics/usage"
)

// host stands for one server of a foreign store: it starts and ends its program, unless
// it runs already, and reports what the store counts itself.
type host struct {
	config    config
	node      *node.Node
	reporter  *node.Reporter
	child     *child.Child // nil of a store that runs already
	address   string       // of the store
	pid       int          // of the store's process; 0 unknown
	profileAt string       // where the store gives its profile; "" for nowhere
	commit    string       // of the store's program, where Go built it in a checkout
	binary    string       // SHA-256 of the store's program
	driver    driver.Driver
	unseen    string         // why the store's process is not sampled; "" if it is
	remote    bool           // that process is on another machine
	index     int            // the driver's number of the server
	counter   driver.Counter // nil of a store that does not count

	mu      sync.Mutex
	witness metrics.StoreWitness // guarded by mu
	silent  error                // of the last reading, which failed; guarded by mu
	claims  claims               // guarded by mu
}

const (
	readyWithin   = 30 * time.Second // for a store's program to answer
	waitsEvery    = 2 * time.Second  // a launcher hears that the host waits
	askWithin     = 2 * time.Second  // for one answer
	betweenTrials = 20 * time.Millisecond
)

// host returns the Work of a foreign store's host.
func (config config) host(ctx context.Context, n *node.Node, token string) (err error) {
	config.Target.Config = config.Target.ConfigWith(token)
	h := &host{config: config, node: n}
	if config.storeless() {
		stop, err := h.startStoreless(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = stop() }() // the clients have gone
	} else if err := h.start(); err != nil {
		return err
	}
	if h.child != nil {
		n.Stacks(h.child.Stacks)
		defer func() { err = errors.Join(err, h.child.Stop()) }()
		defer func() { err = errors.Join(err, h.tellPeak()) }()
	}
	if err := h.open(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.driver.Close()) }()
	if err := h.awaitStore(ctx); err != nil {
		return err
	}
	if h.reporter, err = node.NewReporter(n, h.counts, logTo(n)); err != nil {
		return err
	}
	if err := h.observe(); err != nil {
		return err
	}
	if _, err := n.ReportConfig(h.capabilities()); err != nil {
		return err
	}
	n.Logf("%s answers on %s", config.Target.Name, h.address)
	if err := n.Send(node.Event{Event: node.Ready, Addr: h.address}); err != nil {
		return err
	}
	return h.serve(ctx)
}

// tellPeak tells the launcher how much memory a contained store has had.
func (h *host) tellPeak() error {
	if !h.child.Contained {
		return nil
	}
	pid, ended := h.child.Process() // which is told elsewhere
	if peak := cgroup.PeakMemoryOf(pid); ended == nil && peak > 0 {
		return h.node.Send(node.Event{Event: node.Contained, PeakBytes: peak})
	}
	return nil
}

// start starts the store's program, if the target has one.
func (h *host) start() error {
	t := h.config.Target
	if len(t.Servers) > 0 {
		h.address = t.Servers[h.config.Server]
		at := target.Places{}
		at.Host, at.Port, _ = net.SplitHostPort(h.address) // of a path, none
		h.profileAt = t.ProfileAt(at)
		return nil
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	var p target.Places
	if p, err = places(h.config.Listen); err != nil {
		return err
	}
	h.address, h.profileAt = net.JoinHostPort(p.Host, p.Port), t.ProfileAt(p)
	if p.Dir, err = os.MkdirTemp("", "kvlab-store-"); err != nil {
		return err
	}
	p.Config = filepath.Join(p.Dir, "kvlab.conf")
	t = t.Find(filepath.Dir(program))
	h.readClaims()
	words, err := t.Command(p)
	if err == nil {
		err = os.WriteFile(p.Config, []byte(t.Config), 0o600)
	}
	if err == nil {
		h.child, err = child.Start(child.Program{What: "store", Name: t.Name, Path: t.Bin, Dir: p.Dir, Words: h.node.Contained(words), Output: h.node.Output, Line: h.readLine})
	}
	if len(h.node.Contained(nil)) > 0 && err == nil {
		h.child.Contained = true
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(p.Dir))
	}
	return nil
}

// The ports of stores on this machine are below those that the kernel gives to connections
// (ip_local_port_range in ip(7)), which could take one before the store listens.
const (
	leastPort = 10000
	mostPort  = 32767
)

// places returns where a store's program listens. Port 0 is any free one. The other ports
// are free, too, or 10000 and 20000 above the first.
func places(listen string) (p target.Places, err error) {
	if p.Host, p.Port, err = net.SplitHostPort(listen); err != nil {
		return p, err
	}
	if number, err := strconv.Atoi(p.Port); err != nil || number != 0 {
		p.Second, p.Pprof = strconv.Itoa(number+10000), strconv.Itoa(number+20000)
		return p, err
	}
	var free []string
	for try := 0; len(free) < 3; try++ {
		port := strconv.Itoa(leastPort + rand.IntN(mostPort-leastPort))
		socket, err := net.Listen("tcp", net.JoinHostPort(p.Host, port))
		if err != nil && try < 100 {
			continue
		} else if err != nil {
			return p, err
		}
		defer socket.Close() // when both are found
		free = append(free, port)
	}
	p.Port, p.Second, p.Pprof = free[0], free[1], free[2]
	return p, nil
}

// open opens the driver.
func (h *host) open() (err error) {
	o := driver.DefaultOptions()
	o.Transport, o.Settings, o.Node = h.config.store.Name, h.node.Reveal(h.config.Target.Settings), h.config.Node
	o.Foreign, o.CallTimeout = []driver.Row{h.config.store}, askWithin
	o.Null = h.config.storeless()
	if o.Hosts, h.index = h.config.Target.Servers, h.config.Server; h.child != nil || o.Null {
		o.Hosts, h.index = []string{h.address}, 0
	}
	if h.driver, err = driver.Open(o, driver.Use{}); err == nil {
		if h.counter, _ = h.driver.(driver.Counter); o.Null || o.Settings[driver.CountsSetting] == driver.NoCounts {
			h.counter = nil
		}
	}
	return err
}

// awaitStore waits until the store answers, and takes the first counts.
func (h *host) awaitStore(ctx context.Context) error {
	deadline := time.NewTimer(readyWithin)
	defer deadline.Stop()
	if h.child == nil {
		deadline.Reset(askWithin)
	}
	var ended chan struct{}
	if h.child != nil {
		ended = h.child.Ended
	}
	tell := time.NewTicker(waitsEvery)
	defer tell.Stop()
	for {
		counts, err := h.ask(ctx)
		if err == nil {
			h.witness.Before, h.witness.After = counts, counts
			return nil
		}
		if misfit := (*driver.MisfitError)(nil); errors.As(err, &misfit) {
			return fmt.Errorf("%s: %w", h.config.Target.Name, err)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ended:
			return h.child.Fault()
		case <-deadline.C:
			if h.child == nil {
				return fmt.Errorf("%s on %s: %w", h.config.Target.Name, h.address, err)
			}
			return fmt.Errorf("the store %s still runs, and does not answer on %s in %v: %w%s", h.config.Target.Name, h.address, readyWithin, err, h.child.Said())
		case <-tell.C:
			h.node.Logf("%s does not answer on %s yet: %v", h.config.Target.Name, h.address, err)
		case <-time.After(betweenTrials):
		}
	}
}

// ask reads the store's counts, or only connects to one that does not count.
func (h *host) ask(ctx context.Context) (counts metrics.StoreCounts, err error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	if h.counter != nil {
		return h.counter.Counts(ctx, h.index)
	}
	conn, _, err := h.driver.Dial(ctx, h.index, 0)
	if err == nil {
		err = conn.Close()
	}
	return counts, err
}

// observe makes the reporter sample the store's process, and the interface that holds its
// address or leads to it.
func (h *host) observe() error {
	pid, err := 0, error(nil)
	if h.child != nil {
		pid, err = h.child.Process()
	} else {
		pid, h.unseen, h.remote, err = node.StoreProcess(h.address)
	}
	if h.unseen != "" {
		h.node.Logf("the process of %s is not sampled: %s", h.config.Target.Name, h.unseen)
	}
	if err == nil && pid != 0 {
		h.commit, h.binary, _ = node.ProgramOf(pid) // "" of a program that this user may not read
	}
	if err = cmp.Or(err, h.reporter.Follow(pid)); err != nil {
		return cmp.Or(h.ended(), err)
	}
	h.pid = pid
	h.reporter.Profile(h.profile)
	if driver.Network(h.address) == "unix" { // no interface carries its bytes, but a window has one
		h.reporter.SetInterface("lo")
		return nil
	}
	resolved, err := net.ResolveTCPAddr("tcp", h.address)
	if err != nil {
		return err
	}
	holders, err := usage.Holders(resolved.AddrPort().Addr().Unmap())
	if err == nil && len(holders) == 1 {
		h.reporter.SetInterface(holders[0])
		return nil
	}
	_, err = h.reporter.SetPeer(h.address)
	return err
}

// ended returns how the store's program ended; nil if it runs.
func (h *host) ended() error {
	if h.child != nil {
		select {
		case <-h.child.Ended:
			return h.child.Fault()
		default:
		}
	}
	return nil
}

// capabilities say what the store is, and what it can witness.
func (h *host) capabilities() metrics.Capabilities {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := metrics.Capabilities{
		Engine: h.config.Target.Name, Store: !h.config.storeless(), Driver: h.config.store.Name, Counts: metrics.CountsNone,
		Version: h.witness.Before.Version, Commit: h.commit, Binary: h.binary, Settings: h.witness.Before.Settings, Unseen: h.unseen, Elsewhere: h.remote,
	}
	if !c.Store {
		c.Protocol = h.config.store.Protocol
	}
	if h.counter != nil {
		c.Counts = metrics.CountsExact
	}
	return c
}

// counts asks the store for its counts, and returns what it has executed since it was
// ready.
func (h *host) counts() metrics.Counts {
	if h.counter == nil {
		return metrics.Counts{}
	}
	now, err := h.ask(context.Background())
	h.mu.Lock()
	defer h.mu.Unlock()
	w := &h.witness
	if h.silent = err; err == nil && w.Fault == "" {
		if w.Fault = now.Since(w.After); w.Fault == "" {
			w.After = now
		}
	}
	return w.Executed() // by the last good reading
}

// serve runs until a stop command, or without a launcher until an interrupt, and reports.
func (h *host) serve(ctx context.Context) error {
	if !h.node.Controlled() {
		if err := h.reporter.Enter(metrics.Window); err != nil {
			return err
		}
	}
	watch := func(ctx context.Context) error {
		if h.child == nil {
			return nil
		}
		if err := h.child.Watch(ctx); err != nil {
			return node.PeerError{Node: h.config.Node, Err: err, Lost: true}
		}
		return nil
	}
	if err := h.reporter.Run(ctx, func(ctx context.Context) error { return obey(ctx, h.node, h.enter) }, watch); err != nil {
		return err
	}
	if h.node.Controlled() && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return h.summarize()
}

// enter begins a phase. When the load begins, all clients are connected. What has been done to
// the store until then is their work, such as making a cluster of its servers, and no third-party
// client's.
func (h *host) enter(phase metrics.Phase) error {
	if phase == metrics.Load && h.counter != nil {
		h.counts()
		h.mu.Lock()
		err := h.silent
		before, after := &h.witness.Before, &h.witness.After
		before.Fixed, before.Others, before.Beside = after.Fixed, after.Others, after.Beside
		h.mu.Unlock()
		if err != nil {
			return fmt.Errorf("the store does not tell its counts: %w", err)
		}
	}
	return h.reporter.Enter(phase)
}

// summarize reports the totals, after the last client has ended.
func (h *host) summarize() error {
	if err := end(h.node, h.reporter, h.enter); err != nil {
		return err
	}
	summary := h.reporter.Window()
	summary.Total, summary.Claim = h.counts(), h.claimed()
	if h.counter != nil {
		h.mu.Lock()
		witness := h.witness
		if h.silent != nil && witness.Fault == "" {
			witness.Fault = fmt.Sprintf("the store does not tell its counts: %v", h.silent)
		}
		h.mu.Unlock()
		summary.Store = &witness
		h.node.Logf("%s executed %d operations by its own counters: %s", h.config.Target.Name, summary.Total.Ops(), summary.Total.KindText())
	}
	return h.node.Report(metrics.Record{Summary: &summary})
}
