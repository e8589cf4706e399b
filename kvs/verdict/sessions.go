package verdict

import (
	"kvlab/metrics"
)

// checkSessions: a client has the connections that its flags ask for, with their protocol, and
// each carries the operations of the workers that share it. One that replaced another
// counts with it.
func checkSessions(run *judged) finding {
	switch {
	case run.Store != nil:
		return inapplicable("driver %s: its servers do not tell connections apart", run.Store.Driver)
	case run.Restart != nil:
		return inapplicable("--restart-at: the killed server does not tell what its connections carried")
	}
	connections := 0
	for _, node := range run.Clients() {
		lanes, fault := run.lanes(node)
		if fault.failed() {
			return fault
		}
		workers := node.Summary.Workers
		each, shared := len(workers), (len(workers)+metrics.ConnWorkers-1)/metrics.ConnWorkers
		switch asked := run.Workload.Connections(); {
		case asked > 0 && len(lanes) != asked:
			return failed(node.Name, "the servers had %d connections of the client each, -connections is %d", len(lanes), asked)
		case asked == 0 && len(lanes) != each && len(lanes) != shared:
			return failed(node.Name, "the servers had %d connections of the client each, its %d workers have %d or %d", len(lanes), each, each, shared)
		}
		verified := make([]uint64, len(lanes))
		for i, w := range workers {
			verified[i%len(lanes)] += w.Verified
		}
		for i, l := range lanes {
			if l.ops != verified[i] {
				return failed(node.Name, "the client's connection %d carried %d operations, the workers that have it verified %d: they use others", i, l.ops, verified[i])
			}
		}
		connections += len(lanes) * run.Count(metrics.Server)
	}
	return passed("%d connections have the protocol of the flags, and carried what their workers verified", connections)
}

// lane is what the connections of one number carried to all servers.
type lane struct {
	ops  uint64
	keys uint64 // see metrics.Sessions
}

// lanes returns a client's connections by their number.
func (run *judged) lanes(node metrics.RunNode) (lanes []lane, fault finding) {
	want := metrics.ProtocolOf(run.Workload)
	for _, server := range run.Servers() {
		for _, peer := range server.Summary.Peers {
			if peer.Peer != node.Name {
				continue
			}
			for _, s := range peer.Sessions {
				if s.Protocol != want {
					return nil, failed(node.Name, "%d of its connections to server %s had %s, its flags ask for %s", len(s.Ops), server.Name, s.Protocol, want)
				}
				if len(s.Keys) != len(s.Ops) {
					return nil, failed(server.Name, "the server gives no account of the keys of %d connections of %s", len(s.Ops), node.Name)
				}
				lanes = append(lanes, make([]lane, max(0, len(s.Ops)-len(lanes)))...)
				for i := range s.Ops {
					lanes[i].ops, lanes[i].keys = lanes[i].ops+s.Ops[i], lanes[i].keys+s.Keys[i]
				}
			}
		}
	}
	if lanes == nil {
		return nil, failed(node.Name, "no server gives an account of the client's connections")
	}
	return lanes, finding{}
}
