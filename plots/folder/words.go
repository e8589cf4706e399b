package folder

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"kvlab/metrics"
	"kvlab/metrics/format"
)

// Describe returns a run in one line: work, nodes, window, result, verdict.
func (r *Run) Describe() string {
	parts := []string{DescribeWork(r.Workload), DescribeTopology(r.Run), r.Lab.String()}
	if r.Store != nil {
		parts = append(parts, fmt.Sprintf("%s, counts %s", r.Store.Title(), r.Counting))
	}
	parts = append(parts, r.Durability)
	if r.WindowS > 0 {
		parts = append(parts, fmt.Sprintf("%s s window", format.Tenths(r.WindowS)))
	}
	if r.Offered != nil {
		offered := *r.Offered
		offered.PeakOpsPerS = 0 // it does not fit
		parts = append(parts, "open loop, "+offered.String())
	}
	parts = append(parts, ResultOf(r.Run), r.Verdict.Word())
	parts = append(parts, metrics.TrialOf(metrics.PlannedTrial{}, "", r.Run).Stamps()...)
	return describe(parts, "run", r.ID)
}

// describe joins the parts that are not empty, and the name of a run or a sweep.
func describe(parts []string, kind, id string) string {
	if id != "" {
		parts = append(parts, kind+" "+id)
	}
	return format.Label(strings.Join(format.NonEmpty(parts...), " · "), 300)
}

// Describe returns a sweep in one line: work, trials, how sure it is.
func (s *Sweep) Describe() string {
	var parts []string
	if i := slices.IndexFunc(s.Points, func(p Point) bool { return p.Run != nil }); i >= 0 {
		sample := s.Points[i].Run
		fixed := maps.Clone(sample.Workload)
		for _, knob := range s.Knobs {
			if len(knob.Values) > 1 {
				delete(fixed, knob.Name)
			}
		}
		topology := ""
		switch {
		case len(s.Points) == 1:
			topology = DescribeTopology(sample.Run)
		case sample.Symmetric:
			topology = "symmetric"
		}
		parts = []string{DescribeWork(fixed), topology, sample.Lab.String()}
	}
	parts = append(parts, s.Progress())
	fewest := math.MaxInt // valid trials of a point with a result
	for _, point := range s.Points {
		if point.OK() {
			fewest = min(fewest, len(point.Valid))
		}
	}
	if fewest < 6 {
		parts = append(parts, fmt.Sprintf("fewer than 6 %s trials have no interval (the fewest here: %d)", metrics.ResultWord(s.Trials), fewest))
	}
	return describe(parts, "sweep", s.ID)
}

// Progress returns the number of trials, as in "3/6 trials" if some have not ended.
func (s *Sweep) Progress() string {
	if done, planned := len(s.Trials), len(s.Order); done < planned {
		return fmt.Sprintf("%d/%d trials", done, planned)
	}
	return format.Plural(len(s.Trials), "trial")
}

// FailureWords names the trials that are not valid; "" for none.
func (s *Sweep) FailureWords() string {
	var each []string
	for _, trial := range s.Failed() {
		each = append(each, s.TrialName(trial)+": "+trial.Verdict.String())
	}
	if len(each) == 0 {
		return ""
	}
	return format.Label(fmt.Sprintf("%d of %s not valid, never a data point: %s", len(each), format.Plural(len(s.Trials), "trial"), strings.Join(each, "; ")), 400)
}

// ResultOf returns a run's throughput, or "no result".
func ResultOf(run metrics.Run) string {
	if run.WindowS <= 0 {
		return "no result"
	}
	return format.Count(run.OpsPerS) + " ops/s"
}

// DescribeWork returns the workload in a few words. A trace takes the place of one.
func DescribeWork(s metrics.Settings) string {
	work := s.Workload()
	if trace := s["replay"]; trace != "" {
		work = "replay of " + filepath.Base(trace)
	} else if theta := s.Theta(); theta != "" {
		work += " theta " + theta
	}
	if s.TLS() {
		work += " TLS"
	}
	return strings.TrimSpace(work)
}

// DescribeTopology returns "2 servers + 2 clients, symmetric on 2 nodes".
func DescribeTopology(run metrics.Run) string {
	text := format.Plural(run.Count(metrics.Server), "server") + " + " + format.Plural(run.Count(metrics.Client), "client")
	machines := run.Machines()
	nodes := format.Plural(machines, "node")
	switch {
	case run.Symmetric:
		return text + ", symmetric on " + nodes
	case machines < len(run.Nodes):
		return text + " on " + nodes
	}
	return text
}
