package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"

	"kvlab/kvs/cluster/remote"
	"kvlab/kvs/node"

	"golang.org/x/sync/errgroup"
)

// reap ends the processes that earlier runs of this user left on the nodes, and prints
// them.
func (l *Launcher) reap(ctx context.Context, cfg Config) error {
	nodes, err := l.nodes(ctx, cfg)
	if err != nil {
		return usage(err)
	}
	if len(nodes) == 0 {
		ended, err := node.Reap()
		printReaped(l.Stdout, "this machine", ended)
		return err
	}
	r, err := l.runner(cfg, l.Programs)
	if err != nil {
		return err
	}
	ended, errs := make([][]string, len(nodes)), make([]error, len(nodes))
	var group errgroup.Group
	group.SetLimit(remote.Parallel)
	for i, node := range nodes {
		group.Go(func() error {
			ended[i], errs[i] = r.Reap(ctx, node)
			return nil
		})
	}
	_ = group.Wait() // the errors are each node's own
	for i, node := range nodes {
		printReaped(l.Stdout, node.Name, ended[i])
	}
	return errors.Join(errs...)
}

func printReaped(w io.Writer, node string, ended []string) {
	for _, line := range ended {
		fmt.Fprintf(w, "%s: ended %s\n", node, line)
	}
	if len(ended) == 0 {
		fmt.Fprintf(w, "%s: ended nothing\n", node)
	}
}
