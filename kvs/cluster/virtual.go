package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"

	"kvlab/kvs/cluster/nodes"
	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/cluster/virtual"
	"kvlab/metrics"
)

// lab returns the virtual lab for the records; nil if the nodes are real.
func (c Config) lab() *metrics.Lab {
	if c.Lab.Hosts == 0 {
		return nil
	}
	return &c.Lab
}

// enterLab runs the command line inside a new virtual lab, with a second launcher.
func (l *Launcher) enterLab(ctx context.Context, cfg Config, args []string) error {
	// A lab shows the contents that /run and /var have at its start.
	if err := os.MkdirAll(cfg.Out, 0o755); err != nil {
		return usage(fmt.Errorf("--out: %w", err))
	}
	return l.reenter(ctx, virtual.Enter, args)
}

// enterLoopback runs the command line in a new network, in which only the run's servers and
// clients are.
func (l *Launcher) enterLoopback(ctx context.Context, args []string) error {
	if err := l.reenter(ctx, virtual.EnterLoopback, args); err != nil {
		return fmt.Errorf("--contain: %w", err)
	}
	return nil
}

// containing reports whether trials contain programs.
func (l *Launcher) containing(cfg Config) bool {
	return cfg.Contain != nil || slices.ContainsFunc(cfg.Trials.Variants, func(v metrics.Variant) bool {
		s, _, _ := applyVariant(v.Args, cfg.Spec, l.flags) // parsed before
		return s.Contain != nil
	})
}

// passwordsVariable is an environment variable. It gives a second launcher the passwords that
// the command line hides, as JSON.
const passwordsVariable = "KVLAB_PASSWORDS"

// takePasswords takes the passwords of the launcher that has started this one. Nothing that
// this one starts inherits them.
func (l *Launcher) takePasswords() {
	if text := os.Getenv(passwordsVariable); text != "" {
		_ = json.Unmarshal([]byte(text), &l.passwords) // a launcher wrote it
		os.Unsetenv(passwordsVariable)
	}
}

// reenter runs a command line with a second launcher, in the namespaces that enter makes.
func (l *Launcher) reenter(ctx context.Context, enter func(context.Context, []string, io.Writer, io.Writer, <-chan struct{}) (int, error), args []string) error {
	text, err := json.Marshal(l.passwords)
	if err == nil && len(l.passwords) > 0 {
		err = os.Setenv(passwordsVariable, string(text))
		defer os.Unsetenv(passwordsVariable)
	}
	if err != nil {
		return err
	}
	status, err := enter(ctx, args, l.out, l.Stderr, l.Force)
	switch {
	case ctx.Err() != nil && (err != nil || status == 2): // what a Go program that is pid 1 exits with before it listens to signals
		return plan.ErrInterrupted
	case err == nil:
		l.document = nil // the second launcher has written it
		if status != 0 {
			err = &exitError{fmt.Errorf("exit status %d", status), status, true}
		}
	}
	return err
}

// startLab makes the hosts of the lab around this launcher, which are reached by ssh.
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

// nodes returns the nodes; none means processes on this machine.
func (l *Launcher) nodes(ctx context.Context, cfg Config) ([]nodes.Node, error) {
	if cfg.Lab.Hosts == 0 {
		return nodes.Find(ctx, cfg.Request, l.Testbed, l.Slurm)
	}
	var hosts []nodes.Node
	for i := range cfg.Lab.Hosts {
		name := virtual.Hostname(i)
		hosts = append(hosts, nodes.Node{Name: name, Addr: virtual.DataAddress(i), Way: nodes.Way{Kind: nodes.SSH, To: name}})
	}
	return hosts, nil
}
