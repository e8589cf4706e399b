package plan

import (
	"cmp"
	"context"

	"kvlab/metrics"
)

// Needs are a plan's requirements on its machines, derived from the nodes' arguments.
type Needs struct {
	OpenFiles map[metrics.Role]uint64 // of one process
	Bytes     uint64                  // of values, on each server: a lower bound of its store
	Public    bool                    // -allow-public was given
}

// spareFiles is the number of a process's open files besides its connections: streams,
// logs, /proc.
const spareFiles = 64

// Needs computes a plan's needs from the programs' final settings. They are empty if a
// program does not answer: it will fail as a node.
func (p Programs) Needs(ctx context.Context, plan Plan) Needs {
	server, serverErr := p.Settings(ctx, metrics.Server, plan.ServerArgs)
	client, clientErr := p.Settings(ctx, metrics.Client, plan.ClientArgs)
	if serverErr != nil || clientErr != nil {
		return Needs{}
	}
	servers, clients := uint64(plan.Count(metrics.Server)), uint64(plan.Count(metrics.Client))
	connections := cmp.Or(client.Number("connections"), client.Number("workers")) // by default one for each worker at most
	return Needs{
		OpenFiles: map[metrics.Role]uint64{
			metrics.Server: clients*connections + spareFiles,
			metrics.Client: servers*connections + spareFiles,
		},
		Bytes:  client.Number("records") * client.Number("value-size") / servers,
		Public: server.Is("allow-public"),
	}
}
