package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"kvlab/extra/grade"
	results "kvlab/extra/grade/pages"
	"kvlab/internal/cli"
	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/experiment"
	"kvlab/metrics"
	"kvlab/metrics/format"
)

// planClass completes the plan by the entries of the command line's class file. Those that
// do not build are kept with the reason. A mistake in the file is an error, and so is
// whatever the reference has.
func (s *series) planClass(ctx context.Context) error {
	file := s.cfg.Trials.Class
	graded, err := file.Class(s.cfg.Trials.Only, s.cfg.Trials.CheckOne, func(args string) error {
		_, _, err := applyVariant(args, s.cfg.Spec, s.launcher.flags)
		return err
	})
	if err = cmp.Or(err, results.CheckGradebook(graded.Gradebook)); err != nil {
		return err
	}
	if s.cfg.Deadline == 0 {
		s.cfg.Deadline = classDeadline + 3*s.launcher.lengthOf(graded.Entries[0].Args, s.cfg, len(s.nodes) > 0)
	}
	for i := range graded.Entries {
		e := &graded.Entries[i]
		if e.Broken != "" {
			continue
		}
		at, err := s.resolve(ctx, experiment.Spec{Name: metrics.EntryKnob + "=" + e.Name, Args: e.Args})
		switch {
		case ctx.Err() != nil:
			return plan.ErrInterrupted
		case err != nil && i == 0:
			return err
		case err != nil:
			why := strings.TrimPrefix(format.OneLine(errors.Unwrap(err).Error()), "--target: ") // without the entry's name,
			words, _ := cli.SplitWords(e.Args)
			if path := metrics.SourceOf(words).Path(); path != "" {
				why = strings.TrimPrefix(why, words[0]+": ") // and without its path, which students would see
			}
			e.Broken = format.Label(why, mostBroken)
			continue
		}
		sums, err := at.programs.Sums()
		if err != nil {
			return err
		}
		switch e.Kind {
		case metrics.TargetEntry:
			e.Sum = sums[plan.Store]
		default:
			e.Commit, e.Sum = at.server, sums[metrics.Server]
		}
	}
	if broken := graded.Entries[len(graded.Entries)-1].Broken; broken != "" && s.cfg.Trials.CheckOne != "" {
		return fmt.Errorf("%s does not build: %s", s.cfg.Trials.CheckOne, broken)
	}
	s.plan = grade.Planned(s.plan, graded)
	return nil
}

const (
	// classDeadline and three times the expected length are the deadline of a class's trial
	// without --deadline: a store that hangs costs no more. The window of a slow one, or on a
	// busy machine, may become as long as any.
	classDeadline = 30*time.Second + metrics.LongestWindow
	// mostBroken is the most that is kept of what a compiler says, in characters.
	mostBroken = 4000
)
