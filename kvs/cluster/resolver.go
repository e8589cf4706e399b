package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"sync"
	"time"

	"kvlab/internal/cli"
	"kvlab/kvs/cluster/nodes"
	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/cluster/remote"
	"kvlab/kvs/experiment"
	"kvlab/kvs/node"
	"kvlab/kvs/target"
	"kvlab/kvs/verdict/work"
	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/workload"
)

// configuration is what a trial runs.
type configuration struct {
	cfg      Config
	plan     plan.Plan
	programs plan.Programs
	settings map[metrics.Role]metrics.Settings // of the programs, final
	password string                            // of the foreign store
	open     string                            // a warning about who can use the foreign store; "" for none
	runs     bool                              // the foreign store is there before a trial, and after it
	commit   string                            // of the programs
	changed  []string                          // files of the checkout that differ from commit
	server   string                            // commit of the servers' program, where it is another one
	rivals   bool                              // extra/rivals has the programs
}

// warning says who can use a store that is open; "" where only this machine's processes can.
func (at configuration) warning() string {
	if at.plan.Local || at.cfg.Lab.Hosts > 0 || at.plan.Contain != nil {
		return ""
	}
	return at.open
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
	return setupTime + max(client.WarmUp(), 0) + max(client.Secs(), 0)
}

// resolver turns an experiment's specs into configurations on the nodes.
type resolver struct {
	launcher *Launcher
	commit   string   // of the checkout
	changed  []string // files of the checkout that differ from it
	cfg      Config   // of all trials
	nodes    []nodes.Node
	builds   remote.Builds                 // of other commits and of targets
	rivals   func() (plan.Programs, error) // of extra/rivals, built once
	resolved map[string]configuration      // by spec
}

// newResolver returns a resolver for the trials of a launcher.
func newResolver(ctx context.Context, l *Launcher, cfg Config, nodes []nodes.Node) *resolver {
	commit, changed := remote.Commit(ctx, l.Root)
	return &resolver{
		launcher: l, commit: commit, changed: changed, cfg: cfg, nodes: nodes, resolved: make(map[string]configuration),
		rivals: sync.OnceValues(func() (plan.Programs, error) { return remote.Rivals(ctx, l.Root) }),
	}
}

// resolve returns a spec's configuration. There are nodes enough for it, and the
// programs accept its arguments.
func (r *resolver) resolve(ctx context.Context, spec experiment.Spec) (configuration, error) {
	key := fmt.Sprintf("%q", spec)
	if at, ok := r.resolved[key]; ok {
		return at, nil
	}
	at, err := r.configure(ctx, spec)
	switch {
	case err == nil:
		r.resolved[key] = at
	case ctx.Err() != nil:
		err = plan.ErrInterrupted
	case spec.Where != "":
		err = fmt.Errorf("%s: %w", spec.Where, err)
	}
	return at, err
}

// scanning is the engine that has scans.
const scanning = "btree"

// configure resolves a spec that is not known yet.
func (r *resolver) configure(ctx context.Context, spec experiment.Spec) (configuration, error) {
	at := configuration{cfg: r.cfg, programs: r.launcher.Programs, commit: r.commit, changed: r.changed}
	var from metrics.Source
	var err error
	if at.cfg.Spec, from, err = applyVariant(spec.Args, r.cfg.Spec, r.launcher.flags); err != nil {
		return at, err
	}
	r.supply(&at)
	if from.Kind != "" {
		if err := r.build(ctx, &at, from); err != nil {
			return at, fmt.Errorf("%s%s: %w", from.Kind, from.Rev, err)
		}
	}
	for _, setting := range spec.Set {
		if err := at.cfg.Spec.Set(setting.Name, setting.Value, r.launcher.flags); err != nil {
			return at, remote.NoKnob(at.cfg.Spec, setting.Name, err)
		}
	}
	if at.cfg.Spec, at.programs, err = r.builds.Hosts(ctx, at.cfg.Spec, at.programs, len(r.nodes) > 0, r.submitted(&at)); err != nil {
		return at, err
	}
	if err := r.aim(ctx, &at); err != nil {
		return at, fmt.Errorf("--target: %w", err)
	}
	if plan.HasFlag(at.cfg.ClientArgs, metrics.EngineFlag) && !plan.HasFlag(at.cfg.ServerArgs, metrics.EngineFlag) {
		return at, errors.New("-engine in the clients' arguments: the servers have the engine: want --engine, or it in --server-args")
	}
	if at.plan, err = plan.Make(ctx, at.cfg.Spec, r.nodes); err == nil {
		at.settings, err = at.programs.Check(ctx, at.plan)
	}
	if server := at.settings[metrics.Server]; err == nil && server.Own() && work.Has(at.settings[metrics.Client], workload.Scan) && !plan.HasFlag(at.cfg.ServerArgs, metrics.EngineFlag) {
		fmt.Fprintf(r.launcher.progress, "the workload scans: --engine %s in place of %s\n", scanning, server.Engine())
		at.cfg.ServerArgs = plan.With(at.cfg.ServerArgs, metrics.EngineFlag, scanning)
		if at.plan, err = plan.Make(ctx, at.cfg.Spec, r.nodes); err == nil {
			at.settings, err = at.programs.Check(ctx, at.plan)
		}
	}
	if rival := cmp.Or(at.settings[metrics.Server].Rival(), at.settings[metrics.Client].Rival()); rival != "" && err == nil {
		err = r.buildRivals(ctx, &at, rival, from)
	}
	if path := at.settings[metrics.Client]["replay"]; path != "" && len(r.nodes) > 0 && err == nil {
		at.programs = maps.Clone(at.programs)
		at.programs[plan.Trace], err = filepath.Abs(path)
	}
	if err == nil {
		err = cmp.Or(at.cfg.checkEnds(at.settings[metrics.Client]), plan.CheckTransactions(at.settings))
	}
	if err == nil && at.plan.RestartAt > 0 {
		err = cmp.Or(at.plan.CheckRestart(at.settings), work.CheckRestart(at.settings[metrics.Client]))
	}
	if files := at.plan.RestartAt > 0 || at.settings[metrics.Server].Reopen(); files && at.cfg.Contain != nil && err == nil {
		err = errors.New("--contain: a contained server's files end with it: leave -reopen and --restart-at out")
	}
	if grade := at.cfg.Grade; err == nil && grade != nil {
		if err = grade.Check(at.settings[metrics.Client]); err != nil {
			err = fmt.Errorf("--grade: %w", err)
		}
	}
	if accept := r.cfg.Accept; err == nil && accept != nil {
		err = accept(at.settings[metrics.Client])
	}
	return at, err
}

// supply adds the launcher's own program to a configuration that contains others.
func (r *resolver) supply(at *configuration) {
	if at.cfg.Contain != nil {
		at.programs = maps.Clone(at.programs)
		at.programs[plan.Launcher] = filepath.Join(r.launcher.Bin, plan.Program(plan.Launcher))
	}
}

// build gives a configuration both programs of another commit, its servers' program alone, or
// the servers' program of another checkout.
func (r *resolver) build(ctx context.Context, at *configuration, from metrics.Source) error {
	commit, server := "", ""
	var err error
	if path := from.Path(); path != "" {
		commit, server, err = r.builds.Checkout(ctx, path, r.submitted(at))
	} else {
		var built plan.Programs
		commit, built, err = r.builds.Programs(ctx, r.launcher.Root, from.Rev)
		if server = built[metrics.Server]; err == nil && from.Kind == metrics.BothPrograms {
			at.commit, at.changed, at.programs = commit, nil, built
			r.supply(at)
			return at.programs.CheckControl(ctx, at.cfg.Contain)
		}
	}
	if err != nil {
		return err
	}
	at.server = commit
	at.programs = maps.Clone(at.programs)
	at.programs[metrics.Server] = server
	return cmp.Or(at.programs.CheckControl(ctx, at.cfg.Contain), at.programs.CheckProtocols(ctx, at.cfg.Contain))
}

// submitted says how a configuration's submitted sources are built.
func (r *resolver) submitted(at *configuration) remote.Submitted {
	return remote.Submitted{Contain: at.cfg.Contain, Launcher: at.programs[plan.Launcher], Root: r.launcher.Root}
}

// aim completes a configuration with a foreign target. A store that runs has a server for each
// of its addresses. aim builds the program of a target file, and replaces the file's name by
// its inline form.
func (r *resolver) aim(ctx context.Context, at *configuration) error {
	text := cmp.Or(plan.ValueOf(at.cfg.ServerArgs, targetFlag), plan.ValueOf(at.cfg.ClientArgs, targetFlag))
	var t target.Target
	if text == "" {
		return nil
	}
	err := t.Set(text)
	if err != nil {
		return err
	}
	at.cfg.Hosted, at.open = !t.Own(), t.Open()
	if at.password = t.Settings["password"]; cli.HiddenPassword(at.password) == at.password {
		if at.password = r.launcher.passwords[at.password]; at.password == "" {
			return errors.New("records hide the password: want it in place of " + t.Settings["password"])
		}
	}
	if n := len(t.Servers); n > 0 {
		if at.runs = true; at.cfg.Symmetric || at.cfg.ServersPerNode > 0 || at.cfg.ServerCores != "" {
			return errors.New("the store runs already, where it is: leave --symmetric, --servers-per-node and --server-cores out")
		}
		found, err := r.launcher.Programs.Find(ctx, node.Search{Target: t.String(), Password: at.password})
		if err != nil {
			return err
		}
		if found.Router != "" && !plan.HasFlag(at.cfg.ClientArgs, "router") {
			at.cfg.ClientArgs = plan.With(at.cfg.ClientArgs, "router", found.Router)
		}
		t, n = t.At(found.Servers), len(found.Servers)
		if at.cfg.Contain != nil {
			return errors.New("--contain: the store runs already, so nothing starts it contained")
		}
		if at.cfg.Servers > 0 && at.cfg.Servers != n {
			return fmt.Errorf("it has %s, and %d servers are asked for", format.Plural(n, "address"), at.cfg.Servers)
		}
		at.cfg.Servers = n
	}
	if t.Build != "" {
		if t, at.programs, err = r.builds.Started(ctx, plan.Store, t, at.programs, len(r.nodes) > 0, r.submitted(at)); err != nil {
			return err
		}
	}
	for _, args := range []*[]string{&at.cfg.ServerArgs, &at.cfg.ClientArgs} {
		*args = plan.With(*args, targetFlag, t.String())
	}
	return nil
}

// targetFlag is the flag of both programs that names what is measured.
const targetFlag = "target"

// buildRivals gives a configuration the programs of extra/rivals. They have the engine or
// driver that its own programs lack.
func (r *resolver) buildRivals(ctx context.Context, at *configuration, rival string, from metrics.Source) (err error) {
	if from.Kind != "" {
		return fmt.Errorf("%s: extra/rivals' programs have it, which are of this checkout: want no %s%s", rival, from.Kind, from.Rev)
	}
	rivals, err := r.rivals()
	if err == nil {
		rivals = maps.Clone(rivals)
		for _, role := range []metrics.Role{plan.Store, plan.Launcher} {
			if path, ok := at.programs[role]; ok {
				rivals[role] = path
			}
		}
		at.programs, at.rivals = rivals, true
		at.settings, err = at.programs.Check(ctx, at.plan)
	}
	return err
}
