package verdict

import (
	"cmp"
	"math"
	"time"

	"kvlab/metrics"
)

// minOverlap is the share of the shortest window that all clients must have
// measured together.
const minOverlap = 0.95

// totalWindow fills in the common window and the operations inside it, to half an edge
// slot at each end.
func totalWindow(run *metrics.Run) {
	clients := measurers(run)
	if len(clients) == 0 {
		return
	}
	common, shortest := intersection(clients)
	if shortest <= 0 {
		return
	}
	run.WindowStart, run.WindowS = common.start, max(0, common.seconds())
	run.OverlapShare = min(1, run.WindowS/shortest)
	for _, c := range clients {
		ops, seconds := c.Within(common.start.Sub(c.window.start).Seconds(), c.window.end.Sub(common.end).Seconds())
		run.Ops += ops
		if seconds > 0 {
			run.OpsPerS += float64(ops) / seconds
		}
		if c.Offered != nil {
			// The share that is achieved stays that of the client's own window.
			offered := *c.Offered
			offered.Ops = uint64(math.Round(float64(offered.Ops) * float64(ops) / float64(max(1, c.InWindow.Ops()))))
			run.Offered = cmp.Or(run.Offered, new(metrics.Offered))
			run.Offered.Add(offered)
		}
	}
}

// measurer is the summary of a client, with its window.
type measurer struct {
	*metrics.Summary
	window span
}

// measurers are the run's clients that have reported. Their windows are by one
// clock (metrics.Record.Time).
func measurers(run *metrics.Run) []measurer {
	var all []measurer
	for _, s := range run.Summaries(metrics.Client) {
		all = append(all, measurer{s, spanOf(s.WindowStart, s.WindowLengthS)})
	}
	return all
}

// span is a stretch of time.
type span struct{ start, end time.Time }

func spanOf(start time.Time, seconds float64) span {
	return span{start, start.Add(time.Duration(seconds * float64(time.Second)))}
}

func (s span) seconds() float64 { return s.end.Sub(s.start).Seconds() }

// intersection is the stretch that lies in every client's window, which ends
// before it starts when there is none, and the shortest window's length in
// seconds.
func intersection(clients []measurer) (common span, shortest float64) {
	common, shortest = clients[0].window, clients[0].WindowLengthS
	for _, c := range clients[1:] {
		if c.window.start.After(common.start) {
			common.start = c.window.start
		}
		if c.window.end.Before(common.end) {
			common.end = c.window.end
		}
		shortest = min(shortest, c.WindowLengthS)
	}
	return common, shortest
}
