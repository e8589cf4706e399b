package cluster

import (
	"context"
	"fmt"
	"time"

	"kvlab/metrics"
)

// What is compared in pairs. Its work is in a core's own caches and makes no garbage, so
// that its cost varies little from one process to the next.
const (
	comparedServer = "-engine slab"
	comparedClient = "-secs 1.5 -warmup 0.5 -records 2000 -workers 2 -batch 256"
)

// alike compares one configuration with itself.
func (s *selfTest) alike(ctx context.Context) error {
	const comparisons, most = 20, 1
	figures := []struct {
		name  string
		of    func(metrics.Run) float64
		apart int
	}{{"the servers' processor time per operation", serverCost, 0}, {"ops/s", opsPerS, 0}}
	plain := ownArgs{comparedServer, comparedClient}
	for made := range comparisons {
		pairs, err := s.pairs(ctx, fmt.Sprintf("alike, comparison %d of %d", made+1, comparisons), togetherPairs, [2]ownArgs{plain, plain})
		if err != nil {
			return err
		}
		for i := range figures {
			r, err := ratioOf(pairs, figures[i].of)
			if err != nil {
				return err
			}
			if r.Low > 1 || r.High < 1 {
				figures[i].apart++
			}
		}
	}
	for _, figure := range figures {
		s.add(tested{
			What:     fmt.Sprintf("one configuration against itself: comparisons of %d pairs, %s", togetherPairs, figure.name),
			Asked:    fmt.Sprintf("at most %d of %d told apart", most, comparisons),
			Measured: fmt.Sprintf("%d of %d", figure.apart, comparisons),
			Passed:   figure.apart <= most,
		})
	}
	return nil
}

// slowdown looks for servers that cost 5 % more processor time. That decides, as
// clients share a machine's processors with them, and others may too: then
// operations per second change by less than 5 %, and vary by more.
func (s *selfTest) slowdown(ctx context.Context) error {
	pairs, err := s.pairs(ctx, "slowdown", togetherPairs, [2]ownArgs{{comparedServer, comparedClient}, {comparedServer + " -inject slowdown=5%", comparedClient}})
	if err != nil {
		return err
	}
	cost, err := ratioOf(pairs, serverCost)
	if err != nil {
		return err
	}
	s.add(tested{
		What:     fmt.Sprintf("servers that burn 5 %% more: %d pairs, %d trials, the servers' processor time per operation", togetherPairs, 2*togetherPairs),
		Asked:    fmt.Sprintf("the %g %% interval lies above 1", 100*metrics.TogetherConfidence),
		Measured: fmt.Sprintf("%.3f, %.3f to %.3f; could see %s", cost.Value, cost.Low, cost.High, cost.SmallestPercent()),
		Passed:   cost.Low > 1,
	})
	return nil
}

// pause looks at what 100 ms without an answer, once in 4 s, do to latency: an open
// loop sees them, 1 in 40 operations, and the median of a closed loop does not.
func (s *selfTest) pause(ctx context.Context) error {
	const pause = 100 * time.Millisecond
	const inject = "-inject pause=100ms@4s"
	open, err := s.trial(ctx, "pause, open loop", ownArgs{inject, "-secs 4 -rate 2000"})
	if err != nil {
		return err
	}
	closed, err := s.trial(ctx, "pause, closed loop", ownArgs{inject, "-secs 4"})
	if err != nil {
		return err
	}
	seen, calls := open.Latency[metrics.OpLatency], closed.Latency[metrics.CallLatency]
	s.add(atLeast("servers pause for 100 ms once in 4 s: maximum of operations, open loop", &seen.Max, pause*9/10, ""))
	most := pause / 2
	if s.cfg.SelfTest != quickSelfTest { // a machine that stands still at a window's end has no p99.9
		s.add(atLeast("the same: p99.9", seen.P999, pause/2, seen.Refused))
		most = pause / 10
	}
	s.add(within("the same: p50 of calls, closed loop", calls.P50, 0, most))
	return nil
}

// service measures servers that take 1 ms and 2 ms longer for each call: in the
// server's own part of the call, and in the call itself, by what 1 ms more makes of it.
// Against servers that take no longer a call has more than that: processors that
// have had time to fall asleep are woken.
func (s *selfTest) service(ctx context.Context) error {
	const service = time.Millisecond
	const work = "-secs 2 -workers 1 -batch 8"
	one, err := s.trial(ctx, "service time, 1 ms", ownArgs{"-inject service=1ms", work})
	if err != nil {
		return err
	}
	two, err := s.trial(ctx, "service time, 2 ms", ownArgs{"-inject service=2ms", work})
	if err != nil {
		return err
	}
	low, high := service*95/100, service*105/100
	server, call, longer := one.Latency[metrics.ServerLatency].P50, one.Latency[metrics.CallLatency].P50, two.Latency[metrics.CallLatency].P50
	if s.cfg.SelfTest == quickSelfTest {
		s.add(atLeast("servers take 1 ms longer for each call: server's part, p50", server, low, ""))
		s.add(atLeast("the same: call, p50", call, low, ""))
		return nil
	}
	s.add(within("servers take 1 ms longer for each call: server's part, p50", server, low, high))
	var more *float64
	if call != nil && longer != nil {
		more = new(*longer - *call)
	}
	s.add(within("servers take 1 ms longer than 1 ms: call, p50, less that of 1 ms", more, low, high))
	return nil
}

// samples measures what it costs to sample the machine. One sample a second is too
// little to be seen beside a run's own variation, so that 50 a second are compared
// with none, and a fiftieth of the difference is what one costs.
func (s *selfTest) samples(ctx context.Context) error {
	const pairs, times, most = 10, 50, 0.01
	sampled := func(every string) ownArgs {
		return ownArgs{comparedServer + " -sample-every " + every, comparedClient + " -sample-every " + every}
	}
	made, err := s.pairs(ctx, "samples", pairs, [2]ownArgs{sampled("0"), sampled("20ms")})
	if err != nil {
		return err
	}
	r, err := ratioOf(made, bothCost)
	if err != nil {
		return err
	}
	cost := func(ratio float64) float64 { return (ratio - 1) / times }
	s.add(tested{
		What:     fmt.Sprintf("a sample a second against none, as a %dth of %d a second: %d pairs, processor time per operation", times, times, pairs),
		Asked:    fmt.Sprintf("the %g %% interval lies below %g %%", 100*metrics.TogetherConfidence, 100*most),
		Measured: fmt.Sprintf("%.3f %%, %.3f to %.3f %%", 100*cost(r.Value), 100*cost(r.Low), 100*cost(r.High)),
		Passed:   cost(r.High) < most,
	})
	return nil
}
