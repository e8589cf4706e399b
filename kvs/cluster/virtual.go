package cluster

import (
	"context"
	"fmt"
	"os"

	"kvlab/kvs/cluster/nodes"
	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/cluster/virtual"
	"kvlab/metrics"
)

// lab is what the records say of the nodes; nil when they are not virtual.
func (c Config) lab() *metrics.Lab {
	if c.Lab.Hosts == 0 {
		return nil
	}
	return &c.Lab
}

// enterLab has the command line carried out inside a new virtual lab, by a
// launcher of its own.
func (l *Launcher) enterLab(ctx context.Context, cfg Config, args []string) error {
	// Of /run and /var a lab shows what is there when it begins.
	if err := os.MkdirAll(cfg.Out, 0o755); err != nil {
		return &UsageError{fmt.Errorf("--out: %w", err)}
	}
	status, err := virtual.Enter(ctx, args, l.Stdout, l.Stderr, l.Force)
	if err == nil && status != 0 {
		err = &RelayedError{status}
	}
	return err
}

// startLab makes the hosts of the lab that this launcher is in. They are found
// and reached as those of a testbed are.
func (l *Launcher) startLab(ctx context.Context, cfg *Config) error {
	up, err := virtual.Start(ctx, cfg.Lab)
	if ctx.Err() != nil {
		return plan.ErrInterrupted
	}
	if err != nil {
		return fmt.Errorf("--virtual: %w", err)
	}
	cfg.Lab, cfg.SSHConfig = up.Lab, up.SSHConfig
	shares := "equal shares of the CPU"
	if up.NoShares != nil {
		shares = fmt.Sprintf("no CPU shares (%v)", up.NoShares)
	}
	fmt.Fprintf(l.Stderr, "%s, %s\n", &cfg.Lab, shares)
	return nil
}

// nodes finds the nodes; none means processes on this machine.
func (l *Launcher) nodes(ctx context.Context, cfg Config) ([]nodes.Node, error) {
	job := l.Slurm
	if cfg.Lab.Hosts > 0 {
		if cfg.DryRun { // there is no lab that could be asked
			return nodes.ParseHostnames([]byte(virtual.Hostnames(cfg.Lab.Hosts)))
		}
		job = nodes.Slurm{}
	}
	return nodes.Find(ctx, cfg.Request, l.Testbed, job)
}
