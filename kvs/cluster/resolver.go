package cluster

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"kvlab/kvs/cluster/nodes"
	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/cluster/remote"
	"kvlab/kvs/experiment"
	"kvlab/kvs/target"
	"kvlab/metrics"
	"kvlab/metrics/format"
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
	if err := r.aim(ctx, &at); err != nil {
		return at, fmt.Errorf("--target: %w", err)
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

// aim completes a configuration with a foreign target: a store that runs has a server for
// each of its addresses, and a file becomes its inline form, with its program built.
func (r *resolver) aim(ctx context.Context, at *configuration) error {
	text := cmp.Or(valueOf(at.cfg.ServerArgs, targetFlag), valueOf(at.cfg.ClientArgs, targetFlag))
	var t target.Target
	if text == "" {
		return nil
	}
	if err := t.Set(text); err != nil {
		return err
	}
	if n := len(t.Servers); n > 0 {
		if at.cfg.Servers > 0 && at.cfg.Servers != n {
			return fmt.Errorf("it has %s, and %d servers are asked for", format.Plural(n, "address"), at.cfg.Servers)
		}
		at.cfg.Servers = n
	}
	if t.Build != "" {
		path, err := r.builds.Store(ctx, t)
		if err != nil {
			return err
		}
		at.programs = maps.Clone(at.programs)
		at.programs[plan.Store] = path
		if len(r.nodes) > 0 {
			if path, err = at.programs.Deployed(); err != nil {
				return err
			}
		}
		t = t.Built(path)
	}
	for _, args := range []*[]string{&at.cfg.ServerArgs, &at.cfg.ClientArgs} {
		*args = append(without(*args, targetFlag), "-"+targetFlag+"="+t.String())
	}
	return nil
}

// targetFlag is the flag of both programs that names what is measured.
const targetFlag = "target"

// buildRivals gives a configuration the programs of kvs/rivals, which have what its own
// lack.
func (r *resolver) buildRivals(ctx context.Context, at *configuration, rival string, from metrics.Source) (err error) {
	if from.Kind != "" {
		return fmt.Errorf("%s: kvs/rivals' programs have it, which are of this checkout: want no %s%s", rival, from.Kind, from.Rev)
	}
	rivals, err := remote.Rivals(ctx, r.launcher.Root)
	if err == nil {
		if path, ok := at.programs[plan.Store]; ok {
			rivals[plan.Store] = path
		}
		at.programs = rivals
		at.settings, err = at.programs.Check(ctx, at.plan)
	}
	return err
}
