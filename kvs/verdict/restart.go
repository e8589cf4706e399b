package verdict

import (
	"slices"

	"kvlab/metrics"
)

// checkUnknown: the outcome of operations is unknown only because the launcher killed their
// server, and of no more calls than were in flight.
func checkUnknown(run *judged) finding {
	all := uint64(0)
	for _, node := range run.Clients() {
		s := node.Summary
		most := uint64(len(s.Workers) * run.Workload.InFlight())
		ofWorkers, ofPeers := uint64(0), uint64(0)
		for _, w := range s.Workers {
			ofWorkers += w.Unknown
		}
		for _, peer := range s.Peers {
			ofPeers += peer.Unknown.Ops()
			switch unknown := peer.Unknown; {
			case unknown == metrics.Counts{}:
			case !run.Restart.Of(peer.Peer):
				return failed(peer.Peer, "the outcome of %d operations of %s is unknown: the server's process ended, and --restart-at did not ask for it", unknown.Ops(), node.Name)
			case unknown.Calls > most:
				return failed(node.Name, "the outcome of %d calls to server %s is unknown, of %d that were in flight at most", unknown.Calls, peer.Peer, most)
			}
		}
		all += ofPeers
		if ofWorkers != ofPeers {
			return failed(node.Name, "the outcome of %d operations is unknown by its workers' accounts, and of %d by its servers'", ofWorkers, ofPeers)
		}
	}
	return passed("the outcome of %d operations is unknown", all)
}

// checkRestarted: the operations that the two processes of a killed server report lie
// between those that the clients verified, but for the ones that the first process applied
// after its last report, and those that the clients sent.
func checkRestarted(run *judged) finding {
	if run.Restart == nil {
		return inapplicable("no --restart-at")
	}
	i := slices.IndexFunc(run.Servers(), func(n metrics.RunNode) bool { return n.Name == run.Restart.Server })
	if i < 0 {
		return failed("", "the server %s that was killed is none of the run's", run.Restart.Server)
	}
	var unknown metrics.Counts
	for _, client := range run.Summaries(metrics.Client) {
		if i < len(client.Peers) {
			unknown = unknown.Add(client.Peers[i].Unknown)
		}
	}
	verified := run.Run.VerifiedBy(i)
	reported := run.Restart.Reported.Add(run.Servers()[i].Summary.Total)
	sent, applied := verified.Add(unknown).ByKind(), reported.Add(run.Restart.Unreported).ByKind()
	for k, name := range metrics.KindNames {
		if n := reported.ByKind()[k]; n > sent[k] {
			return failed(run.Restart.Server, "the server's two processes applied %d %ss, of which the clients sent %d: some were applied twice, or a third-party client's", n, name, sent[k])
		}
		if n := verified.ByKind()[k]; n > applied[k] {
			return failed(run.Restart.Server, "the clients verified %d %ss, of which the server's two processes applied at most %d: the others were answered without it", n, name, applied[k])
		}
	}
	return passed("%d operations verified, %d reported by both processes", verified.Ops(), reported.Ops())
}
