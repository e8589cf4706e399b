package cluster

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"kvlab/kvs/cluster/nodes"
	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/cluster/remote"
	"kvlab/kvs/experiment"
	"kvlab/metrics"
)

// configuration is what a trial runs.
type configuration struct {
	cfg      Config
	plan     plan.Plan
	programs plan.Programs
	settings map[metrics.Role]metrics.FlagValues // of the programs, final
	commit   string                              // of the programs
	server   string                              // commit of the servers' program, where it is another one
}

// setupTime is the usual time of a trial before its warm-up, with a ceiling and without.
const (
	setupTime    = 4 * time.Second
	ceilingsTime = 7 * time.Second
)

// expected estimates how long the first trial takes.
func (at configuration) expected() time.Duration {
	if at.cfg.NoCeiling {
		return at.length()
	}
	return ceilingsTime + at.length()
}

// length estimates how long a trial takes without ceilings.
func (at configuration) length() time.Duration {
	client := at.settings[metrics.Client]
	return setupTime + max(client.Length("warmup"), 0) + max(client.Length("secs"), 0)
}

// resolver turns an experiment's specs into configurations on the nodes.
type resolver struct {
	launcher *Launcher
	commit   string // of the checkout
	cfg      Config // of all trials
	nodes    []nodes.Node
	builds   remote.Builds            // the programs of other commits
	resolved map[string]configuration // by spec
}

// resolve returns a spec's configuration. There are nodes enough for it, and the
// programs accept its arguments.
func (r *resolver) resolve(ctx context.Context, spec experiment.Spec) (configuration, error) {
	key := fmt.Sprintf("%q", spec)
	if at, ok := r.resolved[key]; ok {
		return at, nil
	}
	at, err := r.configure(ctx, spec)
	switch variant, ofPair := strings.CutPrefix(spec.Name, metrics.VariantKnob+"="); {
	case err == nil:
		r.resolved[key] = at
	case ctx.Err() != nil:
		err = plan.ErrInterrupted
	case ofPair:
		err = fmt.Errorf("--ab, variant %s: %w", variant, err)
	case len(spec.Set) > 0:
		err = fmt.Errorf("--sweep %s: %w", spec.Name, err)
	}
	return at, err
}

// configure resolves a spec that is not known yet.
func (r *resolver) configure(ctx context.Context, spec experiment.Spec) (configuration, error) {
	at := configuration{cfg: r.cfg, programs: r.launcher.Programs, commit: r.commit}
	var from metrics.Source
	var err error
	if at.cfg.Spec, from, err = applyVariant(spec.Args, r.cfg.Spec, r.launcher.flags); err != nil {
		return at, err
	}
	if from.Kind != "" {
		if err := r.build(ctx, &at, from); err != nil {
			return at, fmt.Errorf("%s%s: %w", from.Kind, from.Rev, err)
		}
	}
	for _, setting := range spec.Set {
		if err := at.cfg.Spec.Set(setting.Name, setting.Value, r.launcher.flags); err != nil {
			return at, err
		}
	}
	if at.plan, err = plan.Make(ctx, at.cfg.Spec, r.nodes); err == nil {
		at.settings, err = at.programs.Check(ctx, at.plan)
	}
	if rival := at.settings[metrics.Client][metrics.RivalValue]; rival != "" && err == nil {
		err = r.buildRivals(ctx, &at, rival, from)
	}
	if grade := at.cfg.Grade; err == nil && grade != nil {
		if err = grade.Check(at.settings[metrics.Client]); err != nil {
			err = fmt.Errorf("--grade: %w", err)
		}
	}
	return at, err
}

// build gives a configuration the programs of another commit, or its servers'.
func (r *resolver) build(ctx context.Context, at *configuration, from metrics.Source) error {
	commit, built, err := r.builds.Programs(ctx, r.launcher.Root, from.Rev)
	if err != nil {
		return err
	}
	if from.Kind == metrics.BothPrograms {
		at.commit, at.programs = commit, built
		return built.Led(ctx)
	}
	at.server = commit
	at.programs = plan.Programs{metrics.Server: built[metrics.Server], metrics.Client: r.launcher.Programs[metrics.Client]}
	return cmp.Or(at.programs.Led(ctx), at.programs.SpeakAlike(ctx))
}

// buildRivals gives a configuration the programs of kvs/rivals, which have what its own
// lack.
func (r *resolver) buildRivals(ctx context.Context, at *configuration, rival string, from metrics.Source) (err error) {
	if from.Kind != "" {
		return fmt.Errorf("%s: kvs/rivals' programs have it, which are of this checkout: want no %s%s", rival, from.Kind, from.Rev)
	}
	if at.programs, err = remote.Rivals(ctx, r.launcher.Root); err == nil {
		at.settings, err = at.programs.Check(ctx, at.plan)
	}
	return err
}
