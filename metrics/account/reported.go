// Package account sums up what one node of a run reports, record by record.
package account

import (
	"cmp"
	"math"
	"slices"
	"time"

	"kvlab/metrics"
	"kvlab/metrics/stats"
)

// Reported is what the end of a run needs of one node's records. The launcher adds them as
// they arrive, and a reader of the node's file adds them again. The zero value has none. It
// is not safe for concurrent use.
type Reported struct {
	Config   *metrics.Config
	Summary  *metrics.Summary
	Audit    *metrics.AuditRecord
	Finished bool
	Counts   metrics.Counts // of all intervals
	Broken   bool           // an interval does not begin where the one before ended, or its phase comes before that one's
	Held     SoakSamples    // in the window
	Readings metrics.Readings

	warming  []float64                   // operations per second of each interval of the warm-up that is long enough
	rates    []float64                   // likewise, of each interval of the window
	steady   []float64                   // of these, those that are long enough
	window   []metrics.Record            // these intervals, if Restarts
	seconds  metrics.Heard               // of these intervals
	used     seconds                     // of the window
	entered  map[metrics.Phase]time.Time // when each of its phase events arrived
	tested   []metrics.Arrival
	told     *metrics.WindowLength
	last     metrics.Interval
	lastAt   time.Time // of last
	killed   time.Time
	ready    time.Time // the process in place of the killed one
	former   *Reported // of the killed one
	Restarts bool      // the run kills a server
}

// shortestSecond is the least length in seconds of an interval of the warm-up that is
// tested: the end of a phase may cut an interval short.
const shortestSecond = 0.5

// roundingS is more than the rounding of times of days in seconds, and less than any interval.
const roundingS = 1e-6

// phases are all phases, in their order.
var phases = []metrics.Phase{metrics.Idle, metrics.Load, metrics.WarmUp, metrics.Window, metrics.Drain, metrics.Done}

// Add adds the node's next record.
func (n *Reported) Add(r metrics.Record) {
	switch {
	case r.Config != nil:
		if n.Config != nil && !n.killed.IsZero() { // else the process has changed a flag
			n.Restart()
		}
		n.Config = r.Config
	case r.Summary != nil:
		n.Summary = r.Summary
	case r.Audit != nil:
		n.Audit = r.Audit
	case r.Usage != nil && r.Usage.Phase == metrics.Window:
		n.Held.Add(*r.Usage)
		if n.used == nil {
			n.used = make(seconds)
		}
		if n.Config != nil {
			n.used.add(r.Time, *r.Usage, n.Config.Host.Cores)
		}
	case r.Interval != nil:
		n.interval(r)
	case r.Arrival != nil:
		n.arrival(r.Time, *r.Arrival)
	}
}

// Restart begins the account of the process that takes the place of a killed one. The seconds
// in the window go on.
func (n *Reported) Restart() {
	former := *n
	*n = Reported{former: &former, rates: n.rates, seconds: n.seconds, used: n.used, killed: n.killed, Restarts: n.Restarts}
}

func (n *Reported) interval(r metrics.Record) {
	i := *r.Interval
	apart := math.Abs(i.StartS - (n.last.StartS + n.last.LengthS))
	n.Broken = n.Broken || apart > roundingS || slices.Index(phases, i.Phase) < max(0, slices.Index(phases, n.last.Phase))
	n.Counts, n.last, n.lastAt = n.Counts.Add(i.Counts), i, r.Time
	n.seconds.Add(r)
	switch rate := r.Interval.OpsPerS(); {
	case r.Interval.Phase == metrics.WarmUp && r.Interval.LengthS >= shortestSecond:
		n.warming = append(n.warming, rate)
	case r.Interval.Phase == metrics.Window:
		if r.Interval.LengthS >= shortestSecond {
			n.steady = append(n.steady, r.Interval.OpsPerS())
		}
		n.rates = append(n.rates, rate)
		if n.Restarts {
			n.window = append(n.window, r)
		}
	}
}

func (n *Reported) arrival(at time.Time, a metrics.Arrival) {
	switch a.Event {
	case metrics.Tested:
		n.tested = append(n.tested, a)
	case metrics.Read:
		if a.Reading != nil {
			n.Readings = append(n.Readings[:max(0, min(len(n.Readings), a.From))], *a.Reading)
		}
	case metrics.Told:
		n.told = a.Window
	case metrics.Killed:
		n.killed = at
	case metrics.Ready:
		n.ready = at
	case metrics.Finished:
		n.Finished = true
	default:
		if n.entered == nil {
			n.entered = make(map[metrics.Phase]time.Time)
		}
		if _, again := n.entered[metrics.Phase(a.Event)]; !again {
			n.entered[metrics.Phase(a.Event)] = at
		}
	}
}

// heard returns what was heard of a node's window; nil of a client that did not drain.
func (n *Reported) heard(role metrics.Role) *metrics.Heard {
	if role == metrics.Server {
		return &n.seconds
	}
	if _, ok := n.entered[metrics.Drain]; !ok {
		return nil
	}
	h, window := n.seconds, n.entered[metrics.Window]
	h.WarmUpS = window.Sub(n.entered[metrics.WarmUp]).Seconds()
	return &h
}

// WarmUpRates returns the total operations per second of all clients, for each second of
// the warm-up that every client has reported.
func WarmUpRates(clients []*Reported) []float64 {
	return stats.Sum(ratesOf(clients, func(n *Reported) []float64 { return n.warming })...)
}

// ratesOf returns a series of each client.
func ratesOf(clients []*Reported, of func(*Reported) []float64) (all [][]float64) {
	for _, n := range clients {
		all = append(all, of(n))
	}
	return all
}

// warmUp returns the result of the last test of the warm-up that had rates enough; nil
// without one. The warm-up was extended if there were two.
func warmUp(clients []*Reported) (found *stats.Stationarity) {
	if len(clients) == 0 {
		return nil
	}
	rates := WarmUpRates(clients)
	for _, t := range clients[0].tested {
		if t.From < 0 || t.From > t.To || t.To > len(rates) {
			return nil
		}
		if test, ok := stats.CheckStationary(rates[t.From:t.To]); ok {
			found = &test
		}
	}
	if found != nil {
		found.Extended = len(clients[0].tested) > 1
	}
	return found
}

// Fill fills in what the nodes of a run reported: one account for each of the run's nodes, in their
// order. soak says that no process may grow in the window.
func Fill(r *metrics.Run, reported []*Reported, soak bool) {
	r.Schema = metrics.Schema
	var clients []*Reported
	for i, n := range reported {
		node := &r.Nodes[i]
		node.Config, node.Summary, node.Heard, node.Readings = n.Config, n.Summary, n.heard(node.Role), n.Readings
		if soak {
			node.Soak = new(n.Held.Soak())
		}
		if node.Role == metrics.Server && len(n.rates) > 0 {
			node.MedianOpsPerS = new(stats.Median(n.rates))
		}
		if s := n.Summary; s != nil && s.Claim != nil {
			if node.MedianOpsPerS = nil; s.Claim.Lines > 0 && node.Role == metrics.Server {
				node.MedianOpsPerS = new(s.Claim.Median)
			}
		}
		if node.Role == metrics.Client {
			clients = append(clients, n)
			r.Window = cmp.Or(r.Window, n.told)
		}
	}
	for i, n := range reported {
		if n.former != nil {
			r.Restart = n.restarted(r.Nodes[i].Name, clients)
		}
	}
	r.WarmUp, r.Drift = warmUp(clients), nil
	if drift, ok := stats.CheckDrift(stats.Sum(ratesOf(clients, func(n *Reported) []float64 { return n.steady })...)); ok {
		r.Drift = &drift
	}
	r.SetWorkload()
	fillUsed(r, reported, clients)
}

// Audits returns the records of the clients' audits.
func Audits(reported []*Reported) (records []metrics.AuditRecord) {
	for _, n := range reported {
		if n.Audit != nil {
			records = append(records, *n.Audit)
		}
	}
	return records
}

// IsFinished reports whether the run came to its end.
func IsFinished(reported []*Reported) bool {
	return !slices.ContainsFunc(reported, func(n *Reported) bool { return !n.Finished })
}
