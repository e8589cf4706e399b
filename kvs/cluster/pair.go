package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"kvlab/kvs/cluster/remote"
	"kvlab/kvs/cluster/trial"
	"kvlab/kvs/verdict"
	"kvlab/metrics"
)

// fitTogether refuses --together for variants whose warm-ups or windows differ in length, or
// of which one sets the hosts on which both run.
func fitTogether(variants []configuration) error {
	if variants[0].plan.Tune != variants[1].plan.Tune {
		return errors.New("--together: --tune apply sets the hosts of both variants: want it in both or none")
	}
	var lengths [2][2]time.Duration
	for i, at := range variants {
		client := at.settings[metrics.Client]
		lengths[i] = [2]time.Duration{client.Length("warmup"), client.Length("secs")}
	}
	if lengths[0] != lengths[1] {
		return fmt.Errorf("--together: the variants need the same -warmup and -secs: A has %v, B %v", lengths[0], lengths[1])
	}
	return nil
}

// runGroup runs a trial, or two at the same time.
func (l *Launcher) runGroup(ctx context.Context, trials []job) (runs []metrics.Run, errs []error) {
	runs, errs = make([]metrics.Run, len(trials)), make([]error, len(trials))
	if len(trials) == 2 {
		pairUp(trials)
	}
	var all sync.WaitGroup
	for i, t := range trials {
		all.Go(func() { runs[i], errs[i] = l.trial(ctx, t) })
	}
	all.Wait()
	if len(trials) < 2 {
		return runs, errs
	}
	if apart := verdict.CheckCommonWindow(runs[0], runs[1]); !apart.Valid {
		for i, t := range trials {
			if runs[i].Verdict.Valid || runs[i].Verdict == verdict.Injected {
				runs[i].Verdict = apart
				errs[i] = cmp.Or(errs[i], writeResult(t.dir, runs[i]))
			}
		}
	}
	return runs, errs
}

// pairUp prepares two trials for the same time on the same nodes, with one window, so
// that a disturbance of the nodes meets both. The servers of B use other ports than those
// of A.
func pairUp(trials []job) {
	barriers, writing := trial.NewBarriers(), new(sync.Mutex)
	for i := range trials {
		t, other := &trials[i], trials[1-i]
		if t.variant == metrics.VariantNames[1] {
			t.plan = t.plan.OffsetPorts(other.plan)
		}
		t.stderr, t.barrier = named(writing, t.stderr, t.variant), barriers[i]
		t.run.Together = other.run.ID
	}
}

// named returns a writer that puts a name in front of each line. It writes whole lines, so
// that two may share a terminal.
func named(mu *sync.Mutex, w io.Writer, name string) io.Writer {
	return &remote.LineWriter{Take: func(line []byte) error {
		mu.Lock()
		defer mu.Unlock()
		_, err := fmt.Fprintf(w, "%s: %s\n", name, line)
		return err
	}}
}
