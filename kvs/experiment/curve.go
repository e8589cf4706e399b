package experiment

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"kvlab/internal/cli"
	"kvlab/metrics"
	"kvlab/metrics/curve"
	"kvlab/metrics/format"
)

// Curve measures latency against throughput. Closed loops measure the peak, then open
// loops offer rates, which are absolute and the same in all trials of a point. With an
// objective, more trials look for the rate up to which it holds.
type Curve struct {
	Sweep
	Rates     []string // operations per second, or shares of the peak such as 50%; may be none with an objective
	Objective curve.Objective
	PeakSecs  int // window of the closed loops in seconds
}

// DefaultRates are shares of the peak, denser where a queue's latency rises. The last is
// more than the store can do, so that the end of the curve is seen.
var DefaultRates = strings.Split("10%,20%,30%,40%,50%,60%,70%,80%,90%,95%,100%,110%", ",")

// ParseRates reads rates with commas between them: "100k,200k" or "20%,50%,80%".
func ParseRates(text string) ([]string, error) {
	rates := strings.Split(text, ",")
	for i, rate := range rates {
		number, share := strings.CutSuffix(rate, "%")
		n, ok := cli.ParseCount(number)
		if !ok || share && strings.ContainsAny(number, "kKmMgG") {
			return nil, errors.New("want rates in ops/s or in percent of the peak, as in 100k,200k,300k or 20%,50%,80%")
		}
		if !share {
			rates[i] = strconv.FormatFloat(n, 'f', -1, 64)
		}
		if slices.Contains(rates[:i], rates[i]) {
			return nil, fmt.Errorf("%s is given twice", rate)
		}
	}
	return rates, nil
}

// formatRate writes a rate to four significant digits.
func formatRate(rate float64) string {
	rate, _ = strconv.ParseFloat(strconv.FormatFloat(rate, 'g', 4, 64), 64)
	return strconv.FormatFloat(rate, 'f', -1, 64)
}

// Planned returns the plan with the trials that are known from the start: those of the
// peak, then those of the rates in random order.
func (c Curve) Planned(plan metrics.Sweep) metrics.Sweep {
	peak := metrics.Knob{Name: curve.Knob, Values: []string{curve.Peak}}
	plan.SLO, plan.Knobs = c.Objective.String(), []metrics.Knob{{Name: curve.Knob, Values: append(peak.Values, c.Rates...)}}
	plan.Order = slices.Concat(Order([]metrics.Knob{peak}, plan.Trials, plan.Seed), Order([]metrics.Knob{{Values: c.Rates}}, plan.Trials, plan.Seed))
	for i := range plan.Order {
		plan.Order[i].Number = i + 1
	}
	return plan
}

// Grown returns the plan with the rates that a search has added.
func (c Curve) Grown(done []metrics.Trial) metrics.Sweep {
	plan := c.Planned(c.Plan)
	knob := &plan.Knobs[0]
	for _, trial := range done[min(len(plan.Order), len(done)):] {
		plan.Order = append(plan.Order, trial.PlannedTrial)
		if value := trial.Point[0]; !slices.Contains(knob.Values, value) {
			knob.Values = append(knob.Values, value)
		}
	}
	return plan
}

// curve returns what the trials have measured.
func (c Curve) curve(done []metrics.Trial) curve.Curve {
	plan := c.Grown(done)
	return curve.Of(plan, metrics.Summarize(plan, done))
}

// Next returns the trials that remain of the peak and of the rates, then those of the
// search for the objective's rate. A peak without a valid trial ends the curve.
func (c Curve) Next(done []metrics.Trial) ([]Group, error) {
	plan := c.Planned(c.Plan)
	left, of, peak := missing(plan, plan.Order, done), len(plan.Order), c.curve(done).Peak
	if wrong := slices.IndexFunc(done, func(t metrics.Trial) bool { return !t.Verdict.Valid && t.Point[0] == curve.Peak }); peak == 0 && wrong >= 0 && !done[wrong].Broken() {
		return nil, &trialError{Trial: done[wrong]}
	}
	if c.Objective != (curve.Objective{}) {
		of = 0 // the search decides how many follow
		if len(left) == 0 {
			var err error
			if left, err = c.search(done, done[len(plan.Order):]); err != nil {
				return nil, err
			}
		}
	}
	var groups []Group
	for _, p := range left {
		groups = append(groups, Group{{PlannedTrial: p, Of: of, Label: metrics.PointName(plan.Knobs, p.Point), Spec: c.spec(p.Point[0], peak)}})
	}
	return groups, nil
}

// spec returns the spec of a rate, which may be a share of the peak.
func (c Curve) spec(rate string, peak float64) Spec {
	if rate == curve.Peak {
		return Spec{Name: curve.Peak, Args: fmt.Sprintf("--secs %d", c.PeakSecs)}
	}
	if number, share := strings.CutSuffix(rate, "%"); share {
		n, _ := cli.ParseCount(number) // ParseRates has seen it
		rate = formatRate(n / 100 * peak)
	}
	return Spec{Name: "rate=" + rate, Args: "--client-args '-rate " + rate + "'"}
}

// Specs returns the spec of the peak, and the spec of one rate, which stands for the rates that
// follow from the peak.
func (c Curve) Specs() []Spec {
	some := c.spec(append(slices.Clone(c.Rates), "50%")[0], 100_000)
	some.Name = "each rate, such as " + some.Name
	return []Spec{c.spec(curve.Peak, 0), some}
}

// The search ends with trials at rates around the one that it has found: first at a
// factor of rung below and above, then at each twice as far, until one rate is clearly
// kept and one clearly broken, or mostRungs are tried on a side. Each has 7 trials, whose
// median has an interval of 98.4 %: in simulations, 6 with 96.9 % left the rate outside of
// its interval in up to 6 % of the searches, because the trials decide when a search ends.
const (
	rung          = 1.05
	mostRungs     = 5
	trialsOfRungs = 7
)

// search replays the trials beyond the plan's order, and returns the next ones. The trials that
// choose the rates do not judge them.
func (c Curve) search(done, rest []metrics.Trial) ([]metrics.PlannedTrial, error) {
	known := c.curve(done[:len(done)-len(rest)])
	tried := rates{first: known.Peak / 2}
	learn := func(points []curve.Point) error {
		for _, p := range points {
			kept, err := c.Objective.Keeps(p)
			if err != nil {
				return err
			}
			tried.learn(p.Offered, kept)
		}
		return nil
	}
	err := learn(known.Points)
	if again := slices.IndexFunc(rest, metrics.Trial.Broken); again >= 0 {
		return []metrics.PlannedTrial{rest[again].PlannedTrial}, nil
	}
	for steps := 0; err == nil; steps++ {
		rate := tried.next(steps)
		switch {
		case rate == 0:
			if kept, broken := tried.around(); kept > 0 && broken > 0 {
				return c.rungs(math.Sqrt(kept*broken), done, rest), nil
			}
			return nil, nil
		case len(rest) == 0:
			return []metrics.PlannedTrial{{Number: len(done) + 1, Point: []string{formatRate(rate)}}}, nil
		case !rest[0].Verdict.Valid:
			return nil, &trialError{Trial: rest[0]}
		}
		err, rest = learn(pointOf(rest[0])), rest[1:]
	}
	return nil, err
}

// pointOf returns a valid trial of an open loop alone.
func pointOf(t metrics.Trial) []curve.Point {
	return curve.Of(metrics.Sweep{}, []metrics.Point{{Valid: []metrics.Trial{t}}}).Points
}

// rungs returns the trials at the rates around the one that the search has found, which
// remain after those in rest.
func (c Curve) rungs(around float64, done, rest []metrics.Trial) []metrics.PlannedTrial {
	factors := []float64{1 / rung, rung}
	for step := 1; len(factors) > 0; step++ {
		var points [][]string
		for _, factor := range factors {
			points = append(points, []string{formatRate(around * factor)})
		}
		var planned []metrics.PlannedTrial
		for first := len(done) - len(rest) + 1; len(planned) < len(points)*max(trialsOfRungs, c.Plan.Trials); {
			planned = append(planned, Shuffle(points, c.Plan.Seed, first+len(planned), first+len(planned))...)
		}
		if len(rest) < len(planned) {
			return planned[len(rest):]
		}
		rest, factors = rest[len(planned):], nil
		rate, further := c.curve(done[:len(done)-len(rest)]).Rate(), math.Pow(rung, math.Exp2(float64(step)))
		if rate.Low == 0 && step < mostRungs {
			factors = append(factors, 1/further)
		}
		if rate.High == 0 && step < mostRungs {
			factors = append(factors, further)
		}
	}
	return nil
}

// Record returns the trial's rates, its latency, and the verdict.
func (c Curve) Record(p PlannedTrial, t *metrics.Trial) string {
	if !t.Verdict.Valid || t.Run.Offered == nil {
		return c.Sweep.Record(p, t)
	}
	quantile := cmp.Or(c.Objective.Quantile, "p99")
	latency := pointOf(*t)[0].Latency(quantile)
	words := []string{p.String(), p.Label, fmt.Sprintf("%.0f op/s offered", t.OfferedOpsPerS), fmt.Sprintf("%.1f %% achieved", 100*t.Run.Offered.Achieved(t.Run.Ops))}
	if !math.IsNaN(latency) && !math.IsInf(latency, 1) {
		words = append(words, fmt.Sprintf("%s %s ms", quantile, format.Milliseconds(latency)))
	}
	return strings.Join(append(format.NonEmpty(append(words, t.Verdict.String())...), t.Stamps()...), "  ")
}

// Files returns the files of a sweep over the rates so far.
func (c Curve) Files(done []metrics.Trial, ended bool) map[string]any {
	s := Sweep{Plan: c.Grown(done)}
	files := s.Files(done, ended)
	if !ended {
		files[metrics.SweepFile] = s.Plan
	}
	return files
}

// Conclude returns the curve's table, its knee, the objective's rate, and the verdict on
// all trials.
func (c Curve) Conclude(done []metrics.Trial, err error) Conclusion {
	s := Sweep{Plan: c.Grown(done)}
	end := s.Conclude(done, err)
	if failed := (*trialError)(nil); errors.As(err, &failed) {
		end.Verdict = failed.Verdict
	} else if err == nil {
		end.Brief = "\n" + c.curve(done).Text() + "\n"
		end.Full = fmt.Sprintf("\n%s\n%s\n", c.curve(done), s.notes(metrics.Summarize(s.Plan, done)))
	}
	return end
}
