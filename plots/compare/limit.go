package compare

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"kvlab/internal/cli"
	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/metrics/stats"
	"kvlab/plots/folder"
)

// measure is a figure that may have a Limit.
type measure struct {
	name, what string
	of         func(metrics.Run) (value float64, ok bool) // ok: the run has it
	form       string                                     // of an absolute limit; "" if it has none
	parse      func(text string) (float64, bool)          // an absolute limit
	print      func(value float64) string                 // a value
	relative   bool                                       // to a baseline, it may have a limit in per cent
	least      bool                                       // a smaller value is worse
}

// Label returns the measure's name, and what it is.
func (m measure) Label() (name, description string) { return m.name, m.what }

// measures are all figures that may have a Limit.
var measures = slices.Concat([]measure{
	{name: "slower", what: "ops/s", of: rateOf, relative: true, least: true},
	{name: "rate", what: "ops/s", of: rateOf, form: "1M", parse: cli.ParseCount, print: func(x float64) string { return format.Count(x) + " ops/s" }, least: true},
	{name: "failed", what: "share of operations that failed", of: failedOf, form: "0.1%", parse: parsePercent, print: func(x float64) string { return fmt.Sprintf("%.3g %%", 100*x) }},
	{name: "cpu", what: "processor time per operation", of: cpuOf, form: "2us", parse: parseTime, print: printTime, relative: true},
}, latencies())

// latencyOf returns a run's latency in microseconds: of operations in an open loop, of calls
// otherwise.
func latencyOf(r metrics.Run) metrics.Quantiles {
	if r.Offered != nil {
		return r.Latency[metrics.OpLatency]
	}
	return r.Latency[metrics.CallLatency]
}

// latencies are the measures of the quantiles of latency.
func latencies() (all []measure) {
	for i, name := range metrics.QuantileNames {
		all = append(all, measure{name: name, what: name, form: "5ms", parse: parseTime, print: printTime, relative: true, of: func(r metrics.Run) (us float64, ok bool) {
			value := latencyOf(r).All()[i]
			if value == nil { // too few calls
				return 0, false
			}
			return *value, true
		}})
	}
	return all
}

func rateOf(r metrics.Run) (float64, bool) { return r.OpsPerS, r.OpsPerS > 0 }

// failedOf returns the share of the operations whose reply was missing or wrong.
func failedOf(r metrics.Run) (share float64, ok bool) {
	failures := uint64(0)
	for _, node := range r.Nodes {
		if node.Summary != nil {
			failures += node.Summary.Verification.Failures
		}
	}
	all := r.Total.Ops() + failures
	return float64(failures) / float64(max(all, 1)), all > 0
}

// cpuOf returns microseconds.
func cpuOf(r metrics.Run) (us float64, ok bool) {
	us = r.CPUPerOp(metrics.Server, metrics.Client)
	return us, us > 0
}

// parseTime reads a time, and returns microseconds.
func parseTime(text string) (us float64, ok bool) {
	d, err := time.ParseDuration(text)
	return float64(d) / float64(time.Microsecond), err == nil && d > 0
}

func printTime(us float64) string {
	return time.Duration(us * float64(time.Microsecond)).Round(10 * time.Nanosecond).String()
}

// parsePercent reads a share in per cent, 0 included.
func parsePercent(text string) (share float64, ok bool) {
	number, ok := strings.CutSuffix(text, "%")
	value, err := strconv.ParseFloat(number, 64)
	return value / 100, ok && err == nil && value >= 0 && !math.IsInf(value, 1)
}

// Limit says how bad a result may be, or how much worse than a baseline.
type Limit struct {
	measure
	text  string  // as it is typed, with =
	share float64 // of a relative one: 0.05, by 5 %
	bound float64 // of an absolute one: the worst value
}

// Relative reports whether the limit is a share of a baseline.
func (l Limit) Relative() bool { return l.share > 0 }

// ParseLimit reads a limit: relative, such as slower=5%, or absolute, such as p99=5ms or
// rate=1M, which may also be typed as what fails: p99>5ms, rate<1M.
func ParseLimit(text string) (l Limit, err error) {
	name, value, sign := text, "", byte(0)
	if i := strings.IndexAny(text, "=<>"); i > 0 {
		name, value, sign = text[:i], text[i+1:], text[i]
	}
	if l.measure, err = cli.Find("the measure", name, measures); err != nil {
		return l, err
	}
	l.text = name + "=" + value
	fails := map[bool]byte{true: '<', false: '>'}[l.least]
	var ok bool
	if sign == '=' || sign == fails {
		if l.parse != nil {
			l.bound, ok = l.parse(value)
		}
		if share, isShare := parsePercent(value); !ok && l.relative {
			l.share, ok = share, isShare && share > 0 && (share < 1 || !l.least) // no result is slower by all of the rate; a time may double
		}
	}
	if ok {
		return l, nil
	}
	var forms []string
	if l.parse != nil {
		forms = append(forms, fmt.Sprintf("%s=%s, which fails %s it", name, l.form, map[bool]string{true: "below", false: "above"}[l.least]))
	}
	if l.relative {
		below := map[bool]string{true: " and below 100%"}[l.least]
		forms = append(forms, fmt.Sprintf("with --baseline %s=PERCENT, above 0%%%s, as in %[1]s=5%%", name, below))
	}
	return Limit{}, fmt.Errorf("want %s", strings.Join(forms, ", or "))
}

func (l Limit) String() string { return l.text }

// Keep holds the valid run, or the trials, in a folder against the absolute limits. It
// returns a line for each of them, and whether all were shown to be kept: by the run's own
// value, or by the end of the 95 % interval of the trials' median.
func Keep(dir string, limits []Limit) (lines []string, kept bool, err error) {
	runs, err := folder.LoadRuns([]string{dir})
	if err != nil {
		return nil, false, err
	}
	kept = true
	for _, limit := range limits {
		if !limit.Relative() {
			line, ok := limit.alone(runs)
			lines, kept = append(lines, line), kept && ok
		}
	}
	return lines, kept, nil
}

// alone returns an absolute limit's line, and whether it was shown to be kept.
func (l Limit) alone(runs []*folder.Run) (line string, kept bool) {
	values := l.values(runs)
	if len(values) == 0 {
		return fmt.Sprintf("UNDECIDED %s: a trial does not say its %s", l, l.what), false
	}
	estimate, known := stats.MedianInterval(values, 0.95)
	best, worst := estimate.Median, estimate.Median
	text := fmt.Sprintf("%s: %s", l, l.print(estimate.Median))
	if known {
		best, worst = estimate.Low, estimate.High
		if text += fmt.Sprintf(" [%s, %s]", l.print(best), l.print(worst)); l.least {
			best, worst = worst, best
		}
	} else if len(values) > 1 {
		return fmt.Sprintf("UNDECIDED %s, of %d trials; 6 have an interval: --trials 6", text, len(values)), false
	}
	keeps := func(x float64) bool { return x == l.bound || x < l.bound != l.least }
	switch {
	case keeps(worst):
		return "PASS " + text, true
	case keeps(best):
		return "UNDECIDED " + text + "; more --trials narrow the interval", false
	}
	return "FAIL " + text, false
}

// bounds returns the ends of the logarithm of the ratio to the baseline.
func (l Limit) bounds() (from, to float64) {
	if l.least {
		return math.Log(1 - l.share), math.Inf(1)
	}
	return math.Inf(-1), math.Log(1 + l.share)
}

// limitWords say whether a limit was kept.
var limitWords = stats.Words[string]{Inside: "PASS", Below: "FAIL", Above: "FAIL", Undecided: "UNDECIDED"}

// against returns a relative limit's line, and whether the limit was shown to be kept. Either
// outcome is shown by a one-sided test at 5 %.
func (l Limit) against(b *Baseline, now Variant) (line string, kept bool) {
	before, after := l.values(b.runs), l.values(now.runs)
	if len(before) == 0 || len(after) == 0 {
		return fmt.Sprintf("UNDECIDED %s: a trial does not say its %s", l, l.what), false
	}
	from, to := l.bounds()
	test := stats.Compare(before, after, stats.Apart).In(from, to)
	text := fmt.Sprintf("%s: %.3f x the %s of %s", l, test.Ratio(), l.what, b.name)
	if !test.Known {
		return fmt.Sprintf("UNDECIDED %s, from %d and %d trials; %d of each have an interval: --trials %[4]d", text, len(before), len(after), stats.RatioTrials), false
	}
	low, high := test.RatioInterval(1 - 2*alpha)
	text += fmt.Sprintf(" [%.3f, %.3f]", low, high)
	outcome := test.Outcome(alpha)
	if outcome == stats.Undecided {
		_, words := needed(test)
		text += fmt.Sprintf("; %s would decide", words)
	}
	return limitWords.Of(outcome) + " " + text, outcome == stats.Inside
}

// values returns the measure of all runs; none if a run does not have it.
func (l Limit) values(runs []*folder.Run) (values []float64) {
	for _, r := range runs {
		value, ok := l.of(r.Run)
		if !ok {
			return nil
		}
		values = append(values, value)
	}
	return values
}
