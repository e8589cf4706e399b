package cluster

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"kvlab/kvs/cluster/trial"
	"kvlab/kvs/experiment"
	"kvlab/kvs/verdict"
	"kvlab/metrics"
)

// sameLengths refuses --together for variants whose warm-ups or windows differ in length.
func sameLengths(ctx context.Context, a, b configuration) error {
	ofA, err := a.programs.Settings(ctx, metrics.Client, a.plan.ClientArgs)
	if err != nil {
		return err
	}
	ofB, err := b.programs.Settings(ctx, metrics.Client, b.plan.ClientArgs)
	if err != nil {
		return err
	}
	for _, length := range []struct {
		flag string
		a, b time.Duration
	}{{"warmup", ofA.WarmUp, ofB.WarmUp}, {"secs", ofA.Window, ofB.Window}} {
		if length.a != length.b {
			return fmt.Errorf("--together: one window for both variants: A has -%s %gs and B -%s %gs", length.flag, length.a.Seconds(), length.flag, length.b.Seconds())
		}
	}
	return nil
}

// groupedTrial is a trial of a group.
type groupedTrial struct {
	at      configuration
	variant string // of a pair: A or B
	dir     trial.Folder
	run     metrics.Run // with what names it
}

// runGroup runs one trial, or a pair.
func runGroup(ctx context.Context, makeTrial trialFunc, stderr io.Writer, trials []groupedTrial) (runs []metrics.Run, errs []error) {
	if len(trials) == 2 {
		r, e := runPair(ctx, makeTrial, stderr, [2]groupedTrial(trials))
		return r[:], e[:]
	}
	t := trials[0]
	run, err := makeTrial(ctx, t.at, trialOptions{stderr: stderr}, t.dir, t.run)
	return []metrics.Run{run}, []error{err}
}

// runPair runs two trials at the same time on the same nodes, with one window, so that
// a disturbance of the nodes meets both. The servers of B use other ports than those of
// A. The errors are trial's.
func runPair(ctx context.Context, makeTrial trialFunc, stderr io.Writer, trials [2]groupedTrial) (runs [2]metrics.Run, errs [2]error) {
	for i, t := range trials {
		if t.variant == metrics.VariantNames[1] {
			trials[i].at.plan = t.at.plan.OffsetPorts(trials[1-i].at.plan)
		}
	}
	barriers := trial.NewBarriers()
	var writing sync.Mutex
	var both sync.WaitGroup
	for i, t := range trials {
		own := trialOptions{stderr: &namedWriter{mu: &writing, w: stderr, name: t.variant}, barrier: barriers[i]}
		t.run.Together = trials[1-i].run.ID
		both.Go(func() { runs[i], errs[i] = makeTrial(ctx, t.at, own, t.dir, t.run) })
	}
	both.Wait()
	if apart := experiment.CheckCommonWindow(runs[0], runs[1]); !apart.Valid {
		for i := range runs {
			if runs[i].Verdict.Valid || runs[i].Verdict == verdict.Injected {
				runs[i].Verdict = apart
				dir := trials[i].dir
				errs[i] = cmp.Or(errs[i], dir.WriteRun(runs[i]), dir.Write("summary.txt", []byte(experiment.Benchmark(runs[i]))))
			}
		}
	}
	return runs, errs
}

// namedWriter puts a name in front of each line. It writes whole lines, so that two may
// share a terminal.
type namedWriter struct {
	mu   *sync.Mutex
	w    io.Writer
	name string
	rest []byte // an incomplete line
}

func (n *namedWriter) Write(text []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.rest = append(n.rest, text...)
	for {
		line, rest, whole := bytes.Cut(n.rest, []byte("\n"))
		if !whole {
			return len(text), nil
		}
		n.rest = rest
		if _, err := fmt.Fprintf(n.w, "%s: %s\n", n.name, line); err != nil {
			return 0, err
		}
	}
}
