package cluster

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"sync"
	"time"

	"kvlab/metrics"
)

// beside is the plan with ports for its servers that those of another plan, which is
// carried out at the same time, do not have.
func (p Plan) beside(other Plan) Plan {
	if p.Local { // any free ones
		return p
	}
	taken := make(map[netip.Addr]uint16)
	for _, place := range other.Places {
		if at, err := netip.ParseAddrPort(place.Listen); err == nil {
			taken[at.Addr()]++
		}
	}
	p.Places = slices.Clone(p.Places)
	for i, place := range p.Places {
		if at, err := netip.ParseAddrPort(place.Listen); err == nil {
			p.Places[i].Listen = netip.AddrPortFrom(at.Addr(), at.Port()+taken[at.Addr()]).String()
		}
	}
	return p
}

// oneLength refuses sides whose trials are to be made at the same time and whose
// warm-ups or windows are not of one length.
func oneLength(ctx context.Context, a, b setup) error {
	ofA, err := a.launcher.Programs.Settings(ctx, metrics.Client, a.plan.ClientArgs)
	if err != nil {
		return err
	}
	ofB, err := b.launcher.Programs.Settings(ctx, metrics.Client, b.plan.ClientArgs)
	if err != nil {
		return err
	}
	for _, length := range []struct {
		flag string
		a, b time.Duration
	}{{"warmup", ofA.WarmUp, ofB.WarmUp}, {"secs", ofA.Window, ofB.Window}} {
		if length.a != length.b {
			return fmt.Errorf("--together: one window for both sides: A has -%s %gs and B -%s %gs", length.flag, length.a.Seconds(), length.flag, length.b.Seconds())
		}
	}
	return nil
}

// twins makes two trials at the same time on the same nodes, with one window, so that
// whatever happens on the nodes meanwhile happens to both. Each has its folder, and
// comes with what names it; the setups' plans lie beside each other. The errors are
// those of Launcher.trial.
func twins(ctx context.Context, sides [2]setup, dirs [2]folder, runs [2]metrics.Run) ([2]metrics.Run, [2]error) {
	meetings := newMeetings()
	var stderr sync.Mutex
	var both sync.WaitGroup
	var errs [2]error
	for i, at := range sides {
		launcher := *at.launcher
		launcher.meeting = meetings[i]
		launcher.Stderr = &namedWriter{mu: &stderr, w: at.launcher.Stderr, name: metrics.SideNames[i]}
		runs[i].Together = runs[1-i].ID
		both.Go(func() { runs[i], errs[i] = launcher.trial(ctx, at.cfg, at.plan, dirs[i], runs[i]) })
	}
	both.Wait()
	if apart := oneWindow(runs); !apart.Valid {
		for i := range runs {
			if runs[i].Verdict.Valid || runs[i].Verdict == injected {
				runs[i].Verdict = apart
				errs[i] = cmp.Or(errs[i], dirs[i].writeRun(runs[i]), dirs[i].write("summary.txt", []byte(benchmarkText(runs[i]))))
			}
		}
	}
	return runs, errs
}

// oneWindow is the verdict on trials at the same time whose windows were not: their
// common part is to be so much of each as that of a trial's clients. Without a window
// a trial has a verdict that says why.
func oneWindow(runs [2]metrics.Run) metrics.Verdict {
	var windows []measurer
	for _, run := range runs {
		if run.WindowS <= 0 {
			return valid
		}
		windows = append(windows, measurer{&metrics.Summary{WindowLengthS: run.WindowS}, spanOf(run.WindowStart, run.WindowS)})
	}
	common, shortest := intersection(windows)
	if share := max(0, common.seconds()) / shortest; share < minOverlap {
		return invalid("", "the windows of the two trials have only %.0f %% in common, and both are to last as long", 100*share)
	}
	return valid
}

// namedWriter writes lines with a name in front of each, whole ones, so that several
// may write at a time.
type namedWriter struct {
	mu   *sync.Mutex
	w    io.Writer
	name string
	rest []byte // of a line that has not ended
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
