package plan

import (
	"cmp"
	"context"
	"strings"

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

// Needs computes a plan's needs from the programs' final settings. The error is a fault
// of wrong arguments. If a program does not answer, the needs are empty: it will fail
// as a node.
func (p Programs) Needs(ctx context.Context, plan Plan) (Needs, error) {
	settings := make(map[metrics.Role]Settings)
	args := map[metrics.Role][]string{metrics.Server: plan.ServerArgs, metrics.Client: plan.ClientArgs}
	for _, place := range plan.Places { // servers first
		role := place.Role
		if _, ok := settings[role]; ok {
			continue
		}
		values, err := p.Settings(ctx, role, args[role])
		if err != nil {
			reason, refused := strings.CutPrefix(err.Error(), Program(role)+": ")
			if refused {
				return Needs{}, &Fault{Node: place.Name, Role: role, Kind: BadArgs, Reason: reason}
			}
			return Needs{}, nil
		}
		settings[role] = values
	}
	client, server := settings[metrics.Client], settings[metrics.Server]
	servers, clients := uint64(plan.Count(metrics.Server)), uint64(plan.Count(metrics.Client))
	connections := cmp.Or(client.Connections, client.Workers)
	return Needs{
		OpenFiles: map[metrics.Role]uint64{
			metrics.Server: clients*connections + spareFiles,
			metrics.Client: servers*connections + spareFiles,
		},
		Bytes:  client.Records * client.ValueSize / servers,
		Public: server.AllowPublic,
	}, nil
}
