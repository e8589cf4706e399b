package experiment

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"

	"kvlab/kvs/verdict"
	"kvlab/metrics"
	"kvlab/metrics/format"
)

// selfTestFile holds a self-test's result, beside a folder for each trial.
const selfTestFile = "selftest.json"

// SelfTest tests the instrument: whether two runs of one configuration are told apart,
// whether faults of known size are found, and what samples cost.
type SelfTest struct {
	Quick bool          // only the tests that a slow machine does not fail
	Plan  metrics.Sweep // without knobs and order; its seed decides the order within pairs
	Cores string        // launcher flags for pairs, which bind servers and clients to different processors; may be empty
}

// workload is what a trial of the self-test runs.
type workload struct{ label, server, client string }

// args returns the launcher's flags.
func (w workload) args() string {
	return fmt.Sprintf("--server-args '%s' --client-args '%s %s'", w.server, selfTestArgs, w.client)
}

// selfTestArgs are the arguments of every client. The work is small, so that short trials
// have many calls.
const selfTestArgs = "-records 20000 -warmup 0 -workers 4 -batch 64"

// test is one test of the instrument.
type test struct {
	full      bool                                                     // only in the full form
	workloads []workload                                               // each makes a trial; a test with pairs has two, A and B
	pairs     int                                                      // 0: the trials are not paired
	check     func(quick bool, runs [][]*metrics.Run) ([]check, error) // runs has the runs of each workload
}

// mostRemade is the largest number of pairs that a self-test repeats because a busy
// machine opened their windows too far apart. Their results are dropped.
const mostRemade = 5

// progress is the state of a self-test after some trials.
type progress struct {
	checks []check
	remade int
	left   []Group
}

// progress checks the tests whose trials are done, and lists the groups that are left.
func (s SelfTest) progress(done []metrics.Trial) (p progress, err error) {
	random := rand.New(rand.NewPCG(s.Plan.Seed, 0))
	number := 0
	for _, t := range selfTests {
		if t.full && s.Quick {
			continue
		}
		runs := make([][]*metrics.Run, len(t.workloads))
		for n := 0; n < cmp.Or(t.pairs, len(t.workloads)); n++ {
			group, order := s.group(t, n, number, random)
			if number += len(group); number > len(done) {
				p.left = append(p.left, group)
				continue
			}
			made := done[number-len(group) : number]
			if len(made) == 2 && p.remade < mostRemade && !verdict.CheckCommonWindow(*made[0].Run, *made[1].Run).Valid {
				p.remade++
				n--
				continue
			}
			for i, trial := range made {
				if !trial.Verdict.Valid && trial.Verdict.Check != verdict.Injected {
					return p, &trialError{trial, group[i].Label}
				}
				runs[order[i]] = append(runs[order[i]], trial.Run)
			}
		}
		if len(p.left) == 0 {
			checks, err := t.check(s.Quick, runs)
			if err != nil {
				return p, err
			}
			p.checks = append(p.checks, checks...)
		}
	}
	for _, group := range p.left {
		for i := range group {
			group[i].Of = number
		}
	}
	return p, nil
}

// group returns the test's n-th group, after number trials, and the indices of its
// workloads. The order within pairs is random, as the variant that starts first may get
// the better memory.
func (s SelfTest) group(t test, n, number int, random *rand.Rand) (group Group, order []int) {
	order = []int{n}
	if t.pairs > 0 {
		order = random.Perm(2)
	}
	for i, of := range order {
		w := t.workloads[of]
		p := PlannedTrial{PlannedTrial: metrics.PlannedTrial{Number: number + 1 + i}, Label: w.label, Spec: Spec{Args: w.args()}}
		if t.pairs > 0 {
			p.Variant = metrics.VariantNames[of]
			p.Label += fmt.Sprintf(", pair %d of %d, %s", n+1, t.pairs, p.Variant)
			p.Spec.Args += " " + s.Cores
		}
		group = append(group, p)
	}
	return group, order
}

// Next returns the trials of the tests that are not complete.
func (s SelfTest) Next(done []metrics.Trial) ([]Group, error) {
	p, err := s.progress(done)
	return p.left, err
}

// Specs returns the spec of a trial without a fault.
func (s SelfTest) Specs() []Spec { return []Spec{{Args: workload{}.args()}} }

// Outline returns nothing: --dry-run shows the spec.
func (s SelfTest) Outline() string { return "" }

// Record adds nothing.
func (s SelfTest) Record(PlannedTrial, *metrics.Trial) string { return "" }

// Files holds the result, in the end.
func (s SelfTest) Files(done []metrics.Trial, ended bool) map[string]any {
	if !ended {
		return nil
	}
	p, _ := s.progress(done) // its error ended the self-test
	return map[string]any{selfTestFile: struct {
		Form      string   `json:"form"`
		Command   []string `json:"command"`
		GitCommit string   `json:"git_commit"`
		Seed      uint64   `json:"seed"` // of the order within pairs
		Trials    int      `json:"trials"`
		Remade    int      `json:"pairs_made_again"` // because their windows were apart
		Checks    []check  `json:"checks"`
	}{map[bool]string{false: "full", true: "quick"}[s.Quick], s.Plan.Command, s.Plan.GitCommit, s.Plan.Seed, len(done), p.remade, p.checks}}
}

// Conclude returns the table of the checks and the verdict on the instrument.
func (s SelfTest) Conclude(done []metrics.Trial, err error) Conclusion {
	p, _ := s.progress(done) // its error is err
	rows := [][]string{{"what", "asked", "measured", "passed"}}
	for _, c := range p.checks {
		rows = append(rows, []string{c.What, c.Asked, c.Measured, map[bool]string{true: "yes", false: "NO"}[c.Passed]})
	}
	text := format.Aligned(rows)
	if p.remade > 0 {
		text += fmt.Sprintf("%s made again: the windows of the two trials lay apart\n", format.Plural(p.remade, "pair"))
	}
	text += "\n"
	return Conclusion{Brief: text, Full: text, Verdict: selfTestVerdict(p.checks, err)}
}

// selfTestVerdict names the trial that ended the self-test, or the first failed check.
func selfTestVerdict(checks []check, err error) metrics.Verdict {
	if failed := (*trialError)(nil); errors.As(err, &failed) {
		reason := fmt.Sprintf("a trial of the self-test failed: %s (%s): verdict %s", failed.Folder, failed.label, failed.Verdict)
		return metrics.Verdict{Reason: format.OneLine(reason), Node: failed.Verdict.Node}
	}
	for _, c := range checks {
		if err == nil && !c.Passed {
			return metrics.Verdict{Reason: fmt.Sprintf("self-test: %s: %s, asked %s", c.What, c.Measured, c.Asked)}
		}
	}
	return metrics.Verdict{Valid: err == nil}
}
