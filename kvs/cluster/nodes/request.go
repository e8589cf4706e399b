package nodes

import (
	"context"
	"strings"
)

// Request selects the nodes, from the command line.
type Request struct {
	Nodes     []Node // to reach by ssh, or nodes of the Slurm job
	HostsFile string // a file that describes the nodes
	Local     bool   // only processes on this machine
	Slurm     bool   // the nodes of the Slurm job that the launcher is part of
}

// Find returns the nodes that a request names, else the nodes of the Slurm job, else of the
// testbed. No nodes means processes on this machine.
func Find(ctx context.Context, r Request, testbed Testbed, job Slurm) ([]Node, error) {
	if r.Local {
		return nil, nil
	}
	named, err := r.Nodes, error(nil)
	if r.HostsFile != "" {
		named, err = readHostsFile(r.HostsFile)
	}
	switch {
	case err != nil || len(named) > 0 && !r.Slurm:
		return named, err
	case r.Slurm:
		return job.named(ctx, named)
	case job.Job != "":
		return job.Nodes(ctx)
	}
	return testbed.Nodes(ctx)
}

// Named returns the node that a command line names, as [user@]host[:port].
func Named(text string) (Node, error) {
	to, port, ok := destination(text)
	_, name, hasUser := strings.Cut(to, "@")
	if !hasUser {
		name = to
	}
	if !ok {
		name = text
	}
	return Node{Name: name, Way: Way{Kind: SSH, To: to, Port: port}}, CheckName(name)
}
