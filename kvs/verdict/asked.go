package verdict

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"kvlab/kvs/verdict/ends"
	"kvlab/kvs/verdict/transactions"
	"kvlab/metrics"
	"kvlab/workload"
)

// checkWorkers: every operation that a worker drew was done once, or its outcome is unknown,
// and no two workers drew the same operations. Without servers each process is client 0.
func checkWorkers(run *judged) finding {
	drawn := uint64(0)
	openings := make(map[string]string) // digest -> whose
	for _, node := range run.Clients() {
		if run.expected == nil {
			clear(openings)
		}
		for i, w := range node.Summary.Workers {
			drawn += w.Drawn
			who := fmt.Sprintf("worker %d of %s", i, node.Name)
			sent := w.Verified + w.Unknown - w.Loaded - w.Audited
			switch other, known := openings[w.Opening]; {
			case sent < w.Drawn:
				return failed(node.Name, "worker %d drew %d operations and %d of them were done: the others were %s", i, w.Drawn, sent, transactions.Undone(node))
			case sent > w.Drawn:
				return failed(node.Name, "worker %d drew %d operations and %d were done: some more than once, or not of the workload", i, w.Drawn, sent)
			case w.Drawn == 0:
			case known && !byChance(run.expected, w.OpeningOps):
				return failed(node.Name, "%s drew the same operations as %s: they share a generator", who, other)
			default:
				openings[w.Opening] = who
			}
		}
	}
	return passed("%d operations were drawn, each done once", drawn)
}

// checkOps: a run that ends with its operations has exactly as many.
func checkOps(run *judged) finding { return finding(ends.Judge(run.Run, run.expected.stream)) }

// checkScans: every scan asked each server once.
func checkScans(run *judged) finding {
	for _, node := range run.Clients() {
		for _, peer := range node.Summary.Peers {
			if scans, asked := node.Summary.Total.Scans, peer.Counts.Scans+peer.Counts.ScanParts; asked != scans {
				return failed(node.Name, "%d scans asked server %s %d times: a scan asks every server once", scans, peer.Peer, asked)
			}
		}
	}
	return passed("%d scans asked every server once", run.Total.Scans)
}

// byChance reports whether two workers with separate generators may draw the same
// ops operations: more often than once in 10^15 pairs. The probability of the
// likeliest operation bounds that of a repetition. It is that of its kind where
// operations are not drawn independently.
func byChance(e *expectation, ops uint64) bool {
	if e == nil {
		return ops < leastOpening
	}
	likeliest := cmp.Or(e.TopShare, 1) * slices.Max(e.kinds[:])
	return -float64(ops)*math.Log(likeliest) < math.Log(1e15)
}

// leastOpening is a number of first operations that no other stream shares by chance.
const leastOpening = 1024

// toldS is more than the rounding of nanoseconds in seconds.
const toldS = 1e-6

// ownFlags are those that the launcher sets for each process. Their class in a record is the
// node's word.
var ownFlags = []string{"node", "listen", "port", "server", "servers", "hosts", "client", "clients", "replay-file"}

// checkFlags: a node has the flags with which the launcher started it, and a client a window of
// the length that the launcher told it. Without a warm-up the window is open before the client
// is told: it is longer if its end is over by then.
func checkFlags(run *judged) finding {
	for _, node := range run.Nodes {
		asked := run.Asked[node.Role]
		if asked == nil || run.Window == nil {
			return failed("", "run.json does not say which flags and which window the launcher asked for")
		}
		for _, flag := range slices.Sorted(maps.Keys(asked)) {
			own := slices.Contains(ownFlags, flag) || flag == reopenFlag && run.Restart.Of(node.Name)
			if has := node.Config.Flags[flag]; has != asked[flag] && !own {
				return failed(node.Name, "the %s has -%s %q, the launcher asked for %q", node.Role, flag, has, asked[flag])
			}
		}
		if s := node.Summary; node.Role == metrics.Client {
			more := s.WindowLengthS - run.Window.UsedS
			if more < -toldS || more > toldS && node.Config.Flags.WarmUp() > 0 {
				return failed(node.Name, "the client's window is %.3f s long, the launcher asked for %.3f s", s.WindowLengthS, run.Window.UsedS)
			}
		}
	}
	return finding{}
}

// reopenFlag is the flag that the launcher adds for a server in place of a killed one.
const reopenFlag = "reopen"

// checkAsked: the nodes have the flags and the window that the launcher asks for, and the
// clients' workers the first operations of the flags' seed, drawn again here.
func checkAsked(run *judged) finding {
	if f := checkFlags(run); f.failed() {
		return f
	}
	e := run.expected
	if e == nil || e.stream == nil {
		return inapplicable("the flags give no stream of operations")
	}
	ops, again := make([]workload.Op, 1<<14), 0
	for _, w := range run.workers() {
		asked := run.Workload.Workers()
		if asked > 0 && w.place.Workers != asked {
			return failed(w.node.Name, "the client has %d workers, -workers is %d", w.place.Workers, asked)
		}
		if w.OpeningOps > uint64(len(ops)) || w.Drawn > 0 && 2*w.OpeningOps <= min(w.Drawn, leastOpening) {
			return failed(w.node.Name, "worker %d tells the digest of %d first operations of %d", w.place.Worker, w.OpeningOps, w.Drawn)
		}
		source := e.stream.Source(w.place)
		source.Fill(ops[:w.OpeningOps])
		if want := fmt.Sprintf("%016x", source.Digest()); w.Opening != want {
			return failed(w.node.Name, "worker %d's first operations are not those of -seed %d and the workload, as the launcher draws them again", w.place.Worker, run.Workload.Seed())
		}
		again++
	}
	return passed("the launcher drew the first operations of %d workers again", again)
}

// checkCompared: the values that are read are compared in full as often as -verify says. The
// distance to the next one is uniform from 1 to 2N-1, so of n values n/N are compared, with a
// variance of less than n/(3N) and one more for each worker. The load compares all.
func checkCompared(run *judged) finding {
	every, compared := run.Workload.Verify(), uint64(0)
	if every == 0 {
		return inapplicable("-verify compares no values, or is not known")
	}
	for _, node := range run.Clients() {
		v, n := node.Summary.Verification, float64(every)
		least := float64(v.Checked) / n
		if every > 1 {
			least -= rareDeviations*math.Sqrt(least/3) + float64(2*len(node.Summary.Workers))
		}
		if float64(v.Compared) < least {
			return failed(node.Name, "%d of %d values were compared in full, -verify %s compares %.0f at least", v.Compared, v.Checked, run.Workload["verify"], least)
		}
		compared += v.Compared
	}
	return passed("%d values were compared in full, as -verify says", compared)
}

// checkStreams: the operations are those of the seed and the workload.
func checkStreams(run *judged) finding {
	workers := 0
	for _, node := range run.Clients() {
		workers += len(node.Summary.Workers)
		for i, w := range node.Summary.Workers {
			if w.Opening != w.Redrawn {
				return failed(node.Name, "worker %d's first operations are not those of its seed and workload: a generator that is shared, or has other parameters", i)
			}
		}
	}
	return passed("the first operations of %d workers were drawn again", workers)
}

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
