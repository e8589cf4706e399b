package cluster

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"kvlab/kvs/cluster/sweep"
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
	if err := sweep.CheckSame(begun, today); err != nil {
		return cfg, nil, fmt.Errorf("--resume %s: %w", cfg.Trials.Resume, err)
	}
	if cfg, err = ParseArgs(rest, filepath.Join(l.Root, "logs"), io.Discard); err != nil {
		return cfg, nil, fmt.Errorf("--resume %s: its command line: %w", dir, err)
	}
	cfg.Trials.Resume = dir
	return cfg, rest, nil
}

// reopen finds what is done of the plan that stands in a sweep's folder, if the
// command line, the git commit and the programs are still the same.
func (c *campaign) reopen(dir folder) (done []metrics.Trial, lock *os.File, err error) {
	refuse := func(err error) ([]metrics.Trial, *os.File, error) {
		return nil, nil, &UsageError{fmt.Errorf("--resume %s: %w", dir, err)}
	}
	if lock, err = dir.lock(); err != nil {
		return refuse(err)
	}
	begun, done, err := metrics.ReadSweep(string(dir))
	if err == nil {
		err = sweep.CheckSame(begun, c.plan)
	}
	if err == nil {
		err = pointLatest(filepath.Dir(string(dir)), dir.id())
	}
	if err != nil {
		lock.Close()
		return refuse(err)
	}
	c.dir, c.plan = dir, begun
	return done, lock, nil
}
