package cluster

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"kvlab/kvs/experiment"
	"kvlab/metrics"
)

// recorded replaces a --resume command line by the one that began the sweep. Typed
// with other words than --resume, they must be that one's.
func (l *Launcher) recorded(cfg Config, args []string) (Config, []string, error) {
	dir, err := filepath.EvalSymlinks(cfg.Trials.Resume)
	if err != nil {
		return cfg, nil, fmt.Errorf("--resume: %w", err)
	}
	begun, _, err := metrics.ReadSweep(dir)
	if errors.Is(err, os.ErrNotExist) {
		return cfg, nil, fmt.Errorf("--resume %s: no sweep was begun there: it has no %s", cfg.Trials.Resume, metrics.SweepFile)
	} else if err != nil {
		return cfg, nil, fmt.Errorf("--resume: %w", err)
	}
	rest := without(args, "resume")
	if len(rest) == 0 && len(begun.Command) > 0 {
		rest = begun.Command[1:]
	}
	today := begun
	today.Command = commandLine(rest)
	if err := experiment.CheckSame(begun, today); err != nil {
		return cfg, nil, fmt.Errorf("--resume %s: %w", cfg.Trials.Resume, err)
	}
	if cfg, err = ParseArgs(rest, filepath.Join(l.Root, "logs"), l.flags, io.Discard); err != nil {
		return cfg, nil, fmt.Errorf("--resume %s: its command line: %w", dir, err)
	}
	cfg.Trials.Resume = dir
	return cfg, rest, nil
}

// reopen finds what is done of the plan that stands in a sweep's folder, and makes it
// the plan, if the command line, the git commit and the programs are still the same.
func reopen(dir folder, plan *metrics.Sweep) (done []experiment.Trial, lock *os.File, err error) {
	refuse := func(err error) ([]experiment.Trial, *os.File, error) {
		return nil, nil, &UsageError{fmt.Errorf("--resume %s: %w", dir, err)}
	}
	if lock, err = dir.lock(); err != nil {
		return refuse(err)
	}
	begun, trials, err := metrics.ReadSweep(string(dir))
	if err == nil {
		err = experiment.CheckSame(begun, *plan)
	}
	if err == nil {
		done, err = finished(dir, trials)
	}
	if err == nil {
		err = pointLatest(filepath.Dir(string(dir)), dir.id())
	}
	if err != nil {
		lock.Close()
		return refuse(err)
	}
	*plan = begun
	return done, lock, nil
}
