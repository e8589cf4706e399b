package plan

import (
	"cmp"

	"kvlab/metrics"
	"kvlab/workload/size"
)

// Needs are a plan's requirements on its machines, derived from the nodes' arguments.
type Needs struct {
	OpenFiles map[metrics.Role]uint64 // of one process
	Bytes     uint64                  // of records, on each server: a lower bound of its store
	Public    bool                    // -allow-public was given
}

// spareFiles is the number of a process's open files besides its connections: streams,
// logs, /proc.
const spareFiles = 64

// Needs computes the plan's needs from the programs' final settings.
func (p Plan) Needs(settings map[metrics.Role]metrics.FlagValues) Needs {
	client := settings[metrics.Client]
	servers, clients := uint64(p.Count(metrics.Server)), uint64(p.Count(metrics.Client))
	connections := cmp.Or(client.Number("connections"), client.Number("workers")) // by default one for each worker at most
	timers := uint64(0)
	if client["rate"] != "" { // each worker of an open loop has one
		timers = client.Number("workers")
	}
	return Needs{
		OpenFiles: map[metrics.Role]uint64{
			metrics.Server: clients*connections + spareFiles,
			metrics.Client: servers*connections + timers + spareFiles,
		},
		Bytes:  client.Number("records") * size.OfRecord(client["value-size"], client["key-size"]) / servers,
		Public: settings[metrics.Server].Is("allow-public"),
	}
}
