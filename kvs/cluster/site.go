package cluster

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/cluster/preflight"
	"kvlab/kvs/experiment"
	"kvlab/metrics"
)

// Site is the place of an experiment: the machines, the checkout and the rest of the command
// line, as a Planner needs them.
type Site struct{ *series }

// Nodes returns the number of nodes; 0 if the processes run on this machine.
func (s Site) Nodes() int { return len(s.nodes) }

// Machines returns the number of machines: the hosts of a virtual lab are one.
func (s Site) Machines() int {
	if len(s.nodes) == 0 || s.cfg.Lab.Hosts > 0 {
		return 1
	}
	return len(s.nodes)
}

// Dir returns the experiment's folder; "" before it is made.
func (s Site) Dir() string { return string(s.dir) }

// Length estimates how long a trial takes with some launcher flags.
func (s Site) Length(args string) time.Duration {
	spec, _, _ := applyVariant(args, s.cfg.Spec, s.launcher.flags) // resolve returns its error
	client := make(metrics.Settings)
	for _, f := range s.launcher.flags[metrics.Client] {
		client[f.Name] = cmp.Or(plan.ValueOf(spec.ClientArgs, f.Name), f.Default)
	}
	if spec.Secs > 0 {
		client["secs"] = fmt.Sprint(spec.Secs)
	}
	length := configuration{settings: map[metrics.Role]metrics.Settings{metrics.Client: client}}.length()
	if len(s.nodes) == 0 {
		length += localSetup - setupTime
	}
	return length
}

// localSetup is setupTime of processes on this machine, with a load of 100,000 records.
const localSetup = 2500 * time.Millisecond

// Limit ends a trial that takes longer than d as failed, unless the command line says when.
func (s Site) Limit(d time.Duration) { s.cfg.Deadline = cmp.Or(s.cfg.Deadline, d) }

// Check returns an error if launcher flags are wrong.
func (s Site) Check(args string) error {
	_, _, err := applyVariant(args, s.cfg.Spec, s.launcher.flags)
	return err
}

// Fits returns an error if right launcher flags ask for more nodes than there are.
func (s Site) Fits(ctx context.Context, args string) error {
	spec, _, err := applyVariant(args, s.cfg.Spec, s.launcher.flags)
	if err == nil && len(s.nodes) > 0 { // resolve returns the error
		_, err = plan.Make(ctx, spec, s.nodes)
		return err
	}
	return nil
}

// Build builds what a spec runs, and returns its commits and programs. The programs have
// accepted its arguments.
func (s Site) Build(ctx context.Context, spec experiment.Spec) (metrics.Variant, error) {
	at, err := s.resolve(ctx, spec)
	if err != nil {
		return metrics.Variant{}, err
	}
	return at.built()
}

// built returns the commits and the programs of a configuration.
func (at configuration) built() (v metrics.Variant, err error) {
	v.GitCommit, v.ServerCommit = at.commit, at.server
	v.Programs, err = at.programs.Sums()
	return v, err
}

// Rivals returns an error if the programs of extra/rivals cannot be built.
func (s Site) Rivals() error {
	_, err := s.rivals()
	return err
}

// Hosts returns the facts of all machines. Nodes are asked, as a preflight does.
func (s Site) Hosts(ctx context.Context) (hosts []metrics.Host, err error) {
	if s.Machines() == 1 {
		kernel, err := os.ReadFile("/proc/sys/kernel/osrelease")
		return []metrics.Host{{Cores: runtime.NumCPU(), Kernel: strings.TrimSpace(string(kernel))}}, err
	}
	all, err := plan.Make(ctx, s.cfg.Spec, s.nodes)
	if err != nil {
		return nil, err
	}
	all.Contain = nil // no server starts
	at := configuration{cfg: s.cfg, plan: all, programs: s.launcher.Programs}
	found, err := preflight.Run(ctx, s.launcher.target(at, s.launcher.runner(at)))
	for _, m := range found.Machines {
		if m.Facts != nil {
			hosts, err = append(hosts, m.Facts.Host), nil // each trial has its own preflight
		}
	}
	return hosts, err
}
