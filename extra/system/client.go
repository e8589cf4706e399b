package system

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"kvlab/internal/cli"
	"kvlab/kvs/child"
	"kvlab/kvs/node"
	"kvlab/kvs/target"
	"kvlab/metrics"
	"kvlab/metrics/claim"
	"kvlab/metrics/usage"
)

// config is the command line of a node that starts a team's client. The comments name the flags.
type config struct {
	system         target.System      // -program, -system
	index, clients int                // -client, -clients
	hosts          string             // -hosts
	secs           uint               // -secs
	workload       map[string]*string // of target.WorkloadGiven, those that the program takes
}

// Parse parses the command line of a node that starts a team's client. It is the Host of
// kvsclient.
func Parse(args []string) (*node.Flags, node.Work, error) {
	c := &config{secs: 30, clients: 1, workload: map[string]*string{}}
	flags := node.NewFlags("kvsclient")
	flags.Class(metrics.OwnFlag)
	flags.String("node", "client", "this client's `name` in reports")
	flags.IntVar(&c.index, "client", 0, "which client this is, from `0`")
	flags.IntVar(&c.clients, "clients", c.clients, "how many clients there are")
	flags.StringVar(&c.hosts, "hosts", "localhost:8080", "every server's `host:port`, separated by commas")
	flags.Var(&c.system, "system", target.SystemUsage) // the launcher gives -program
	flags.Class(metrics.StoreFlag)
	flags.Var(&c.system, metrics.ProgramFlag, target.ClientUsage)
	flags.Class(metrics.ShapeFlag)
	flags.UintVar(&c.secs, "secs", c.secs, "`seconds` that the program runs, by its {secs}")
	if err := c.system.Set(target.Named(args, metrics.ProgramFlag, "system")); err != nil {
		return nil, nil, node.UsageError{Err: fmt.Errorf("-%s: %w", metrics.ProgramFlag, err)}
	}
	flags.Class(metrics.WorkFlag)
	for _, name := range target.WorkloadGiven {
		if c.system.Client.Takes(name) {
			c.workload[name] = flags.String(name, defaults[name], "of the program")
		}
	}
	flags.Class(metrics.ShapeFlag)
	if err := c.system.Client.Define(flags.FlagSet); err != nil {
		return nil, nil, node.UsageError{Err: fmt.Errorf("-%s: client: %w", metrics.ProgramFlag, err)}
	}
	flags.Main("secs")
	err := flags.Parse(args, nil, func() error {
		return cli.Want(c.secs > 0, "-secs", c.secs, "1 or more")
	})
	return flags, c.run, c.explain(err)
}

// defaults are those of the course's programs.
var defaults = map[string]string{"theta": "0.99", "workload": "YCSB-B", "records": "1000000", "seed": "1"}

// explain says of a flag that the program cannot take what to do.
func (c *config) explain(err error) error {
	name, unknown := "", errors.Unwrap(err)
	if unknown == nil {
		return err
	}
	if _, after, ok := strings.Cut(err.Error(), "-"); ok && strings.Contains(err.Error(), "unknown flag") {
		name, _, _ = strings.Cut(after, ":")
		name, _, _ = strings.Cut(name, " ")
		return node.UsageError{Err: fmt.Errorf("-%s: the client %s takes no such setting: its file has none in [settings], and its run no {%[1]s}; flags of kvlab's own client do not go with a team's%[3]s",
			name, c.system.Name, cli.DidYouMean(name, "-", slices.Sorted(maps.Keys(c.system.Client.Settings))))}
	}
	return err
}

// host is the running node.
type host struct {
	*config
	node     *node.Node
	reporter *node.Reporter
	child    *child.Child
	begun    time.Time

	commit, sum string // of the program, or the script, that run names

	mu     sync.Mutex
	claims *claim.Reader // guarded by mu
	closed error         // of the window; guarded by mu
}

// tellsWithin is how long the kernel may take to tell of the last connections.
const tellsWithin = 10 * time.Second

// run leads the client through the barriers of package node. The window is the program's life.
func (c *config) run(ctx context.Context, n *node.Node, _ string) (err error) {
	h := &host{config: c, node: n, claims: claim.NewReader(metrics.Client, c.system.Client.Result)}
	if h.reporter, err = node.NewReporter(n, func() metrics.Counts { return metrics.Counts{} }, nil); err != nil {
		return err
	}
	if err := h.reporter.Follow(0); err != nil {
		return err
	}
	if _, err := n.ReportConfig(metrics.Capabilities{Driver: target.Claims}); err != nil {
		return err
	}
	claimed := new(metrics.Claimed)
	err = h.reporter.Run(ctx, func(ctx context.Context) error { return h.trial(ctx, claimed) })
	if h.child != nil {
		err = errors.Join(err, h.child.Stop())
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	summary := h.reporter.Window()
	summary.Claim = claimed
	return n.Report(metrics.Record{Summary: &summary})
}

// trial runs the client through the barriers.
func (h *host) trial(ctx context.Context, claimed *metrics.Claimed) error {
	first, _, _ := strings.Cut(h.hosts, ",")
	if _, err := h.reporter.SetPeer(first); err != nil {
		return err
	}
	for _, barrier := range []struct{ sent, awaits string }{{node.Connected, node.Load}, {node.Loaded, node.Draw}, {node.Drawn, node.Go}} {
		if err := h.node.Send(node.Event{Event: barrier.sent}); err != nil {
			return err
		}
		if _, err := h.node.Await(ctx, barrier.awaits); err != nil {
			return err
		}
	}
	sockets, unwatched := usage.WatchSockets(h.server())
	if unwatched == nil {
		defer sockets.Close()
	} else {
		h.node.Logf("%v", unwatched)
	}
	if err := h.enter(metrics.Window); err != nil {
		return err
	}
	// The servers have heard of the window before the launcher answers.
	if err := h.node.Send(node.Event{Event: node.Warm}); err != nil {
		return err
	}
	if _, err := h.node.Await(ctx, node.Settle); err != nil {
		return err
	}
	if err := h.start(); err != nil {
		return err
	}
	pid, err := h.child.Process()
	if err == nil {
		err = h.reporter.Follow(pid)
	}
	if err != nil { // it may have ended, which says more
		h.node.Logf("the client is not sampled: %v", err)
	}
	if err := h.await(ctx); err != nil {
		return err
	}
	ran := time.Since(h.begun).Seconds()
	if unwatched == nil {
		defer func() { claimed.Carried = sockets.Settled(tellsWithin) }()
	}
	if err := h.drain(ctx); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	*claimed = h.claims.Claimed()
	claimed.Program, claimed.Commit, claimed.SHA256 = h.system.Name, h.commit, h.sum
	claimed.RanS, claimed.CPUS = ran, h.child.CPU().Seconds()
	h.node.Logf("the client %s claims %.2f ops/s", h.system.Name, claimed.OpsPerS)
	return h.closed
}

// server returns whether a connection leads to one of the servers.
func (h *host) server() func(local, remote netip.AddrPort) bool {
	var all []netip.AddrPort
	for address := range strings.SplitSeq(h.hosts, ",") {
		if at, err := net.ResolveTCPAddr("tcp", address); err == nil {
			all = append(all, netip.AddrPortFrom(at.AddrPort().Addr().Unmap(), at.AddrPort().Port()))
		}
	}
	return func(_, remote netip.AddrPort) bool { return slices.Contains(all, remote) }
}

// start starts the program in a fresh folder.
func (h *host) start() error {
	dir, err := os.MkdirTemp("", "kvlab-client-")
	if err != nil {
		return err
	}
	values := map[string]string{
		"hosts": h.hosts, "secs": strconv.FormatUint(uint64(h.secs), 10), "client": strconv.Itoa(h.index), "clients": strconv.Itoa(h.clients), "dir": dir, "bin": h.bin(),
	}
	for name, value := range h.workload {
		values[name] = *value
	}
	words, err := h.system.Client.Words(values)
	if err == nil {
		if path, unknown := exec.LookPath(words[0]); unknown == nil {
			h.commit, h.sum, _ = node.ProgramAt(path) // "" of a program that this user may not read
		}
		h.node.Logf("starts %q", words)
		h.begun = time.Now()
		h.child, err = child.Start(child.Program{
			What: "client", Name: h.system.Name, Path: h.bin(), Dir: dir, Words: words, Output: h.node.Output, Line: h.readLine, Last: h.close,
		})
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	return nil
}

// bin returns the path of the built program: beside the node's own, unless it is whole.
func (h *host) bin() string {
	bin := h.system.Client.Bin
	if own, err := os.Executable(); err == nil && bin != "" && !filepath.IsAbs(bin) {
		bin = filepath.Join(filepath.Dir(own), bin)
	}
	return bin
}

// readLine reads a line of the program's output.
func (h *host) readLine(line string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.claims.Add(line, time.Since(h.begun))
}

// close ends the window with the program's life.
func (h *host) close() {
	err := h.reporter.Enter(metrics.Drain)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = err
}

// await waits for the program's end.
func (h *host) await(ctx context.Context) error {
	limit := time.Duration(h.secs)*time.Second + target.EndsWithin
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-late.C:
		return fmt.Errorf("the client %s still runs after %v, and its {secs} is %d%s", h.system.Name, limit, h.secs, h.child.Said())
	case <-h.child.Ended:
	}
	if h.child.Err() != nil {
		return h.child.Fault()
	}
	return nil
}

// drain says that the window is over, and waits until the other clients have come so far.
func (h *host) drain(ctx context.Context) error {
	if err := h.node.Send(node.Event{Event: node.Phase, Phase: metrics.Drain}); err != nil {
		return err
	}
	if err := h.node.Send(node.Event{Event: node.Drained}); err != nil {
		return err
	}
	if _, err := h.node.Await(ctx, node.Audit); err != nil {
		return err
	}
	return h.enter(metrics.Done)
}

// enter records a phase and reports it to the launcher.
func (h *host) enter(phase metrics.Phase) error {
	if err := h.reporter.Enter(phase); err != nil {
		return err
	}
	return h.node.Send(node.Event{Event: node.Phase, Phase: phase})
}
