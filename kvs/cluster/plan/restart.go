package plan

import (
	"fmt"
	"time"

	"kvlab/kvs/cluster/nodes"
	"kvlab/metrics"
)

// RestartMargin is the least time from the window's start to the kill of --restart-at, and
// from the kill to the window's end: the throughput before and after it takes some seconds.
const RestartMargin = 3 * time.Second

// CheckRestart returns an error that names the flag and its right form if the first server
// cannot be killed at RestartAt and started again on its store, given the programs' final
// settings.
func (p Plan) CheckRestart(settings map[metrics.Role]metrics.Settings) error {
	server, client := settings[metrics.Server], settings[metrics.Client]
	window := client.Secs()
	switch {
	case !server.Own():
		return fmt.Errorf("--restart-at: it is for kvlab's own servers: want no --target")
	case server.Sync() == "":
		return fmt.Errorf("--restart-at: -engine %s keeps nothing when its server is killed: want one on disk, such as --engine pebble --dir FOLDER --sync os", server.Engine())
	case server.Sync() == "none":
		return fmt.Errorf("--restart-at: -sync none may lose acknowledged writes when a server is killed: want --sync os or --sync disk")
	case server.Dir() == "":
		return fmt.Errorf("--restart-at: the folder of the stores is temporary: want --dir FOLDER, which a server can open again")
	case !client.Retry():
		return fmt.Errorf("--restart-at: the clients end when a connection breaks: want --retry")
	case client.Open():
		return fmt.Errorf("--restart-at: it is for a closed loop: want no --rate")
	case p.RestartAt < RestartMargin || p.RestartAt+RestartMargin > window:
		return fmt.Errorf("--restart-at %s: want %s or more, and the same time after it in the window, which has %s (--secs)", p.RestartAt, RestartMargin, window)
	}
	for _, place := range p.Places {
		if place.Role == metrics.Server && place.Way.Kind == nodes.Srun {
			return fmt.Errorf("--restart-at: it is for servers on this machine or reached by ssh, not for steps of a Slurm job")
		}
	}
	return nil
}
