package verdict

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"

	"kvlab/kvs/route"
	"kvlab/workload"
)

// sender makes the operations of a run's workers again: those of the load, of the workload and
// of the audit.
type sender struct {
	plan    *workload.Plan
	keys    route.Keys
	records uint64
	audited []uint64 // ids of the records that the audit reads
	spots   []uint32 // numbers of those that every client reads in the window, too

	ops [1 << 9]workload.Op
	key []byte
	sum uint64 // as metrics.Sessions.Keys
}

func (run *judged) sender() (*sender, error) {
	config, _, keys, err := workOf(run.Workload)
	if err != nil {
		return nil, err
	}
	s := &sender{plan: run.expected.stream, keys: keys, records: config.Records}
	if run.Audit == nil {
		return s, nil
	}
	secret, err := strconv.ParseUint(run.Audit.Secret, 16, 64)
	for _, rank := range s.plan.Sample(secret, run.Audit.Each) {
		s.audited = append(s.audited, s.plan.Key(rank))
	}
	s.audited = append(s.audited, s.plan.SampleInserts(secret)...)
	s.spots = workload.SampleSpots(secret, len(s.audited))
	return s, err
}

// add adds an operation on a record.
func (s *sender) add(kind workload.Kind, id uint64) {
	s.key, _ = s.keys.Append(s.key[:0], id)
	s.sum += bits.RotateLeft64(route.Word(s.key), int(kind))
}

// cost is the number of operations of the workers that share a worker's connection, of a number
// of connections.
func (s *sender) cost(w placed, connections int) (ops float64) {
	for i := w.place.Worker % connections; i < w.place.Workers; i += connections {
		ops += float64(w.node.Summary.Workers[i].Verified)
	}
	return ops
}

// sendLane sets the sum to that of these workers.
func (s *sender) sendLane(w placed, connections int) finding {
	s.sum = 0
	for w.place.Worker %= connections; w.place.Worker < w.place.Workers; w.place.Worker += connections {
		i, digests := w.place.Worker, w.node.Summary.Digests
		drawn := w.node.Summary.Workers[i].Drawn
		if digest := s.send(w.place, drawn); i >= len(digests) || digests[i] != digest {
			return failed(w.node.Name, "the %d operations of worker %d are not those of its seed and workload, as the launcher draws them again to the last", drawn, i)
		}
	}
	return finding{}
}

// send adds all operations of a worker that drew a number of them, and returns the digest of
// these.
func (s *sender) send(place workload.Place, drawn uint64) (digest string) {
	for id, last := place.Part(s.records); id < last; id++ {
		s.add(workload.Update, id)
		s.add(workload.Read, id)
	}
	source := s.plan.Source(place)
	for drawn > 0 {
		some := s.ops[:min(drawn, uint64(len(s.ops)))]
		source.Fill(some)
		for _, op := range some {
			s.add(op.Kind, op.Key)
		}
		drawn -= uint64(len(some))
	}
	from, to := place.Part(uint64(len(s.audited)))
	for _, id := range s.audited[from:to] {
		s.add(workload.Read, id)
	}
	place.Node, place.Nodes = 0, 1 // each client reads all spots
	from, to = place.Part(uint64(len(s.spots)))
	for _, number := range s.spots[from:to] {
		s.add(workload.Read, s.audited[number])
	}
	return fmt.Sprintf("%016x", source.Digest())
}

// longestSent bounds the operations that checkSent draws again: those of a default run's
// connection at 12M operations a second, for which it takes some seconds.
const longestSent = 1 << 27

// checkSent: the operations of some workers, which the run's Choice selects, are those of their
// seed from the first to the last, and the servers applied these on the connections of
// these workers, with those of the load and of the audit. It draws one connection's again, of up to
// longestSent operations, and others as far as redrawn goes.
func checkSent(run *judged) finding {
	e := run.expected
	if e == nil || e.stream == nil {
		return inapplicable("the flags give no stream of operations")
	}
	s, err := run.sender()
	if err != nil {
		return failed("", "%v", err)
	}
	known := run.Store == nil && run.Restart == nil && e.plan != nil && !slices.ContainsFunc(run.Nodes, withoutStore)
	made, spent := make(map[[2]int]bool), 0.0
	for _, w := range run.workers() {
		lanes, fault := make([]lane, w.place.Workers), finding{}
		if known {
			if lanes, fault = run.lanes(w.node); fault.failed() {
				return fault
			}
		}
		number := w.place.Worker % len(lanes)
		if id := [2]int{w.place.Node, number}; made[id] {
			continue
		} else if spent += s.cost(w, len(lanes)); spent > redrawn && (len(made) > 0 || spent > longestSent) {
			break
		} else {
			made[id] = true
		}
		if f := s.sendLane(w, len(lanes)); f.failed() {
			return f
		}
		if known && s.sum != lanes[number].keys {
			return failed(w.node.Name, "the servers applied other operations on the client's connection %d than the load, the seed and the audit give its workers, drawn again to the last: the client sent others than it drew", number)
		}
	}
	what := "they are what the client drew"
	if known {
		what = "they are what the servers applied on these connections"
	}
	return passed("the launcher drew all operations of %d of the connections again: %s", len(made), what)
}
