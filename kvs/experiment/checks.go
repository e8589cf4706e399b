package experiment

import (
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"kvlab/metrics"
	"kvlab/metrics/format"
)

// check is one line of the self-test's table.
type check struct {
	What     string `json:"what"`
	Asked    string `json:"asked"`
	Measured string `json:"measured"`
	Passed   bool   `json:"passed"`
}

// within requires a latency, in microseconds, between low and high; a bound of 0 is none.
// An unknown latency fails; refused says why, if that is known.
func within(what string, us *float64, low, high time.Duration, refused string) check {
	c := check{What: what, Asked: fmt.Sprintf("%v to %v", low, high), Measured: strings.TrimSpace("n/a " + refused)}
	switch {
	case low == 0:
		c.Asked = fmt.Sprintf("at most %v", high)
	case high == 0:
		c.Asked = fmt.Sprintf("at least %v", low)
	}
	if us != nil {
		latency := time.Duration(*us * float64(time.Microsecond))
		c.Measured = latency.String()
		c.Passed = latency >= low && (high == 0 || latency <= high)
	}
	return c
}

// Conclude returns the table of the checks and the verdict on the instrument.
func (s SelfTest) Conclude(done []Trial, err error) (string, metrics.Verdict) {
	p, _ := s.progress(done) // its error is err
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "what\tasked\tmeasured\tpassed")
	for _, c := range p.checks {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", c.What, c.Asked, c.Measured, map[bool]string{true: "yes", false: "NO"}[c.Passed])
	}
	table.Flush()
	if p.remade > 0 {
		fmt.Fprintf(&b, "%s made again: the windows of the two trials lay apart\n", format.Plural(p.remade, "pair"))
	}
	return b.String() + "\n", selfTestVerdict(p.checks, err)
}

// selfTestVerdict names the trial that ended the self-test, or the first failed check.
func selfTestVerdict(checks []check, err error) metrics.Verdict {
	if failed := (*trialError)(nil); errors.As(err, &failed) {
		t := failed.Trial
		reason := fmt.Sprintf("a trial of the self-test failed: %s (%s): verdict %s", t.Folder, t.Label, t.Verdict)
		return metrics.Verdict{Reason: format.OneLine(reason), Node: t.Verdict.Node}
	}
	for _, c := range checks {
		if err == nil && !c.Passed {
			return metrics.Verdict{Reason: fmt.Sprintf("self-test: %s: %s, asked %s", c.What, c.Measured, c.Asked)}
		}
	}
	return metrics.Verdict{Valid: err == nil}
}
