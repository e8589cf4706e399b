package cluster

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"slices"

	"kvlab/kvs/experiment"
	"kvlab/kvs/node"
	"kvlab/metrics"
	"kvlab/plots/compare"
)

// kinds are the launcher's own kinds of experiments. The first that a command line asks for
// is taken: the last has the flags of several trials, which the others share.
var kinds = []Kind{
	{New: func(_ *flag.FlagSet, cfg *Config) Planner { return selfTest{cfg: cfg} }},
	{New: func(_ *flag.FlagSet, cfg *Config) Planner { return curves{cfg: cfg} }},
	{New: func(_ *flag.FlagSet, cfg *Config) Planner { return pairs{cfg: cfg} }},
	{New: func(_ *flag.FlagSet, cfg *Config) Planner { return sweeps{cfg: cfg} }},
}

// unchanged are the parts of a Planner whose command line and plan are complete.
type unchanged struct{}

func (unchanged) Settle(*Config) error { return nil }

func (unchanged) Continue(begun, _ metrics.Sweep) (metrics.Sweep, error) { return begun, nil }

// ordered completes a plan by the order of its trials.
func ordered(plan metrics.Sweep, trials int) (metrics.Sweep, string, error) {
	plan.Trials = cmp.Or(plan.Trials, trials)
	plan.Order = experiment.Order(plan.Knobs, plan.Trials, plan.Seed)
	return plan, "", nil
}

// sweeps plans the trials of a sweep, or of one point.
type sweeps struct {
	unchanged
	cfg *Config
}

func (s sweeps) Asked() bool {
	return len(s.cfg.Trials.Knobs) > 0 || s.cfg.Trials.Trials > 0 || s.cfg.Trials.Until > 0
}

func (s sweeps) Plan(_ context.Context, _ Site, plan metrics.Sweep) (metrics.Sweep, string, error) {
	for i := range plan.Knobs {
		plan.Knobs[i].Names = storeNames(plan.Knobs[i])
	}
	trials := 1
	if plan.Until > 0 {
		trials = fewest
	}
	return ordered(plan, trials)
}

func (s sweeps) Experiment(_ Site, plan metrics.Sweep) experiment.Experiment {
	return experiment.Sweep{Plan: plan}
}

// pairs plans the trials of --ab.
type pairs struct {
	unchanged
	cfg *Config
}

func (p pairs) Asked() bool { return len(p.cfg.Trials.Variants) > 0 }

func (p pairs) Plan(ctx context.Context, site Site, plan metrics.Sweep) (metrics.Sweep, string, error) {
	plan, _, err := ordered(plan, abPairs)
	var both []configuration
	plan.Variants = slices.Clone(plan.Variants)
	for i, spec := range p.Experiment(site, plan).Specs() {
		at, err := site.resolve(ctx, spec)
		if err != nil {
			return plan, "", err
		}
		args := plan.Variants[i].Args
		if plan.Variants[i], err = at.built(); err != nil {
			return plan, "", err
		}
		plan.Variants[i].Args, both = args, append(both, at)
	}
	if plan.Together {
		err = fitTogether(both)
	}
	return plan, "", err
}

func (p pairs) Experiment(site Site, plan metrics.Sweep) experiment.Experiment {
	return experiment.PairsOf(plan, func() (headline, basis, full string, err error) {
		found, err := compare.Variants(site.Dir())
		if err != nil {
			return "", "", "", err
		}
		headline, basis = found.Headline()
		return headline, basis, fmt.Sprintf("%s\n\n", found), nil
	})
}

// curves plans the trials of --curve and --slo.
type curves struct {
	unchanged
	cfg *Config
}

// peakSecs is the longest window of the closed loops that measure a curve's peak.
const peakSecs = 3

func (c curves) Asked() bool { return c.cfg.Trials.isCurve() }

func (c curves) Plan(_ context.Context, _ Site, plan metrics.Sweep) (metrics.Sweep, string, error) {
	plan.Trials = cmp.Or(plan.Trials, ofRates)
	return c.cfg.Trials.Curve.Planned(plan), "", nil
}

func (c curves) Experiment(_ Site, plan metrics.Sweep) experiment.Experiment {
	kind := c.cfg.Trials.Curve
	kind.Plan, kind.PeakSecs = plan, peakSecs
	if c.cfg.Secs > 0 {
		kind.PeakSecs = min(peakSecs, c.cfg.Secs)
	}
	return kind
}

// selfTest plans the trials of --selftest.
type selfTest struct {
	unchanged
	cfg *Config
}

func (s selfTest) Asked() bool { return s.cfg.SelfTest != nil }

func (s selfTest) Plan(_ context.Context, _ Site, plan metrics.Sweep) (metrics.Sweep, string, error) {
	return plan, "", nil
}

func (s selfTest) Experiment(site Site, plan metrics.Sweep) experiment.Experiment {
	kind := *s.cfg.SelfTest
	kind.Plan = plan
	if site.Nodes() == 0 && s.cfg.ServerCores == "" && s.cfg.ClientCores == "" {
		if servers, clients, ok := node.Halves(); ok {
			kind.Cores = "--server-cores " + servers + " --client-cores " + clients
		}
	}
	return kind
}
