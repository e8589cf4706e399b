package experiment

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"kvlab/metrics"
	"kvlab/metrics/format"
)

// Search finds the highest rate that keeps a promise about latency, one trial at a time:
// a quantile of the operations' latency, from the moment when they are due, is at most
// limit. Its folder is that of a sweep over the rates that it tried.
type Search struct {
	quantile string // p50, p90, p99, p99.9 or p99.99
	limit    time.Duration
	Plan     metrics.Sweep // without knobs and order
}

// ParseSearch reads the promise of a search: "p99=5ms".
func ParseSearch(text string) (*Search, error) {
	name, limit, _ := strings.Cut(text, "=")
	d, err := time.ParseDuration(limit)
	if !slices.Contains(metrics.QuantileNames[:], name) || err != nil || d <= 0 {
		return nil, errors.New("want a quantile and a time with its unit, as in p99=5ms; quantiles are p50, p90, p99, p99.9 and p99.99")
	}
	return &Search{quantile: name, limit: d}, nil
}

func (s Search) String() string { return fmt.Sprintf("%s=%v", s.quantile, s.limit) }

// judge reports whether a valid open-loop run kept the promise, and the measured value in
// words. Too few calls are an error.
func (s Search) judge(run *metrics.Run) (kept bool, why string, err error) {
	q := run.Latency[metrics.OpLatency]
	value := q.All()[slices.Index(metrics.QuantileNames[:], s.quantile)]
	switch {
	case q.Refused != "":
		return false, q.Refused, nil
	case value == nil:
		return false, "", fmt.Errorf("--slo %s: %d calls at %s ops/s are too few for %s: want a longer --secs", s, q.Count, format.Count(run.OpsPerS), s.quantile)
	}
	got := time.Duration(*value) * time.Microsecond
	return got <= s.limit, fmt.Sprintf("%s %v", s.quantile, got), nil
}

// firstRate is the first rate: a share of the closed loop's throughput, which the first
// trial's warm-up measures.
const firstRate = "50%"

// Next returns the trial at the next rate.
func (s Search) Next(done []metrics.Trial) ([]Group, error) {
	rate := firstRate
	if len(done) > 0 {
		tried, err := s.search(done)
		next := tried.next(len(done))
		if err != nil || next == 0 {
			return nil, err
		}
		rate = formatRate(next)
	}
	planned := metrics.PlannedTrial{Number: len(done) + 1, Point: []string{rate}}
	return []Group{{{PlannedTrial: planned, Label: "rate=" + rate, Spec: s.at(rate)}}}, nil
}

// search returns the state of the search after these trials.
func (s Search) search(done []metrics.Trial) (tried rates, err error) {
	for _, trial := range done {
		if !trial.Verdict.Valid {
			return tried, &trialError{Trial: trial}
		}
		kept, _, err := s.judge(trial.Run)
		if err != nil {
			return tried, err
		}
		tried.learn(trial.Run.Offered.OpsPerS, kept)
	}
	return tried, nil
}

// at returns the spec of a rate.
func (s Search) at(rate string) Spec { return Spec{Args: "--client-args '-rate " + rate + "'"} }

func formatRate(rate float64) string { return strconv.FormatFloat(rate, 'f', 0, 64) }

// Specs returns the first rate's spec.
func (s Search) Specs() []Spec { return []Spec{s.at(firstRate)} }

// Record makes the offered rate the trial's point, and tells whether the promise was
// kept.
func (s Search) Record(p PlannedTrial, t *metrics.Trial) string {
	if t.Run.Offered == nil {
		return ""
	}
	t.Point = []string{formatRate(t.Run.Offered.OpsPerS)}
	kept, why, err := s.judge(t.Run)
	if err != nil || !t.Verdict.Valid {
		return ""
	}
	word := map[bool]string{true: "kept", false: "broken"}[kept]
	return fmt.Sprintf("%s  %.0f op/s offered  %.1f %% achieved  %s: %s", p, t.Run.Offered.OpsPerS, 100*t.Run.Offered.Achieved(t.Run.Ops), why, word)
}

// Files are the trials, and in the end the sweep over their rates.
func (s Search) Files(done []metrics.Trial, ended bool) map[string]any {
	if len(done) == 0 {
		return nil
	}
	files := map[string]any{metrics.TrialsFile: done}
	if ended {
		plan, knob := s.Plan, metrics.Knob{Name: "rate"}
		for _, trial := range done {
			plan.Order = append(plan.Order, trial.PlannedTrial)
			knob.Values = append(knob.Values, trial.Point[0])
		}
		plan.Knobs = []metrics.Knob{knob}
		files[metrics.SweepFile] = plan
	}
	return files
}

// Conclude returns the highest rate that kept the promise and the lowest that broke
// it.
func (s Search) Conclude(done []metrics.Trial, err error) (string, metrics.Verdict) {
	if failed := (*trialError)(nil); errors.As(err, &failed) {
		return "", failed.Verdict
	}
	if err != nil {
		return "", metrics.Verdict{}
	}
	tried, _ := s.search(done) // its error is err
	text := fmt.Sprintf("\nslo %s: kept at %.0f op/s, broken at %.0f op/s\n", s, tried.kept, tried.broken)
	switch {
	case tried.kept == 0:
		text = fmt.Sprintf("\nslo %s: broken at every rate down to %.0f op/s\n", s, tried.broken)
	case tried.broken == 0:
		text = fmt.Sprintf("\nslo %s: kept at every rate up to %.0f op/s\n", s, tried.kept)
	}
	return text, metrics.Verdict{Valid: true}
}

// The search climbs by climb. It ends when the lowest rate that broke the promise is at
// most near above the highest that kept it, after mostSteps, or after mostDown without a
// rate that kept it.
const (
	climb     = math.Sqrt2
	near      = 0.05
	mostSteps = 30
	mostDown  = 10
)

// rates is the state of a search.
//
//	climb    from the first rate up by a half-power of two until one breaks the
//	         promise, or down by two of them until one keeps it
//	bisect   between the highest that kept it and the lowest that broke it, at
//	         their geometric mean
//
// Every trial has fresh processes and an empty queue, so that nothing drains between
// steps. No step is repeated: a store that breaks its promise now and then gets a lower
// rate.
type rates struct {
	kept   float64 // the highest; 0: none
	broken float64 // the lowest; 0: none
}

// next returns the rate to try after some steps, and 0 when the search is over.
func (r *rates) next(steps int) float64 {
	found := r.kept > 0 && r.broken > 0 && r.broken <= r.kept*(1+near)
	none := r.kept == 0 && steps >= mostDown
	switch {
	case found || none || steps >= mostSteps:
		return 0
	case r.broken == 0:
		return r.kept * climb
	case r.kept == 0:
		return r.broken / (climb * climb)
	}
	return math.Sqrt(r.kept * r.broken)
}

// learn records whether a rate kept the promise.
func (r *rates) learn(rate float64, kept bool) {
	switch {
	case kept:
		r.kept = max(r.kept, rate)
	case r.broken == 0 || rate < r.broken:
		r.broken = rate
	}
}
