package verdict

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"kvlab/metrics"
)

// minOverlap is the share of the shortest window that all clients must have
// measured together.
const minOverlap = 0.95

// totalWindow fills in the common window and the operations inside it, to half an edge
// slot at each end. All clients' windows are by one clock (metrics.Record.Time).
func totalWindow(run *metrics.Run) {
	clients := run.Summaries(metrics.Client)
	if len(clients) == 0 {
		return
	}
	opens, closes, shortest := clients[0].WindowStart, windowEnd(clients[0]), clients[0].WindowLengthS
	for _, c := range clients[1:] {
		if c.WindowStart.After(opens) {
			opens = c.WindowStart
		}
		if end := windowEnd(c); end.Before(closes) {
			closes = end
		}
		shortest = min(shortest, c.WindowLengthS)
	}
	if shortest <= 0 {
		return
	}
	run.WindowStart, run.WindowS = opens, max(0, closes.Sub(opens).Seconds())
	run.OverlapShare = min(1, run.WindowS/shortest)
	for _, c := range clients {
		ops, seconds := c.Within(opens.Sub(c.WindowStart).Seconds(), windowEnd(c).Sub(closes).Seconds())
		run.Ops += ops
		run.OpsPerS += metrics.PerSecond(float64(ops), seconds)
		if c.Offered != nil {
			// The share that is achieved stays that of the client's own window.
			offered := *c.Offered
			offered.Ops = uint64(math.Round(float64(offered.Ops) * float64(ops) / float64(max(1, c.InWindow.Ops()))))
			run.Offered = cmp.Or(run.Offered, new(metrics.Offered))
			run.Offered.Add(offered)
		}
	}
}

func windowEnd(s *metrics.Summary) time.Time {
	return s.WindowStart.Add(time.Duration(s.WindowLengthS * float64(time.Second)))
}

// CheckCommonWindow rejects a pair of runs whose windows overlap by less than minOverlap.
// The verdict on a run without a window says why there is none.
func CheckCommonWindow(a, b metrics.Run) metrics.Verdict {
	later := b.WindowStart.Sub(a.WindowStart).Seconds()
	common := min(a.WindowS, later+b.WindowS) - max(0, later)
	shorter := min(a.WindowS, b.WindowS)
	if share := max(0, common) / shorter; shorter > 0 && share < minOverlap {
		return metrics.Verdict{Reason: fmt.Sprintf("the windows of the two trials have only %.0f %% in common", 100*share)}
	}
	return metrics.Verdict{Valid: true}
}
