package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"
	"kvlab/kvs/cluster/nodes"
	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/node"
	"kvlab/metrics"
)

// reap ends what earlier runs of this user have left on the nodes, and prints
// what that was.
func (l *Launcher) reap(ctx context.Context, cfg Config) error {
	nodes, err := l.nodes(ctx, cfg)
	if err != nil {
		return &UsageError{err}
	}
	if len(nodes) == 0 {
		folder, err := node.PidFolder()
		if err != nil {
			return err
		}
		ended, err := node.Reap(folder)
		l.printReaped("this machine", ended)
		return err
	}
	r, err := l.remote(cfg, l.Programs, nodes[0])
	if err != nil {
		return err
	}
	ended, errs := make([][]string, len(nodes)), make([]error, len(nodes))
	var group errgroup.Group
	group.SetLimit(remoteParallel)
	for i, node := range nodes {
		group.Go(func() error {
			ended[i], errs[i] = r.reap(ctx, node)
			return nil
		})
	}
	_ = group.Wait() // the errors are each node's own
	for i, node := range nodes {
		l.printReaped(node.Name, ended[i])
	}
	return errors.Join(errs...)
}

func (l *Launcher) printReaped(node string, ended []string) {
	for _, line := range ended {
		fmt.Fprintf(l.Stdout, "%s: ended %s\n", node, line)
	}
	if len(ended) == 0 {
		fmt.Fprintf(l.Stdout, "%s: ended nothing\n", node)
	}
}

// reap has a node's copy of the server's program end what is left there.
func (r *remote) reap(ctx context.Context, n nodes.Node) ([]string, error) {
	place := plan.Place{Node: n, Name: n.Name, Role: metrics.Server}
	if err := r.Prepare(ctx, []plan.Place{place}); err != nil {
		return nil, err
	}
	answer, err := r.run(ctx, place, nil, append([]string{r.path(place)}, node.ReapWords()...)...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", n.Name, err)
	}
	return slices.Sorted(maps.Values(answer)), nil
}
