package plan

import (
	"cmp"
	"context"
	"strings"

	"kvlab/metrics"
)

// Needs are what a plan asks of its machines, as far as the arguments of its
// nodes tell.
type Needs struct {
	OpenFiles map[metrics.Role]uint64 // of one process
	Bytes     uint64                  // of values, on each server; the least that it stores
	Public    bool                    // the user takes the control network with open eyes
}

// spareFiles are those that a node's process has open besides its connections:
// streams, logs, /proc.
const spareFiles = 64

// Needs asks the programs what the plan's arguments come to. The error is a
// fault of wrong arguments. Programs that give no answer need nothing that is
// known; they will fail as nodes.
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
