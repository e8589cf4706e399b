package cluster

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"

	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/cluster/trial"
	"kvlab/kvs/experiment"
	"kvlab/metrics"
)

// earlier replaces a command line with --resume or --rerun by the command line of the recorded run.
func (l *Launcher) earlier(cfg Config, args []string) (_ Config, _ []string, err error) {
	if cfg.Trials.Resume != "" {
		if cfg, args, err = l.recorded(cfg, args); err != nil {
			return cfg, nil, err
		}
	}
	if cfg.Rerun.dir == "" { // a sweep that is continued may be a rerun
		return cfg, args, nil
	}
	return l.repeated(cfg, args)
}

// recorded replaces a --resume command line by the one that began the sweep. Further words of
// the command line must be the same as in that one.
func (l *Launcher) recorded(cfg Config, args []string) (Config, []string, error) {
	verbose := cfg.Verbose
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
	rest := plan.Without(args, "resume", "v")
	if len(rest) == 0 && len(begun.Command) > 0 {
		rest = begun.Command[1:]
	}
	today := begun
	today.Command = commandLine(rest)
	if err := experiment.CheckSame(begun, today); err != nil {
		return cfg, nil, fmt.Errorf("--resume %s: %w", cfg.Trials.Resume, err)
	}
	if cfg, err = l.parseArgs(rest, io.Discard); err != nil {
		return cfg, nil, fmt.Errorf("--resume %s: its command line: %w", dir, err)
	}
	cfg.Trials.Resume, cfg.Verbose = dir, verbose
	return cfg, rest, nil
}

// reopen reads an experiment's folder: the plan, which replaces today's, and the trials
// that are done. The command line, the git commit and the programs must be the same.
func (s *series) reopen() (done []metrics.Trial, lock *trial.Lock, err error) {
	dir := s.dir
	defer func() {
		if err != nil {
			lock.Release()
			err = usage(fmt.Errorf("--resume %s: %w", dir, err))
		}
	}()
	if lock, err = dir.Lock(); err != nil {
		return nil, nil, err
	}
	begun, done, err := metrics.ReadSweep(string(dir))
	if err == nil {
		err = experiment.CheckSame(begun, s.plan)
	}
	recorded := begun
	if err == nil {
		begun, err = s.cfg.planner.Continue(begun, s.plan)
	}
	if err == nil && !reflect.DeepEqual(begun, recorded) {
		err = dir.WriteJSON(metrics.SweepFile, begun)
	}
	if err == nil {
		err = readRuns(dir, done)
	}
	if err == nil {
		err = os.RemoveAll(dir.Path(metrics.ManifestFile)) // until the sweep ends again
	}
	if err == nil {
		err = trial.PointLatest(filepath.Dir(string(dir)), dir.ID())
	}
	s.plan = begun
	return done, lock, err
}

// readRuns reads the runs of the trials. One that is not valid may have none.
func readRuns(dir trial.Folder, trials []metrics.Trial) error {
	for i, trial := range trials {
		trials[i].Resumed = true
		run := new(metrics.Run)
		err := metrics.ReadJSON(filepath.Join(string(dir), trial.Folder, "run.json"), run)
		if err == nil {
			trials[i].Run = run
		} else if trial.Verdict.Stands() || !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}
