package witness

import (
	"math"

	"kvlab/metrics"
	"kvlab/metrics/stats"
	"kvlab/workload"
)

// hotMasses returns the shares of the hot keys by the law; nil of a workload whose keys are not
// the ranks, or whose operations are not independent.
func (j *judged) hotMasses() []float64 {
	if j.err != nil || !j.plan.Fixed() {
		return nil
	}
	masses := make([]float64, min(metrics.HotKeys, j.asked.Workload.Records))
	for rank := range masses {
		if j.plan.Key(uint64(rank)) != uint64(rank) {
			return nil
		}
		masses[rank] = j.plan.Mass(uint64(rank))
	}
	return masses
}

// mass returns the share of the keys from one up to, but without, another. It takes steps of a
// 512th, and the middle of each: Zipf's law is off from its middle by the step's square, some
// 10^-6.
func mass(p *workload.Plan, from, to uint64) (sum float64) {
	for from < to {
		step := min(max(1, from>>9), to-from)
		sum += float64(step) * p.Mass(from+step/2)
		from += step
	}
	return sum
}

// fewest is how many operations a popular key is to have: a key without any is then one of 10^11.
const fewest = 25

// hot returns a server's counts of the popular keys that are at this server alone, and the shares
// that the law gives them. What no server has is at the first. Which keys are popular does not
// depend on their counts.
func (j *judged) hot(at int, masses []float64) (counts []uint64, shares []float64) {
	for key, mass := range masses {
		n, others := j.servers[at].at(key), uint64(0)
		for i, s := range j.servers {
			if i != at {
				others += s.at(key)
			}
		}
		if others == 0 && (n > 0 || at == 0) && mass*float64(j.ops()) >= fewest {
			counts, shares = append(counts, n), append(shares, mass)
		}
	}
	return counts, shares
}

// lawText says what a wrong law may come from.
const lawText = "another theta, a generator of several goroutines without a lock, or operations that are left out or merged"

// checkLaw compares the popular keys of each server among each other, which no routing and no
// lost batch changes, and the ranges of keys of all servers.
func checkLaw(j *judged) finding {
	masses := j.hotMasses()
	if masses == nil {
		return inapplicable("the workload's keys are not drawn independently by their numbers")
	}
	var fit stats.Fit
	for at, s := range j.servers {
		var one stats.Fit
		counts, shares := j.hot(at, masses)
		one.Add(counts, shares, 0)
		if !one.Fits() {
			return failed(s.Node, "the popular keys have not the shares of %s, theta %g (chi-square %.0f, at most %.0f): %s",
				j.asked.Workload.Workload, j.asked.Workload.Theta, one.Statistic, one.Limit(), lawText)
		}
		fit.Statistic, fit.Freedom, fit.Observed = fit.Statistic+one.Statistic, fit.Freedom+one.Freedom, fit.Observed+one.Observed
	}
	if text := j.missing(masses); text != "" {
		return passed("chi-square of the popular keys %.0f, at most %.0f; client-dropped has the servers' shares", fit.Statistic, fit.Limit())
	}
	octaves := make([]uint64, 64-10)
	for _, s := range j.servers {
		for i, n := range s.Witness.Octaves[:min(len(octaves), len(s.Witness.Octaves))] {
			octaves[i] += n
		}
	}
	records := j.asked.Workload.Records
	for i, n := range octaves {
		from := uint64(metrics.HotKeys) << i
		if from >= records {
			break
		}
		to := min(2*from, records)
		share := mass(j.plan, from, to)
		if slack := lawTolerance * share * float64(j.ops()); math.Abs(float64(n)-share*float64(j.ops())) > slack && j.off(n, j.ops(), share) {
			return failed("", "the keys %d to %d got %.3f %% of the operations where %s, theta %g, gives them %.3f %%: %s",
				from, to-1, 100*stats.Portion(n, j.ops()), j.asked.Workload.Workload, j.asked.Workload.Theta, 100*share, lawText)
		}
	}
	return passed("chi-square of %d popular keys %.0f, at most %.0f; the others have their shares in octaves", fit.Freedom+1, fit.Statistic, fit.Limit())
}

// lawTolerance is the relative deviation that is accepted in a sample of any size, as that of
// stats.Fit: generators compute powers of other precision.
const lawTolerance = 0.003

// missing returns what a server's popular keys lack beside those of the others, "" for nothing.
func (j *judged) missing(masses []float64) (node string) {
	var all uint64
	whole := 0.0
	counts, shares := make([]uint64, len(j.servers)), make([]float64, len(j.servers))
	for at := range j.servers {
		some, of := j.hot(at, masses)
		counts[at], shares[at] = stats.Total(some), stats.Total(of)
		all, whole = all+counts[at], whole+shares[at]
	}
	for at, n := range counts {
		share := shares[at] / whole
		if mean := share * float64(all); float64(n) < mean*(1-lawTolerance) && j.off(n, all, share) {
			return j.servers[at].Node
		}
	}
	return ""
}

func checkDropped(j *judged) finding {
	if j.above() && j.unanswered == 0 {
		return failed("", "it %s, and all calls were answered: what it counts beyond them is dropped, or left in a queue", j.says())
	}
	masses := j.hotMasses()
	if masses == nil {
		return inapplicable("the workload's keys are not drawn independently by their numbers")
	}
	if node := j.missing(masses); node != "" && len(j.servers) > 1 {
		return failed(node, "the popular keys of this server got fewer operations than the law gives them beside those of the others: operations for a server that is busy are dropped")
	}
	return passed("the servers' popular keys have their shares of the operations")
}
