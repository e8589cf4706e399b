package verdict

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"kvlab/metrics"
	"kvlab/workload"
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
// seed gives, due when it says, and as many as the rate says.
func checkArrivals(run *judged) finding {
	if run.Offered == nil {
		return inapplicable("no -rate: a closed loop")
	}
	for _, node := range run.Clients() {
		s, sums := node.Summary, roundsOf(node)
		if s.Offered == nil {
			continue
		}
		clients := float64(run.Count(metrics.Client))
		if sums.Offered != s.Offered.Ops {
			return failed(node.Name, "%d operations were due in the window, of its workers %d", s.Offered.Ops, sums.Offered)
		}
		if rate, err := strconv.ParseFloat(run.Workload.Rate(), 64); err == nil && math.Abs(s.Offered.OpsPerS*clients-rate) > 1e-6*rate {
			return failed(node.Name, "%.1f ops/s were offered by one of %d clients, -rate is %s", s.Offered.OpsPerS, run.Count(metrics.Client), run.Workload.Rate())
		}
		if all := s.Offered.RunOpsPerS; math.Abs(s.Offered.OpsPerS*clients-all) > 1e-6*all {
			return failed(node.Name, "%.1f ops/s were offered by one of %d clients, all together offered %.1f", s.Offered.OpsPerS, run.Count(metrics.Client), all)
		}
		if length := time.Duration(s.Offered.ClosesNs - s.Offered.OpensNs).Seconds(); math.Abs(length-s.WindowLengthS) > 1e-6 {
			return failed(node.Name, "operations were due in a window of %.6f s, the client's has %.6f s", length, s.WindowLengthS)
		}
		mean := s.Offered.OpsPerS * s.WindowLengthS
		if math.Abs(float64(s.Offered.Ops)-mean) > rareDeviations*math.Sqrt(mean)+float64(len(s.Workers)) {
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

// checkDues: a worker's operations were due when the seed, the law and the rate say, and
// its answered ones are the first of these. Their gaps disperse as those of the law: the
// mean square of exponential gaps is twice the square of their mean, with a variance of 20
// for a mean of 1. Fewer than 1000 are not near enough to normal.
func checkDues(run *judged, w placed) finding {
	o, law := w.node.Summary.Offered, run.Workload.Arrivals()
	arrivals := workload.NewArrivals(law, o.RunOpsPerS, run.Workload.Seed(), w.place)
	var due [512]time.Duration
	var ops, digest uint64
	var last, squares, gaps float64
	for n := len(due); n == len(due); {
		n = arrivals.Due(time.Duration(o.ClosesNs-1), due[:])
		for _, at := range due[:n] {
			gap := (float64(at) - last) / 1e9 * o.RunOpsPerS / float64(w.place.Nodes*w.place.Workers)
			last, squares, gaps = float64(at), squares+gap*gap, gaps+1
			if int64(at) < o.OpensNs {
				continue
			}
			if ops++; ops <= w.Rounds.Ops {
				digest = workload.Dues(digest, at)
			}
		}
	}
	who := fmt.Sprintf("worker %d", w.place.Worker)
	want, off := 1.0, 0.01
	if law == workload.Poisson {
		want, off = 2, rareDeviations*math.Sqrt(20/max(gaps, 1))
	}
	switch {
	case ops != w.Rounds.Offered:
		return failed(w.node.Name, "%d operations of %s were due in the window, drawn again from the seed %d", w.Rounds.Offered, who, ops)
	case w.Rounds.Unknown == 0 && fmt.Sprintf("%016x", digest) != w.Rounds.Dues:
		return failed(w.node.Name, "the operations of %s were not timed from when the seed says that they were due", who)
	case gaps > 1000 && math.Abs(squares/gaps-want) > off:
		return failed(w.node.Name, "the gaps between due times of %s have a mean square of %.2f, -arrivals %s gives %.0f", who, squares/gaps, law, want)
	}
	return finding{}
}
