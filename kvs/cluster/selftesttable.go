package cluster

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"kvlab/metrics"
	"kvlab/metrics/format"
)

// tested is one line of the self-test's table.
type tested struct {
	What     string `json:"what"`
	Asked    string `json:"asked"`
	Measured string `json:"measured"`
	Passed   bool   `json:"passed"`
}

// within asks that a latency, in microseconds, lies between two others. One that
// there is not fails.
func within(what string, us *float64, low, high time.Duration) tested {
	c := tested{What: what, Asked: fmt.Sprintf("%v to %v", low, high), Measured: "n/a"}
	if low == 0 {
		c.Asked = fmt.Sprintf("at most %v", high)
	}
	if us != nil {
		c.Measured = microseconds(*us).String()
		c.Passed = microseconds(*us) >= low && microseconds(*us) <= high
	}
	return c
}

// atLeast asks that a latency, in microseconds, is as long as another. One that there
// is not fails, and refused says why, when it is known.
func atLeast(what string, us *float64, low time.Duration, refused string) tested {
	c := tested{What: what, Asked: fmt.Sprintf("at least %v", low), Measured: strings.TrimSpace("n/a " + refused)}
	if us != nil {
		c.Measured = microseconds(*us).String()
		c.Passed = microseconds(*us) >= low
	}
	return c
}

func microseconds(us float64) time.Duration { return time.Duration(us * float64(time.Microsecond)) }

// add takes in what a test came to, and says it.
func (s *selfTest) add(c tested) {
	s.checks = append(s.checks, c)
	fmt.Fprintf(s.Stderr, "%s: %s\n", c.What, c.Measured)
}

// selfTestFile is the self-test's result, beside a folder for each trial.
const selfTestFile = "selftest.json"

// selfTestRecord is selftest.json.
type selfTestRecord struct {
	Form      string   `json:"form"` // full or quick
	Command   []string `json:"command"`
	GitCommit string   `json:"git_commit"`
	Seed      uint64   `json:"seed"` // of the order within pairs
	Trials    int      `json:"trials"`
	Remade    int      `json:"pairs_made_again"` // as their windows lay apart
	Checks    []tested `json:"checks"`
}

// conclude writes and prints what the tests came to, the verdict last.
func (s *selfTest) conclude(seed uint64, ended error) error {
	record := selfTestRecord{s.cfg.SelfTest, commandLine(s.args), s.built, seed, s.made, s.remade, s.checks}
	if err := s.dir.writeJSON(selfTestFile, record); err != nil && ended == nil {
		ended = err
	}
	printChecks(s.Stdout, s.checks)
	if s.remade > 0 {
		fmt.Fprintf(s.Stdout, "%s made again: the windows of the two trials lay apart\n", format.Plural(s.remade, "pair"))
	}
	verdict := selfTestVerdict(s.checks, ended)
	fmt.Fprintf(s.Stdout, "\nlogs %s\nverdict %s\n", s.dir, verdict)
	if verdict.Valid {
		return nil
	}
	return &InvalidError{Verdict: verdict, Err: ended}
}

// selfTestVerdict says whether the instrument has passed.
func selfTestVerdict(checks []tested, ended error) metrics.Verdict {
	var broken *InvalidError
	switch {
	case errors.Is(ended, errInterrupted):
		return verdictOf(errInterrupted)
	case errors.As(ended, &broken):
		return invalid(broken.Verdict.Node, "a trial of the self-test failed: %s", format.OneLine(ended.Error()))
	case ended != nil:
		return verdictOf(ended)
	}
	for _, c := range checks {
		if !c.Passed {
			return invalid("", "self-test: %s: %s, asked %s", c.What, c.Measured, c.Asked)
		}
	}
	return valid
}

// printChecks prints a table, a line for each.
func printChecks(w io.Writer, checks []tested) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "what\tasked\tmeasured\tpassed")
	for _, c := range checks {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", c.What, c.Asked, c.Measured, map[bool]string{true: "yes", false: "NO"}[c.Passed])
	}
	table.Flush()
}
