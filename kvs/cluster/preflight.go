package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/cluster/remote"
	"kvlab/kvs/node"
	"kvlab/metrics"
	"kvlab/metrics/format"
)

// The free space below which nothing is written to a folder, and below which
// there may be too little for a long run.
const (
	leastOut = uint64(100_000_000)
	lowOut   = uint64(1_000_000_000)
)

// preflight puts the programs on the plan's machines, and finds out whether a
// run may start there. Its error is made of a fault for every failure, or is
// errInterrupted.
func (l *Launcher) preflight(ctx context.Context, at configuration, b *remote.Runner) (metrics.Preflight, error) {
	p := metrics.Preflight{Started: time.Now(), Findings: []metrics.Finding{}}
	needs, err := at.programs.Needs(ctx, at.plan)
	if err != nil {
		return p, err
	}
	p.Findings = append(p.Findings, outFindings(at.cfg.Out)...)
	s := &survey{backend: b, limits: l.limits, sites: sitesOf(at.plan, b)}
	if err := s.blame(b.Deploy(ctx, at.plan.Places)); err != nil {
		return p, err
	}
	rtts, err := s.run(ctx)
	if err != nil {
		return p, err
	}
	for _, site := range s.sites {
		p.Machines = append(p.Machines, site.Machine)
	}
	p.RTTs = rtts
	p.Findings = append(p.Findings, findings(s.sites, rtts, needs)...)
	// Failures first: the verdict is the first of them.
	slices.SortStableFunc(p.Findings, func(a, b metrics.Finding) int {
		return rank[a.Grade] - rank[b.Grade]
	})
	p.LengthS = time.Since(p.Started).Seconds()
	return p, failure(p)
}

// rank orders grades, the worst first.
var rank = map[metrics.Grade]int{metrics.Fail: 0, metrics.Warn: 1}

// blame gives the faults of Prepare to the sites that they lie with, and returns
// what lies with none.
func (s *survey) blame(err error) error {
	faults := []error{err}
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		faults = several.Unwrap()
	}
	for _, err := range faults {
		var f *plan.Fault
		switch {
		case err == nil:
		case errors.As(err, &f) && f.Reason == plan.ErrInterrupted.Error():
			return plan.ErrInterrupted
		case f != nil && s.at(f.Node) != nil:
			s.at(f.Node).err = f
		default:
			return err
		}
	}
	return nil
}

// at is the site with a node, or nil.
func (s *survey) at(node string) *site {
	i := slices.IndexFunc(s.sites, func(site *site) bool { return slices.Contains(site.Nodes, node) })
	if i < 0 {
		return nil
	}
	return s.sites[i]
}

// failure makes the failures faults.
func failure(p metrics.Preflight) error {
	var faults []error
	for _, f := range p.Failures() {
		faults = append(faults, &plan.Fault{Node: f.Node, Role: f.Role, Kind: plan.Crash, Reason: f.Text})
	}
	return errors.Join(faults...)
}

// outFindings judges the disk that the run's files are written to. The folder
// itself may not be there yet.
func outFindings(out string) []metrics.Finding {
	folder, err := filepath.Abs(out)
	for ; err == nil && folder != "/"; folder = filepath.Dir(folder) {
		if _, statErr := os.Stat(folder); statErr == nil {
			break
		}
	}
	if err != nil {
		return []metrics.Finding{{Fact: "disk", Grade: metrics.Fail, Text: format.OneLine(fmt.Sprintf("--out: %v", err))}}
	}
	_, free, err := node.Disk(folder)
	found := metrics.Finding{Fact: "disk", Grade: metrics.Warn, Type: "df -h " + format.QuoteWord(folder) + ", and give another folder with --out"}
	switch {
	case err != nil:
		found.Grade, found.Text = metrics.Fail, format.OneLine(fmt.Sprintf("--out: %v", err))
	case free < leastOut:
		found.Grade, found.Text = metrics.Fail, fmt.Sprintf("--out: only %s are free in %s", gigabytes(free), folder)
	case free < lowOut:
		found.Text = fmt.Sprintf("--out: only %s are free in %s", gigabytes(free), folder)
	default:
		return nil
	}
	return []metrics.Finding{found}
}

// check is --check: the preflight alone, with its whole table, or as JSON.
func (l *Launcher) check(ctx context.Context, at configuration) error {
	b, err := l.runner(at.cfg, at.programs)
	if err != nil {
		return err
	}
	p, err := l.preflight(ctx, at, b)
	if errors.Is(err, plan.ErrInterrupted) {
		return plan.ErrInterrupted
	}
	var f *plan.Fault
	switch {
	case err == nil:
	case errors.As(err, &f) && f.Kind == plan.BadArgs:
		return badArguments(f)
	case p.Machines == nil:
		return explain(ctx, at.plan.Source(), err)
	}
	text := []byte(preflightTable(p))
	if at.cfg.JSON {
		var jsonErr error
		if text, jsonErr = json.MarshalIndent(p, "", "  "); jsonErr != nil {
			return jsonErr
		}
		text = append(text, '\n')
	}
	if _, err := l.Stdout.Write(text); err != nil {
		return err
	}
	if err == nil {
		return nil
	}
	verdict := verdictOf(explain(ctx, at.plan.Source(), err))
	if !at.cfg.JSON {
		fmt.Fprintf(l.Stdout, "verdict %s\n", verdict)
	}
	return &InvalidError{Verdict: verdict, Err: err}
}

// report tells the user what a run's preflight has found: in a line when there
// is nothing to do about it, else all of it.
func report(w io.Writer, p metrics.Preflight) {
	if len(p.Findings) == 0 {
		fmt.Fprintln(w, preflightLine(p))
		return
	}
	fmt.Fprint(w, preflightTable(p))
}

// clocksAfter asks the clocks once more, so that run.json says how they went.
// Nothing depends on an answer that does not come.
func (l *Launcher) clocksAfter(ctx context.Context, plan plan.Plan, b *remote.Runner, p *metrics.Preflight) {
	s := &survey{backend: b, limits: l.limits, sites: sitesOf(plan, b)}
	s.clocks(ctx)
	for i, site := range s.sites {
		if site.ClockAfter != nil {
			p.Machines[i].NoteClockAfter(*site.ClockAfter)
		}
	}
}
