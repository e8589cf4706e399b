package verdict

import (
	"fmt"
	"iter"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"kvlab/kvs/route"
	"kvlab/kvs/verdict/stages"
	"kvlab/kvs/verdict/work"
	"kvlab/metrics"
	"kvlab/workload"
	"kvlab/workload/profile"
)

// redrawn is the number of operations of a run that are drawn again, and likewise of due
// times: 0.2 s of each. A run with more has them drawn again of some workers.
const redrawn = 1 << 24

// placed is a worker's account, with its place among all workers.
type placed struct {
	metrics.WorkerAccount
	node  metrics.RunNode
	place workload.Place
}

// workers returns the workers of all clients in the random order of the run's Choice, which
// no node knew before it reported.
func (run *judged) workers() []placed {
	var all []placed
	clients := run.Clients()
	for i, node := range clients {
		for k, w := range node.Summary.Workers {
			place := workload.Place{Node: i, Nodes: len(clients), Worker: k, Workers: len(node.Summary.Workers)}
			if run.Count(metrics.Server) == 0 { // each process is the only client
				place.Node, place.Nodes = 0, 1
			}
			all = append(all, placed{w, node, place})
		}
	}
	choice, _ := strconv.ParseUint(run.Choice, 16, 64)
	rand.New(rand.NewPCG(choice, 0)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// affordable yields the first workers that cost no more than redrawn together.
func (run *judged) affordable(cost func(placed) float64) iter.Seq[placed] {
	return func(yield func(placed) bool) {
		spent := 0.0
		for _, w := range run.workers() {
			if spent += cost(w); spent > redrawn || !yield(w) {
				return
			}
		}
	}
}

// rareDeviations: a Poisson or binomial count is further from its mean once in 10^9 times.
const rareDeviations = 6

// checkArrivals: the operations that an open loop offered in the window are those that the
// seed gives, due when it says, and as many as the rate says. Of a Poisson number of transactions
// of n operations, these have n times the variance.
func checkArrivals(run *judged) finding {
	if run.Offered == nil {
		return inapplicable("no -rate: a closed loop")
	}
	for _, node := range run.Clients() {
		s, sums := node.Summary, roundsOf(node)
		if s.Offered == nil {
			continue
		}
		clients, each := float64(run.Count(metrics.Client)), max(1, float64(run.Workload.Txn()))
		if sums.Offered != s.Offered.Ops {
			return failed(node.Name, "%d operations were due in the window, of its workers %d", s.Offered.Ops, sums.Offered)
		}
		if rate := profile.Parsed(run.Workload.Rate()).OpsPerS; rate > 0 && math.Abs(s.Offered.OpsPerS*clients-rate) > 1e-6*rate {
			return failed(node.Name, "%.1f ops/s were offered by one of %d clients, -rate is %s", s.Offered.OpsPerS, run.Count(metrics.Client), run.Workload.Rate())
		}
		if all := s.Offered.RunOpsPerS; math.Abs(s.Offered.OpsPerS*clients-all) > 1e-6*all {
			return failed(node.Name, "%.1f ops/s were offered by one of %d clients, all together offered %.1f", s.Offered.OpsPerS, run.Count(metrics.Client), all)
		}
		if length := time.Duration(s.Offered.ClosesNs - s.Offered.OpensNs).Seconds(); math.Abs(length-s.WindowLengthS) > 1e-6 {
			return failed(node.Name, "operations were due in a window of %.6f s, the client's has %.6f s", length, s.WindowLengthS)
		}
		mean := profile.Parsed(run.Workload.Rate()).Course(s.Offered.OpsPerS).Sum(time.Duration(s.WindowLengthS * float64(time.Second)))
		if run.Workload.Ops() == 0 && !run.replays() && math.Abs(float64(s.Offered.Ops)-mean) > rareDeviations*math.Sqrt(mean*each)+each*float64(len(s.Workers)) {
			return failed(node.Name, "%d operations were due in the window, the rate gives %.0f", s.Offered.Ops, mean)
		}
	}
	open := func(w placed) float64 {
		if o := w.node.Summary.Offered; o != nil {
			return o.OpsPerS / float64(w.place.Workers) * float64(o.ClosesNs) / 1e9
		}
		return 0
	}
	again := 0
	for w := range run.affordable(open) {
		if w.node.Summary.Offered != nil && w.Rounds != nil {
			if f := checkDues(run, w); f.failed() {
				return f
			}
			again++
		}
	}
	return passed("%d operations were due; the due times of %d workers were drawn again", run.Offered.Ops, again)
}

// checkStages: the operations of each stage of -rate are those of its level.
func checkStages(run *judged) finding { return finding(stages.Judge(run.Run)) }

// checkDues: a worker's operations were due when the seed, the law and the rate say, and
// its answered ones are the first of these. Their gaps disperse as those of the law: the
// mean square of exponential gaps is twice the square of their mean, with a variance of 20
// for a mean of 1. Fewer than 1000 are not near enough to normal.
func checkDues(run *judged, w placed) finding {
	o, law, each := w.node.Summary.Offered, run.Workload.Arrivals(), max(1, run.Workload.Txn())
	course, opens, workers := profile.Parsed(run.Workload.Rate()).Course(o.RunOpsPerS), time.Duration(o.OpensNs), float64(w.place.Nodes*w.place.Workers*each)
	arrivals := workload.NewArrivals(law, course.First(), run.Workload.Seed(), w.place)
	if e := run.expected; e != nil && e.stream != nil {
		arrivals = e.stream.Arrivals(law, course.First(), w.place)
	}
	arrivals.Together(each)
	arrivals.Follow(course, opens)
	var due [512]time.Duration
	var ops, digest uint64
	last, squares, gaps := course.Sum(-opens)/workers, 0., 0.
	for n := len(due); n == len(due); {
		n = arrivals.Due(time.Duration(o.ClosesNs-1), due[:])
		for _, at := range due[:n] {
			if units := course.Sum(at-opens) / workers; units > last { // not of the same transaction
				last, squares, gaps = units, squares+(units-last)*(units-last), gaps+1
			}
			if int64(at) < o.OpensNs {
				continue
			}
			if ops++; ops <= w.Rounds.Ops {
				digest = workload.Dues(digest, at)
			}
		}
	}
	want, off := 1.0, 0.01
	if law == workload.Poisson {
		want, off = 2, rareDeviations*math.Sqrt(20/max(gaps, 1))
	}
	switch {
	case ops != w.Rounds.Offered:
		return failed(w.node.Name, "%d operations of worker %d were due in the window, drawn again from the seed %d", w.Rounds.Offered, w.place.Worker, ops)
	case w.Rounds.Unknown == 0 && fmt.Sprintf("%016x", digest) != w.Rounds.Dues:
		return failed(w.node.Name, "the operations of worker %d were not timed from when the seed says that they were due", w.place.Worker)
	case gaps > 1000 && !run.replays() && math.Abs(squares/gaps-want) > off:
		return failed(w.node.Name, "the gaps between due times of worker %d have a mean square of %.2f, -arrivals %s gives %.0f", w.place.Worker, squares/gaps, law, want)
	}
	return finding{}
}

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
	config, _, keys, err := work.Of(run.Workload)
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

// cost returns the number of operations of the workers that share a worker's connection, of a number
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
	rest, _ := source.Rest(metrics.ReplayRest)
	for _, op := range rest {
		s.add(op.Kind, op.Key)
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
	known := run.Store == nil && run.Restart == nil && e.plan != nil && !slices.ContainsFunc(run.Nodes, metrics.RunNode.Storeless)
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
