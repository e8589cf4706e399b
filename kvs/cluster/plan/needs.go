package plan

import (
	"cmp"
	"strconv"

	"kvlab/metrics"
	"kvlab/workload"
	"kvlab/workload/size"
)

// Needs are a plan's requirements on its machines, derived from the nodes' arguments.
type Needs struct {
	OpenFiles map[metrics.Role]uint64 // of one process
	Bytes     uint64                  // on each server: a lower bound of its store
	Of        string                  // what has these bytes
	Public    bool                    // -allow-public was given
}

// spareFiles is the number of a process's open files besides its connections: streams,
// logs, /proc.
const spareFiles = 64

// Needs computes the plan's needs from the programs' final settings.
func (p Plan) Needs(settings map[metrics.Role]metrics.Settings) Needs {
	client := settings[metrics.Client]
	servers, clients := p.Count(metrics.Server), p.Count(metrics.Client)
	connections := cmp.Or(client.Connections(), client.Workers()) // by default one for each worker at most
	timers := 0
	if client.Open() { // each worker of an open loop has one
		timers = client.Workers()
	}
	// The flags of another commit may have no such trace: Bytes is then 0, and the client says it.
	replay, peak := workload.Config{Replay: client["replay"]}, uint64(0)
	if replay.Ops, _ = strconv.ParseUint(client["ops"], 10, 64); replay.Replay != "" {
		peak = replay.PeakBytes()
	}
	needs := Needs{
		OpenFiles: map[metrics.Role]uint64{
			metrics.Server: uint64(clients*connections + spareFiles),
			metrics.Client: uint64(servers*connections + timers + spareFiles),
		},
		Bytes:  client.Records() * size.OfRecord(client.ValueSize(), client.KeySize()) / uint64(servers),
		Of:     "the values alone",
		Public: settings[metrics.Server].AllowPublic(),
	}
	if peak > 0 {
		needs.Bytes, needs.Of = peak/uint64(servers), "the trace's records, of which none expires,"
	}
	return needs
}
