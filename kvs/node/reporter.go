package node

import (
	"context"
	"sync"
	"time"

	"kvlab/metrics"
	"kvlab/metrics/usage"
)

// Reporter reports what a node does, each second and at each change of phase,
// so that an interval never lies in two phases. It is safe for concurrent use.
type Reporter struct {
	node    *Node
	sampler *usage.Sampler
	counts  func() metrics.Counts
	done    func(metrics.Interval, metrics.Usage) error
	ticker  *time.Ticker
	started time.Time

	sampling time.Duration // 0: none

	mu      sync.Mutex
	phase   metrics.Phase  // guarded by mu
	last    metrics.Counts // at the last interval's end; guarded by mu
	lastEnd time.Time      // guarded by mu
	opened  time.Time      // the window; guarded by mu
	before  metrics.Counts // at the window's opening; guarded by mu
	window  WindowUse      // guarded by mu
}

// WindowUse is what a node used and did while the window was open.
type WindowUse struct {
	Start   time.Time // a Date
	LengthS float64
	Counts  metrics.Counts
	usage.WindowUsage
}

const (
	reportEvery = time.Second
	// shortest is the shortest interval worth a record. What is left over
	// between a tick and a change of phase right after it goes to the next.
	shortest = 20 * time.Millisecond
)

// NewReporter returns a reporter in phase idle. counts is what the node has
// done so far; done, which may be nil, is called after each interval has been
// reported.
func NewReporter(node *Node, counts func() metrics.Counts, done func(metrics.Interval, metrics.Usage) error) (*Reporter, error) {
	now := node.now()
	sampler, err := usage.NewSampler(now)
	if err != nil {
		return nil, err
	}
	return &Reporter{
		node: node, sampler: sampler, counts: counts, done: done,
		ticker: time.NewTicker(reportEvery), sampling: Sampled.Every, started: now, lastEnd: now, phase: metrics.Idle,
	}, nil
}

// SetDataInterface names the interface that carries the data; see
// metrics.Sampler.
func (r *Reporter) SetDataInterface(name string) error { return r.sampler.SetDataInterface(name) }

// Run reports until ctx ends; its error is the first of a report. A late tick
// does not delay the ones after it.
func (r *Reporter) Run(ctx context.Context) error {
	defer r.ticker.Stop()
	oftener, stop := r.oftener()
	defer stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-r.ticker.C:
			err = r.tick()
		case <-oftener:
			err = r.sampleNow()
		}
		if err != nil {
			return err
		}
	}
}

func (r *Reporter) tick() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cut(shortest)
}

// Cut ends the interval and reports it, however short it is.
func (r *Reporter) Cut() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cut(0)
}

// cut ends the interval and reports it, unless it is shorter than least.
func (r *Reporter) cut(least time.Duration) error {
	now := r.node.now()
	if now.Sub(r.lastEnd) < least {
		return nil
	}
	total := r.counts()
	i := metrics.Interval{
		Phase:   r.phase,
		StartS:  r.lastEnd.Sub(r.started).Seconds(),
		LengthS: now.Sub(r.lastEnd).Seconds(),
		Counts:  total.Sub(r.last),
	}
	r.last, r.lastEnd = total, now
	if err := r.node.Report(metrics.Record{Interval: &i}); err != nil {
		return err
	}
	usage, err := r.sample()
	if err != nil || r.done == nil {
		return err
	}
	return r.done(i, usage)
}

// Enter ends the interval, begins a phase, and with it a new second. The
// window's use lies between Enter(Window) and the next Enter.
func (r *Reporter) Enter(phase metrics.Phase) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.cut(shortest); err != nil {
		return err
	}
	r.ticker.Reset(reportEvery)
	was := r.phase
	r.phase = phase
	switch {
	case phase == metrics.Window:
		r.opened, r.before = r.node.now(), r.counts()
		return r.sampler.OpenWindow()
	case was == metrics.Window:
		used, err := r.sampler.CloseWindow()
		r.window = WindowUse{
			Start:       r.node.Date(r.opened),
			LengthS:     r.node.now().Sub(r.opened).Seconds(),
			Counts:      r.counts().Sub(r.before),
			WindowUsage: used,
		}
		return err
	}
	return nil
}

// Window is what was used and done in the window that was closed last.
func (r *Reporter) Window() WindowUse {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.window
}
