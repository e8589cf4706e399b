package compare

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
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
	of         func(metrics.Run) float64 // 0: the run does not have it
}

// Label returns the measure's name, and what it is.
func (m measure) Label() (name, description string) { return m.name, m.what }

var measures = []measure{
	{"slower", "ops/s", func(r metrics.Run) float64 { return r.OpsPerS }},
	{"p99", "p99", p99Of},
	{"cpu", "processor time per operation", func(r metrics.Run) float64 { return r.CPUPerOp(metrics.Server, metrics.Client) }},
}

// p99Of returns a run's p99 in microseconds: of operations in an open loop, of calls
// otherwise; 0 with too few calls.
func p99Of(r metrics.Run) float64 {
	name := metrics.CallLatency
	if r.Offered != nil {
		name = metrics.OpLatency
	}
	if us := r.Latency[name].P99; us != nil {
		return *us
	}
	return 0
}

// Limit says how much worse than a baseline a result may be.
type Limit struct {
	measure
	share float64 // 0.05: by 5 %
}

// ParseLimit reads a limit such as slower=5%.
func ParseLimit(text string) (l Limit, err error) {
	name, percent, _ := strings.Cut(text, "=")
	if l.measure, err = cli.Find("the measure", name, measures); err != nil {
		return l, err
	}
	number, ok := strings.CutSuffix(percent, "%")
	value, err := strconv.ParseFloat(number, 64)
	most, below := math.MaxFloat64, ""
	if name == "slower" { // no result is slower by all of the rate; a time may double
		most, below = 100, " and below 100%"
	}
	if !ok || err != nil || !(value > 0 && value < most) {
		return l, fmt.Errorf("want %s=PERCENT, above 0%%%s, as in %[1]s=5%%", name, below)
	}
	l.share = value / 100
	return l, nil
}

// bounds returns the ends of the logarithm of the ratio to the baseline.
func (l Limit) bounds() (from, to float64) {
	if l.name == "slower" {
		return math.Log(1 - l.share), math.Inf(1)
	}
	return math.Inf(-1), math.Log(1 + l.share)
}

func (l Limit) String() string { return fmt.Sprintf("%s=%g%%", l.name, 100*l.share) }

// Baseline is a stored result that others are compared with.
type Baseline struct {
	name string // as it was asked for
	Variant
}

// stampedName is a run folder's name: when it began, and the name that it was given.
var stampedName = regexp.MustCompile(`^\d{8}-\d{6}-(.+)$`)

// FindBaseline returns the newest result in the folder logs that has a name, given with
// --name, or an ID: a run, or trials of one configuration, with a valid trial. Folders
// named except are left out.
func FindBaseline(logs, name, except string) (*Baseline, error) {
	folders, err := os.ReadDir(logs)
	if err != nil {
		return nil, err
	}
	slices.Reverse(folders) // the newest first
	var names []string
	for _, f := range folders {
		id, given := f.Name(), ""
		if m := stampedName.FindStringSubmatch(id); m != nil {
			given = m[1]
		}
		if names = append(names, format.NonEmpty(id, given)...); id == except || id != name && given != name {
			continue
		}
		b := &Baseline{name: name}
		runs, failed := folder.LoadRuns([]string{filepath.Join(logs, id)})
		if failed == nil {
			_, failed = b.add(id, runs)
		}
		if failed == nil {
			return b, nil
		}
		err = cmp.Or(err, failed)
	}
	if err != nil {
		return nil, fmt.Errorf("no run named %s has a result: %w", name, err)
	}
	return nil, fmt.Errorf("no run in %s is named %s, by --name or by its folder%s", logs, name, cli.DidYouMean(name, "", names))
}

// Check compares the valid run, or the trials, in a folder with the baseline. It returns a
// line for each limit, and whether every limit was shown to be kept. An error says that the
// two have not measured the same, and names the first setting that differs.
func (b *Baseline) Check(dir string, limits []Limit) (lines []string, kept bool, err error) {
	runs, err := folder.LoadRuns([]string{dir})
	if err != nil {
		return nil, false, err
	}
	now := Variant{}
	if _, err := now.add(filepath.Base(dir), runs); err != nil {
		return nil, false, err
	}
	settings := []map[string]string{b.settings, now.settings}
	differ := slices.DeleteFunc(folder.Differences(settings), func(name string) bool { return name == commitSetting || name == machinesSetting })
	if len(differ) > 0 {
		return nil, false, fmt.Errorf("%s differs in %s: %s and %s", b.Name, differ[0], cmp.Or(b.settings[differ[0]], "none"), cmp.Or(now.settings[differ[0]], "none"))
	}
	kept = true
	for _, limit := range limits {
		line, ok := limit.check(b, now)
		lines, kept = append(lines, line+b.doubt(now)), kept && ok
	}
	return lines, kept, nil
}

// limitWords say whether a limit was kept.
var limitWords = stats.Words[string]{Inside: "PASS", Below: "FAIL", Above: "FAIL", Undecided: "UNDECIDED"}

// check returns a limit's line, and whether the limit was shown to be kept. Either outcome is
// shown by a one-sided test at 5 %.
func (l Limit) check(b *Baseline, now Variant) (line string, kept bool) {
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
		value := l.of(r.Run)
		if value <= 0 {
			return nil
		}
		values = append(values, value)
	}
	return values
}

// doubt says why another time or machine may cause the difference; "" if neither may.
func (b *Baseline) doubt(now Variant) string {
	var why []string
	const day = 24 * time.Hour
	if age := now.runs[0].Started.Sub(b.runs[0].Started); age > day {
		why = append(why, fmt.Sprintf("%s old", format.Plural(int(age/day), "day")))
	}
	if b.settings[machinesSetting] != now.settings[machinesSetting] || hostsOf(b.runs[0]) != hostsOf(now.runs[0]) {
		why = append(why, "of other machines")
	}
	if len(why) == 0 {
		return ""
	}
	commit := strings.TrimSuffix(b.runs[0].GitCommit, "-dirty")
	return fmt.Sprintf("; %s is %s: to measure both today, --ab commit:%s \"\"", b.name, strings.Join(why, " and "), cmp.Or(commit[:min(len(commit), 12)], "REV"))
}

// hostsOf names the machines of a run.
func hostsOf(r *folder.Run) string {
	var names []string
	for _, node := range r.Nodes {
		if node.Config != nil {
			names = append(names, node.Config.Host.Hostname)
		}
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), " ")
}
