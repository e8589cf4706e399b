// Package preflight checks whether every machine of a plan is fit for a run.
package preflight

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"time"

	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/cluster/remote"
	"kvlab/kvs/node"
	"kvlab/metrics"
	"kvlab/metrics/format"
)

// The free space below which a check fails, and below which it warns.
const (
	leastOut = uint64(100_000_000)
	lowOut   = uint64(1_000_000_000)
)

// Target is what a preflight checks.
type Target struct {
	Plan   plan.Plan
	Needs  plan.Needs
	Runner *remote.Runner
	Out    string        // folder of the run's files
	Leave  time.Duration // limit for a probe's exit
}

// View is a flag of the launcher that shows what a preflight finds in another form.
type View struct {
	Flag, Usage string
	Check       func(value string) error // of the flag; its error says what it wants
	Text        func(metrics.Preflight) string
}

// Run copies the programs to the plan's machines and checks whether a run may start
// there. Its error joins a fault for every failure, or is plan.ErrInterrupted.
func Run(ctx context.Context, t Target) (metrics.Preflight, error) {
	p := metrics.Preflight{Started: time.Now(), Findings: []metrics.Finding{}}
	p.Findings = append(p.Findings, outFindings(t.Out)...)
	s := t.survey()
	if err := s.blame(t.Runner.Deploy(ctx, t.Plan.Places)); err != nil {
		return p, err
	}
	rtts, err := s.run(ctx)
	if err != nil {
		return p, err
	}
	p.RTTs = rtts
	p.Findings = append(p.Findings, findings(s.machines, rtts, t.Needs)...)
	for _, m := range s.machines {
		p.Machines = append(p.Machines, m.Machine)
	}
	// Failures first ("fail" is before "warn"): the verdict is the first of them.
	slices.SortStableFunc(p.Findings, func(a, b metrics.Finding) int { return cmp.Compare(a.Grade, b.Grade) })
	p.LengthS = time.Since(p.Started).Seconds()
	var faults []error
	for _, f := range p.Failures() {
		faults = append(faults, &plan.Fault{Node: f.Node, Role: f.Role, Kind: plan.Crash, Reason: f.Text, Outside: true})
	}
	return p, errors.Join(faults...)
}

// outFindings assesses the disk of the run's files. The folder itself may not exist
// yet.
func outFindings(out string) []metrics.Finding {
	folder, _ := filepath.Abs(out)
	_, free, err := node.Disk(folder)
	for errors.Is(err, fs.ErrNotExist) {
		folder = filepath.Dir(folder)
		_, free, err = node.Disk(folder)
	}
	found := metrics.Finding{
		Fact: "disk", Grade: metrics.Fail, Type: "df -h " + format.QuoteWord(folder),
		Text: fmt.Sprintf("--out: only %s are free in %s", format.Bytes(free), folder),
	}
	switch {
	case err != nil:
		found.Text = format.OneLine(fmt.Sprintf("--out: %v", err))
	case free >= lowOut:
		return nil
	case free >= leastOut:
		found.Grade = metrics.Warn
	}
	return []metrics.Finding{found}
}

// Report prints what a run's preflight found: one line if nothing needs attention,
// else the whole table.
func Report(w io.Writer, p metrics.Preflight) {
	if len(p.Findings) == 0 {
		fmt.Fprintln(w, line(p))
		return
	}
	fmt.Fprint(w, Table(p))
}

// minClockStep is the smallest step of a wall clock, in seconds, that is reported:
// two readings of the clocks of a busy machine may be this far apart.
const minClockStep = 0.01

// ClocksAfter reads the clocks again after a run, so that run.json has their drift.
// Missing answers are ignored.
func ClocksAfter(ctx context.Context, t Target, p *metrics.Preflight) {
	s := t.survey()
	defer s.end()
	s.begin(ctx)
	for i, now := range s.machines {
		m := &p.Machines[i]
		if m.ClockAfter = now.ClockBefore; m.ClockAfter == nil || m.ClockBefore == nil {
			continue
		}
		if step := m.ClockAfter.Zero.Sub(m.ClockBefore.Zero).Seconds(); math.Abs(step) >= minClockStep {
			m.ClockStepS = step
		}
	}
}
