package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"kvlab/metrics"
)

// togetherPairs is how many pairs of trials a comparison of the self-test has: 10 trials.
const togetherPairs = 5

// mostRemade is how many pairs a self-test makes again because a busy machine opened
// the windows of one too far apart. What the two came to has no part in it.
const mostRemade = 5

// pairs makes so many pairs of trials, those of a pair at the same time.
func (s *selfTest) pairs(ctx context.Context, what string, n int, variants [2]ownArgs) (made [][2]metrics.Run, err error) {
	var sides [2]configuration
	for i, v := range variants {
		if sides[i], err = s.setup(ctx, v); err != nil {
			return nil, err
		}
		s.bind(&sides[i].plan)
	}
	for len(made) < n {
		// A side that always started first might always have the better memory.
		order := s.random.Perm(2)
		var trials [2]groupedTrial
		for i, side := range order {
			t := groupedTrial{at: sides[side], variant: metrics.SideNames[side]}
			if t.dir, t.run, err = s.begin(fmt.Sprintf("%s, pair %d of %d, %s", what, len(made)+1, n, t.variant)); err != nil {
				return nil, err
			}
			trials[i] = t
		}
		runs, errs := s.runPair(ctx, trials)
		if apart := checkCommonWindow(runs); !apart.Valid && s.remade < mostRemade {
			s.remade++
			fmt.Fprintf(s.Stderr, "%s: the pair is made again: %s\n", what, apart.Reason)
			continue
		}
		for i := range runs {
			if err := ended(what, runs[i], errs[i]); err != nil {
				return nil, err
			}
		}
		made = append(made, [2]metrics.Run{runs[slices.Index(order, 0)], runs[slices.Index(order, 1)]})
	}
	return made, nil
}

// bind gives servers and clients on this machine processors of their own, where there
// are two at least and the user has not done so. Otherwise, from one moment to the
// next, an operation costs more or less as its two ends run on one processor or on
// two, and each side of a pair has its own luck.
func (s *selfTest) bind(plan *Plan) {
	var set unix.CPUSet
	if !plan.Local || s.cfg.ServerCores != "" || s.cfg.ClientCores != "" || unix.SchedGetaffinity(0, &set) != nil {
		return
	}
	var cores []string
	for core := range len(set) * 64 {
		if set.IsSet(core) {
			cores = append(cores, strconv.Itoa(core))
		}
	}
	if half := len(cores) / 2; half > 0 {
		plan.Cores = map[metrics.Role]string{metrics.Server: strings.Join(cores[:half], ","), metrics.Client: strings.Join(cores[half:], ",")}
	}
}

// ratioOf compares what pairs of runs came to. The figure is a property of a run
// above 0.
func ratioOf(pairs [][2]metrics.Run, figure func(metrics.Run) float64) (metrics.Ratio, error) {
	var a, b []float64
	for _, pair := range pairs {
		a, b = append(a, figure(pair[0])), append(b, figure(pair[1]))
	}
	if slices.Min(a) <= 0 || slices.Min(b) <= 0 {
		return metrics.Ratio{}, errors.New("a node did not say what it used")
	}
	r, _ := metrics.RatioOf(a, b, true, metrics.TogetherConfidence)
	return r, nil
}

// opsPerS is a run's throughput.
func opsPerS(run metrics.Run) float64 { return run.OpsPerS }

// serverCost is the processor time of an operation on the servers.
func serverCost(run metrics.Run) float64 { return run.CPUPerOp(metrics.Server) }

// bothCost is that on servers and clients.
func bothCost(run metrics.Run) float64 { return run.CPUPerOp(metrics.Server, metrics.Client) }
