package verdict

import (
	"math"
	"time"

	"kvlab/metrics"
)

const (
	// peakRate bounds the rate at a window's ends, in mean rates.
	peakRate = 3
	// readingS bounds the time that a node takes to read its counts.
	readingS = 0.1
)

// checkServersWindow: the servers applied in their window the operations whose replies the
// clients counted in the same time, but for those under way at its ends. The servers'
// window has its own clock readings. Where the clients' edge slots do not reach its ends,
// the bound grows by the rate.
func checkServersWindow(run *judged) {
	servers := run.Summaries(metrics.Server)
	if len(servers) == 0 || servers[0].WindowLengthS <= 0 {
		return
	}
	opens, closes, apart := servers[0].WindowStart, windowEnd(servers[0]), 0.0
	var applied uint64
	for _, s := range servers {
		applied += s.InWindow.Ops()
		apart += s.WindowErrorS + secondsApart(s.WindowStart, opens) + secondsApart(windowEnd(s), closes)
	}
	var replied uint64
	bound := 0.0
	for _, node := range run.Clients() {
		s, sums := node.Summary, roundsOf(node)
		if sums == nil {
			return
		}
		late, early := opens.Sub(s.WindowStart).Seconds(), windowEnd(s).Sub(closes).Seconds()
		ops, _ := s.Within(late, early)
		replied += ops
		reach := s.Edges.SlotS * float64(len(s.Edges.First))
		unknown := apart + s.Edges.SlotS + clockErrorS(run, node.Name) + max(-late, late-reach, 0) + max(early-reach, 0)
		bound += underWay(run, sums) + unsent(s) + peakRate*s.OpsPerS()*unknown
		for _, peer := range s.Peers { // a server may hear of the drain after the audit has begun
			bound += float64(peer.Audit.Ops())
		}
	}
	if math.Abs(float64(applied)-float64(replied)) > bound {
		run.invalid("", "the servers applied %d operations in their window, the clients counted %d replies in the same time: they differ by more than the %.0f that were under way", applied, replied, bound)
	}
}

func secondsApart(a, b time.Time) float64 { return math.Abs(a.Sub(b).Seconds()) }

// clockErrorS bounds the error of a node's clock against that of the others.
func clockErrorS(run *judged, node string) float64 {
	bounds, _ := run.Preflight.ClockOffsetBounds(node)
	return 0.002 + 2*time.Duration(bounds.MostNs-bounds.LeastNs).Seconds()
}

// lateS is how much longer or shorter than its window both the launcher's clock and the
// client's intervals may find it, on a busy machine too.
func lateS(length float64) float64 { return 0.25 + 0.01*length }

// checkHeard: by the launcher's clock and by the client's intervals, the window was as long
// as the client says, and had as many operations; and the warm-up was no shorter than its
// flag.
func checkHeard(run *judged) {
	for _, node := range run.Clients() {
		s, h, sums := node.Summary, node.Heard, roundsOf(node)
		if h == nil || sums == nil {
			continue
		}
		length := s.WindowLengthS
		if min(h.WindowS, h.LengthS)-length > lateS(length) || length-max(h.WindowS, h.LengthS) > lateS(length) {
			run.invalid(node.Name, "the client's window has %.3f s, by the launcher's clock %.3f s and by its seconds %.3f s", length, h.WindowS, h.LengthS)
		}
		end := h.Start.Add(time.Duration(h.LengthS * float64(time.Second)))
		unknown := readingS + secondsApart(h.Start, s.WindowStart) + secondsApart(end, windowEnd(s))
		bound := underWay(run, sums) + unsent(s) + peakRate*s.OpsPerS()*unknown
		if math.Abs(float64(h.Ops)-float64(s.InWindow.Ops())) > bound {
			run.invalid(node.Name, "the client counts %d operations in the window, its seconds %d: they differ by more than the %.0f that were under way", s.InWindow.Ops(), h.Ops, bound)
		}
		warmUp := run.Workload.Length("warmup").Seconds()
		if run.WarmUp != nil && run.WarmUp.Extended {
			warmUp *= 2
		}
		if most := max(h.WarmUpS, h.WarmUpLengthS); warmUp-most > lateS(warmUp) { // the launcher may hear late that it began
			run.invalid(node.Name, "the warm-up had %.3f s by the launcher's clock, not %.3f s", most, warmUp)
		}
	}
}
