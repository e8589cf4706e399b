package cluster

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"kvlab/extra/contain"
	"kvlab/extra/study"
	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/cluster/preflight"
	"kvlab/metrics"
	"kvlab/metrics/format"
)

// planStudy completes the plan by the points of the command line's studies that can be
// measured here.
func (s *series) planStudy(ctx context.Context) {
	fits := func(args string) string {
		spec, _, err := applyVariant(args, s.cfg.Spec, s.launcher.flags)
		if err == nil && len(s.nodes) > 0 { // resolve returns the error
			if _, err := plan.Make(ctx, spec, s.nodes); err != nil {
				return fmt.Sprintf("needs other nodes: %v", err)
			}
		}
		return ""
	}
	tested, trials := study.Plan(s.cfg.Trials.Studies, s.cfg.Quick, s.cfg.Trials.Trials, s.here(ctx).Missing, fits)
	s.plan.Trials = 0
	s.plan = study.Planned(s.plan, tested, trials)
}

// here tells what the points of studies may need.
func (s *series) here(ctx context.Context) study.Here {
	here := study.Here{Nodes: 1, Root: os.Geteuid() == 0}
	here.Program = func(name string) bool { _, err := exec.LookPath(name); return err == nil }
	here.Rivals = func() error { _, err := s.rivals(); return err }
	here.Hosts = sync.OnceValues(func() ([]metrics.Host, error) {
		kernel, err := os.ReadFile("/proc/sys/kernel/osrelease")
		return []metrics.Host{{Cores: runtime.NumCPU(), Kernel: strings.TrimSpace(string(kernel))}}, err
	})
	if len(s.nodes) > 0 && s.cfg.Lab.Hosts == 0 {
		here.Nodes = len(s.nodes)
		here.Hosts = sync.OnceValues(func() ([]metrics.Host, error) { return s.remoteHosts(ctx) })
	}
	return here
}

// remoteHosts asks all nodes for their facts, as a preflight does.
func (s *series) remoteHosts(ctx context.Context) (hosts []metrics.Host, err error) {
	all, err := plan.Make(ctx, s.cfg.Spec, s.nodes)
	if err != nil {
		return nil, err
	}
	all.Contain = contain.Limits{} // no server starts
	at := configuration{cfg: s.cfg, plan: all, programs: s.launcher.Programs}
	found, err := preflight.Run(ctx, s.launcher.target(at, s.launcher.runner(at)))
	for _, m := range found.Machines {
		if m.Facts != nil {
			hosts, err = append(hosts, m.Facts.Host), nil // each trial has its own preflight
		}
	}
	return hosts, err
}

// lengthOf estimates how long a trial takes with some launcher flags.
func (l *Launcher) lengthOf(args string, cfg Config, remote bool) time.Duration {
	spec, _, _ := applyVariant(args, cfg.Spec, l.flags) // resolve returns its error
	client := make(metrics.FlagValues)
	for _, f := range l.flags[metrics.Client] {
		client[f.Name] = cmp.Or(valueOf(spec.ClientArgs, f.Name), f.Default)
	}
	if spec.Secs > 0 {
		client["secs"] = fmt.Sprint(spec.Secs)
	}
	length := configuration{settings: map[metrics.Role]metrics.FlagValues{metrics.Client: client}}.length()
	if !remote {
		length += localSetup - setupTime
	}
	return length
}

// localSetup is setupTime of processes on this machine, with a load of 100,000 records.
const localSetup = 2500 * time.Millisecond

// listStudies prints the studies of --study list, with the minutes that they take on one
// machine.
func (l *Launcher) listStudies(cfg Config) {
	for _, f := range cfg.Trials.Studies {
		minutes := func(quick bool) float64 {
			return f.Minutes(quick, func(args string) time.Duration { return l.lengthOf(args, cfg, false) })
		}
		fmt.Fprintf(l.Stdout, "%s: %s, %s, from %.1f minutes, %.1f with --quick\n  %s\n", f.Name, format.Plural(len(f.Claims), "claim"), format.Plural(len(f.Points), "point"),
			minutes(false), minutes(true), format.Wrap(f.Title, 2, 2))
	}
}
