package cluster

import (
	"cmp"
	"context"
	"strings"

	"kvlab/metrics"
)

// needs are what a plan asks of its machines, as far as the arguments of its
// nodes tell.
type needs struct {
	openFiles map[metrics.Role]uint64 // of one process
	bytes     uint64                  // of values, on each server; the least that it stores
	public    bool                    // the user takes the control network with open eyes
}

// spareFiles are those that a node's process has open besides its connections:
// streams, logs, /proc.
const spareFiles = 64

// needsOf asks the programs what the plan's arguments come to. The error is a
// fault of wrong arguments. Programs that give no answer need nothing that is
// known; they will fail as nodes.
func (p Programs) needsOf(ctx context.Context, plan Plan) (needs, error) {
	settings := make(map[metrics.Role]Settings)
	args := map[metrics.Role][]string{metrics.Server: plan.ServerArgs, metrics.Client: plan.ClientArgs}
	for _, place := range plan.Places { // servers first
		role := place.Role
		if _, ok := settings[role]; ok {
			continue
		}
		values, err := p.Settings(ctx, role, args[role])
		if err != nil {
			reason, refused := strings.CutPrefix(err.Error(), programName(role)+": ")
			if refused {
				return needs{}, &fault{node: place.Name, role: role, kind: badArgs, reason: reason}
			}
			return needs{}, nil
		}
		settings[role] = values
	}
	client, server := settings[metrics.Client], settings[metrics.Server]
	servers, clients := uint64(plan.count(metrics.Server)), uint64(plan.count(metrics.Client))
	connections := cmp.Or(client.Connections, client.Workers)
	return needs{
		openFiles: map[metrics.Role]uint64{
			metrics.Server: clients*connections + spareFiles,
			metrics.Client: servers*connections + spareFiles,
		},
		bytes:  client.Records * client.ValueSize / servers,
		public: server.AllowPublic,
	}, nil
}
