package node

import (
	"cmp"
	"context"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"kvlab/metrics"
	"kvlab/metrics/usage"
)

// Reporter reports a node's work each second and at each change of phase, so that no
// interval lies in two phases. It is safe for concurrent use.
type Reporter struct {
	node    *Node
	sampler *usage.Sampler // guarded by mu
	counts  func() metrics.Counts
	done    func(metrics.Interval, metrics.Usage) error
	ticker  *time.Ticker
	started time.Time

	mu      sync.Mutex
	sampled metrics.ProcessID // guarded by mu
	phase   metrics.Phase     // guarded by mu
	last    metrics.Counts    // at the last interval's end; guarded by mu
	lastEnd time.Time         // guarded by mu
	opened  time.Time         // the window; guarded by mu
	before  metrics.Counts    // at the window's opening; guarded by mu
	window  metrics.Summary   // of its use; guarded by mu

	profiler   Profiler               // guarded by mu
	endProfile func() ([]byte, error) // nil of none; guarded by mu
}

const (
	reportEvery = time.Second
	// shortest is the shortest interval that is reported. A shorter one, between a tick
	// and a change of phase right after it, becomes part of the next.
	shortest = 20 * time.Millisecond
)

// NewReporter returns a reporter in phase idle. counts returns the node's work so far;
// done, which may be nil, is called after each reported interval.
func NewReporter(node *Node, counts func() metrics.Counts, done func(metrics.Interval, metrics.Usage) error) (*Reporter, error) {
	now := node.now()
	sampler, err := usage.NewSampler(now)
	if err != nil {
		return nil, err
	}
	self, err := Find(os.Getpid())
	r := &Reporter{
		sampled: self,
		node:    node, sampler: sampler, counts: counts, done: done,
		ticker: time.NewTicker(reportEvery), started: now, lastEnd: now, phase: metrics.Idle,
		window: metrics.Summary{Saturation: new(metrics.Saturation)}, profiler: profileSelf,
	}
	node.reporter.Store(r)
	return r, err
}

// read reads the node's clocks and its operations so far.
func (r *Reporter) read() *metrics.Reading {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := metrics.Reading{Process: r.sampled, Node: r.node.Now()}
	if r.node.WindowClock != nil {
		now.WindowNs = int64(r.node.WindowClock())
	}
	now.Ops = r.counts().Ops()
	now.TookNs = int64(r.node.Now().Sub(now.Node))
	return &now
}

// SetPeer names a peer by its host:port. The interface that carries the traffic to it is
// the data interface (see usage.Sampler), whose name SetPeer returns.
func (r *Reporter) SetPeer(peer string) (name string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	name, err = usage.InterfaceFor(peer)
	r.sampler.DataInterface = name
	return name, err
}

// SetInterface sets the data interface of a node that knows its name.
func (r *Reporter) SetInterface(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sampler.DataInterface = name
}

// Follow samples another process in place of this one; 0 is none.
func (r *Reporter) Follow(pid int) (err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sampled, err = Find(pid); err != nil {
		return err
	}
	return r.sampler.Follow(pid)
}

// Run reports until ctx ends, main returns, or another of them fails, and returns the
// first error. The tasks run beside main; they end with their context.
func (r *Reporter) Run(ctx context.Context, main func(context.Context) error, tasks ...func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer cancel()
		return main(ctx)
	})
	for _, task := range append(tasks, r.tick) {
		group.Go(func() error { return task(ctx) })
	}
	err := group.Wait()
	if err == nil {
		r.node.profiles.Wait() // of a foreign store, while it still runs
	}
	return err
}

// tick reports until ctx ends. A late tick does not delay later ones.
func (r *Reporter) tick(ctx context.Context) error {
	defer r.ticker.Stop()
	var samples <-chan time.Time // between two reports
	if every := r.node.sampleEvery; every > 0 && every < reportEvery {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		samples = ticker.C
	}
	for {
		report := func() error { return r.cut(shortest) }
		select {
		case <-ctx.Done():
			return nil
		case <-r.ticker.C:
		case <-samples:
			report = func() error {
				usage, err := r.sample()
				if err != nil {
					return err
				}
				return r.report(usage)
			}
		}
		r.mu.Lock()
		err := report()
		r.mu.Unlock()
		if err != nil {
			return err
		}
	}
}

// Cut ends the interval and reports it, however short it is.
func (r *Reporter) Cut() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cut(0)
}

// cut ends the interval and reports it, unless it is shorter than least.
func (r *Reporter) cut(least time.Duration) error {
	report, err := r.end(least)
	if err != nil {
		return err
	}
	return report()
}

// end ends the interval, unless it is shorter than least. The caller makes the report: it may
// wait for its reader, or for a processor.
func (r *Reporter) end(least time.Duration) (report func() error, err error) {
	now := r.node.now()
	if now.Sub(r.lastEnd) < least {
		return func() error { return nil }, nil
	}
	total := r.counts()
	i := metrics.Interval{
		Phase:   r.phase,
		StartS:  r.lastEnd.Sub(r.started).Seconds(),
		LengthS: now.Sub(r.lastEnd).Seconds(),
		Counts:  total.Sub(r.last),
	}
	r.last, r.lastEnd = total, now
	usage, err := r.sample()
	return func() error {
		if err := cmp.Or(r.node.Report(metrics.Record{Interval: &i}), r.report(usage)); err != nil || r.done == nil {
			return err
		}
		return r.done(i, usage)
	}, err
}

// Enter ends the interval and starts a phase with a new second. The window is exactly its
// intervals: it lasts from Enter(Window) to the next Enter, except for less than shortest at
// its end. What came before never counts in it.
func (r *Reporter) Enter(phase metrics.Phase) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	least := shortest
	if phase == metrics.Window {
		least = 0
	}
	report, err := r.end(least)
	if err != nil {
		return err
	}
	r.ticker.Reset(reportEvery)
	was := r.phase
	r.phase = phase
	switch {
	case phase == metrics.Window:
		r.opened, r.before = r.lastEnd, r.last
		err = r.sampler.OpenWindow()
		r.beginProfile()
	case was == metrics.Window:
		r.sendProfile()
		err = r.closeWindow()
	}
	return cmp.Or(err, report())
}

// closeWindow keeps what the node used and did in the window.
func (r *Reporter) closeWindow() error {
	table, saturation, err := r.sampler.CloseWindow()
	saturation.Start = r.node.ToRun(saturation.Start)
	r.window = metrics.Summary{
		WindowStart:   r.node.ToRun(r.opened),
		WindowLengthS: r.lastEnd.Sub(r.opened).Seconds(),
		InWindow:      r.last.Sub(r.before),
		Usage:         table,
		Saturation:    &saturation,
	}
	return err
}

// Window returns what the node used and did in the last completed window.
func (r *Reporter) Window() metrics.Summary {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.window
}

// sample samples the machine, unless sampling is off.
func (r *Reporter) sample() (metrics.Usage, error) {
	if r.node.sampleEvery == 0 {
		return metrics.Usage{}, nil
	}
	return r.sampler.Sample(r.phase)
}

// report reports a sample, unless sampling is off.
func (r *Reporter) report(usage metrics.Usage) error {
	if r.node.sampleEvery == 0 {
		return nil
	}
	return r.node.Report(metrics.Record{Usage: &usage})
}
