package verdict

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"kvlab/kvs/verdict/ends"
	"kvlab/metrics"
	"kvlab/metrics/account"
	"kvlab/metrics/stats"
)

// clockRate is how much the rate of a clock may differ from that of the launcher's. NTP
// changes a rate by 0.05 % at most (adjtimex(2)).
const clockRate = 0.005

// checkClocks: over the whole run, the two clocks of each node advanced as the launcher's
// did. The launcher read it before and after each reading of theirs.
func checkClocks(run *judged) finding {
	known := 0.0 // to which share, at worst
	for _, node := range run.Nodes {
		if len(node.Readings) < 2 {
			return failed(node.Name, "the launcher read the node's clocks %d times: their rate is not known", len(node.Readings))
		}
		if slices.ContainsFunc(node.Readings, func(r metrics.Reading) bool { return r.Asked.IsZero() }) {
			return failed(node.Name, "a reading of the node's clocks does not say when the launcher asked for it")
		}
		for _, clock := range []struct {
			name string
			of   func(metrics.Reading) int64
		}{
			{"the clock of its records", func(r metrics.Reading) int64 { return r.Node.UnixNano() }},
			{"the clock of its window", func(r metrics.Reading) int64 { return r.WindowNs }},
		} {
			if node.Role == metrics.Server && clock.of(node.Readings[0]) == 0 {
				continue
			}
			share, f := checkClock(node, clock.name, clock.of)
			if f.failed() {
				return f
			}
			known = max(known, share)
		}
	}
	if known > 1-minOverlap {
		return doubted("", "answers took so long that the rate of a clock is only known to %.1f %%", 100*known)
	}
	return passed("each clock's rate is the launcher's, to %.2f %%", 100*known)
}

// checkClock compares one clock's advance between any two readings with the launcher's. It
// returns the share to which the rate is known.
func checkClock(node metrics.RunNode, name string, of func(metrics.Reading) int64) (known float64, f finding) {
	known = 1
	for i, a := range node.Readings {
		for _, b := range node.Readings[i+1:] {
			least, most := b.Asked.Sub(a.Answered).Seconds(), b.Answered.Sub(a.Asked).Seconds()
			took := time.Duration(of(b) - of(a)).Seconds()
			if took < (1-clockRate)*least || took > (1+clockRate)*most {
				return 0, failed(node.Name, "%s advanced by %.3f s while %.3f to %.3f s passed for the launcher: it is slow, fast, or was stopped", name, took, least, most)
			}
			known = min(known, clockRate+(most-least)/most)
		}
	}
	return known, f
}

// checkCounted: what a client counts in its window fits what it had counted in all when the
// launcher asked before and after the window's ends, but for what was in flight.
func checkCounted(run *judged) finding {
	heard := ""
	for _, node := range run.Clients() {
		s, sums := node.Summary, roundsOf(node)
		least, most := node.Readings.Ops(s.WindowStart, s.WindowEnd(), 0)
		counted, bound := float64(s.InWindow.Ops()+sums.Spots), inFlight(run, sums)
		if counted < least-bound || counted > most+bound {
			return failed(node.Name, "the client counts %.0f operations in a window of %.3f s, at its ends it had told the launcher of %s: they differ by more than the %.0f that were in flight",
				counted, s.WindowLengthS, between(least, most, "%.0f", ""), bound)
		}
		heard = fmt.Sprintf("%s counts %.0f operations, the launcher heard of %s", node.Name, counted, between(least, most, "%.0f", ""))
	}
	return passed("%s", heard)
}

// checkSeconds: a server's seconds in the window are its window, its count fits what it had
// counted in all when the launcher asked, and its median is that of the seconds. Those of a
// server that was killed are of two processes.
func checkSeconds(run *judged) finding {
	for _, node := range run.Servers() {
		s, h := node.Summary, node.Heard
		if run.Restart.Of(node.Name) {
			continue
		}
		if h == nil {
			return failed(node.Name, "the server gives no account of its seconds in the window")
		}
		if ops := s.InWindow.Ops(); h.Ops != ops || math.Abs(h.LengthS-s.WindowLengthS) > 1e-6*s.WindowLengthS {
			return failed(node.Name, "the server's seconds have %d operations in %.6f s, its window %d in %.6f s", h.Ops, h.LengthS, ops, s.WindowLengthS)
		}
		least, most := node.Readings.Ops(s.WindowStart, s.WindowEnd(), readingS)
		if counted := float64(s.InWindow.Ops()); counted < least || counted > most {
			return failed(node.Name, "the server counts %.0f operations in its window, the launcher heard of %s", counted, between(least, most, "%.0f", ""))
		}
		if last := node.Readings[len(node.Readings)-1]; last.Ops > s.Total.Ops() {
			return failed(node.Name, "the server told the launcher of %d operations and counts %d in all", last.Ops, s.Total.Ops())
		}
		if h.LengthS == 0 && ends.Ended(run.Run) { // its clients had ended before it heard of the window
			continue
		}
		if f := checkMedian(node); f.failed() {
			return f
		}
	}
	return passed("%d servers", run.Count(metrics.Server))
}

// checkMedian: a server's seconds are its window, and have its median. Only the first of a long
// window are known.
func checkMedian(node metrics.RunNode) finding {
	h := node.Heard
	var rates []float64
	ops, length := uint64(0), 0.
	for _, s := range h.Seconds {
		rates, ops, length = append(rates, metrics.PerSecond(float64(s.Ops), s.LengthS)), ops+s.Ops, length+s.LengthS
	}
	switch {
	case len(rates) >= metrics.MostSeconds:
		return finding{}
	case ops != h.Ops || math.Abs(length-h.LengthS) > 1e-6*h.LengthS || node.MedianOpsPerS == nil:
		return failed(node.Name, "the server's %d seconds have %d operations in %.6f s, and its window %d in %.6f s", len(rates), ops, length, h.Ops, h.LengthS)
	}
	if median, said := stats.Median(rates), *node.MedianOpsPerS; math.Abs(said-median) > 1e-6*median {
		return failed(node.Name, "the server's median is given as %.1f ops/s, that of its seconds is %.1f", said, median)
	}
	return finding{}
}

// tickS bounds the error of a difference of two processor times in /proc: each is the sum
// of two numbers of whole ticks of 10 ms (proc(5)).
const tickS = 0.02

// checkProcessorTime: the processor time that a node reports of its window fits what the
// kernel told the launcher, where the process is on the launcher's machine.
func checkProcessorTime(run *judged) finding {
	var heard, unknown []string
	for _, node := range run.Nodes {
		p := node.Summary.Saturation
		if run.Restart.Of(node.Name) || !slices.ContainsFunc(node.Readings, func(r metrics.Reading) bool { return r.CPUNs != nil }) {
			unknown = append(unknown, node.Name)
			continue
		}
		if p == nil || p.LengthS <= 0 || p.Start.IsZero() {
			return failed(node.Name, "the node does not say when in the window it used processor time")
		}
		least, most := node.Readings.CPU(p.Start, p.Start.Add(time.Duration(p.LengthS*float64(time.Second))), readingS)
		used, kernel := p.ProcessCPUPercent/100*p.LengthS, between(least, most, "%.2f", " s")
		if used < least-tickS || used > most+tickS {
			return failed(node.Name, "the node reports %.2f s of processor time in the window, the kernel says %s", used, kernel)
		}
		heard = append(heard, fmt.Sprintf("%s %.2f s, by the kernel %s", node.Name, used, kernel))
	}
	if heard == nil {
		return inapplicable("no process was on the launcher's machine: nothing witnesses processor times")
	}
	if unknown != nil {
		heard = append(heard, "not witnessed: "+strings.Join(unknown, ", "))
	}
	return passed("%s", strings.Join(heard, "; "))
}

// between writes bounds. The upper one is MaxFloat64 where it is not known.
func between(least, most float64, format, unit string) string {
	if most == math.MaxFloat64 {
		return fmt.Sprintf("at least "+format+unit, least)
	}
	return fmt.Sprintf(format+" to "+format+unit, least, most)
}

// checkTallies: a client's workers and the collector of its latencies counted the same
// operations, per server and kind, and the histograms hold those that were due in the
// window.
func checkTallies(run *judged) finding {
	var all metrics.Counts
	stamps := make(map[string]metrics.Stamps)
	for _, node := range run.Clients() {
		s, sums := node.Summary, roundsOf(node)
		var window, due metrics.Counts
		for _, peer := range s.Peers {
			counted := peer.Window
			counted.Hits, counted.Misses = 0, 0 // the collector does not know them
			if ours, theirs, what := difference(counted, peer.Latency.Replied); what != "" {
				return failed(node.Name, "of server %s's replies in the window, the workers count %d %s and the latencies count %d", peer.Peer, ours, what, theirs)
			}
			window, due = window.Add(peer.Window), due.Add(peer.Latency.Due)
		}
		if sum, all, what := difference(window, s.InWindow); what != "" {
			return failed(node.Name, "its counts in the window do not add up: those of its servers to %d %s, its own to %d", sum, what, all)
		}
		if due.Ops() != sums.Ops {
			return failed(node.Name, "%d operations were due in the window and answered, the latencies count %d", sums.Ops, due.Ops())
		}
		if f := checkHistograms(node.Name, s.Latency, s.Stamps, due); f.failed() {
			return f
		}
		if sums.Mistaken > 0 {
			return failed(node.Name, "of %d calls, the send was stamped too late or the reply too early: their latencies are too short", sums.Mistaken)
		}
		for name, more := range s.Stamps {
			stamps[name] = stamped(stamps[name], more)
		}
		all = all.Add(due)
	}
	return checkHistograms("", run.Latency, stamps, all)
}

// checkHistograms: the histograms hold as many values as were due in the window, of each kind
// too, and the same as the workers summed up beside them. The kinds' are together the
// operations': a mean is linear in the numbers of values, but for rounding.
func checkHistograms(node string, latencies map[string]metrics.Quantiles, stamps map[string]metrics.Stamps, due metrics.Counts) finding {
	kinds, all, sum := due.ByKind(), latencies[metrics.OpLatency], 0.0
	names := append([]string{metrics.CallLatency, metrics.OpLatency}, metrics.KindNames[:metrics.OpKinds]...)
	for i, want := range append([]uint64{due.Calls, due.Ops()}, kinds[:metrics.OpKinds]...) {
		q, unit := latencies[names[i]], []string{"calls", "operations", names[i] + "s"}[min(i, 2)]
		if q.Values+q.OutOfRange != want {
			return failed(node, "the histogram of %s holds %d of %d that were due in the window", unit, q.Values+q.OutOfRange, want)
		}
		if i >= 2 {
			sum += float64(q.Values) * q.Mean
		} else if f := checkStamps(node, unit, q, stamps[names[i]]); f.failed() {
			return f
		}
	}
	if mean := stats.Portion(sum, float64(all.Values)); math.Abs(mean-all.Mean) > 1e-6*all.Mean {
		return failed(node, "the kinds' histograms have a mean latency of %.3f us together, that of all operations has %.3f us", mean, all.Mean)
	}
	return passed("%d operations were due in the window, by the workers and by the latencies", due.Ops())
}

// roundsOf returns the sums of a client's workers, which checkAccounts requires.
func roundsOf(node metrics.RunNode) *metrics.Rounds { return account.Rounds(node.Summary) }

// inFlight returns the most operations that a client had in flight at once.
func inFlight(run *judged, sums *metrics.Rounds) float64 {
	return float64(sums.MostOps) * float64(run.Workload.InFlight())
}

// unsent returns the number of a client's operations that were due in the window and not
// answered in it: an open loop sends them in the drain.
func unsent(s *metrics.Summary) float64 {
	if s.Offered == nil || s.Offered.Ops < s.InWindow.Ops() {
		return 0
	}
	return float64(s.Offered.Ops - s.InWindow.Ops())
}
