package cluster

import (
	"context"
	"errors"
	"fmt"

	"kvlab/kvs/cluster/nodes"
	"kvlab/kvs/cluster/remote"
)

// reap ends the processes that earlier runs of this user left on the nodes, restores the
// nodes' settings, and prints both.
func (l *Launcher) reap(ctx context.Context, cfg Config) error {
	found, err := l.nodes(ctx, cfg)
	if err != nil {
		return usage(err)
	}
	if len(found) == 0 {
		found = []nodes.Node{{Name: "this machine"}}
	}
	r := l.runner(configuration{cfg: cfg, programs: l.Programs})
	ended, errs := make([][]string, len(found)), make([]error, len(found))
	remote.Each(len(found), remote.Parallel, func(i int) { ended[i], errs[i] = r.Reap(ctx, found[i]) })
	for i, node := range found {
		if len(ended[i]) == 0 {
			ended[i] = []string{"ended nothing"}
		}
		for _, line := range ended[i] {
			fmt.Fprintf(l.Stdout, "%s: %s\n", node.Name, line)
		}
	}
	return errors.Join(errs...)
}
