package preflight

import (
	"context"
	"fmt"
	"sync"
	"time"

	"kvlab/kvs/cluster/remote"
	"kvlab/kvs/node"
	"kvlab/metrics"
)

// Tuning is the recommended settings of machines, which a process on each machine holds
// from Run to End. The process restores them when its standard input closes, and across a
// network also after a silence.
type Tuning struct {
	mu      sync.Mutex
	holders []holder      // guarded by mu
	stop    chan struct{} // ends beat; nil before begin
}

// holder is the process on a machine.
type holder struct {
	*probeClient
	machine string
}

// The time between two heartbeats, the silence that ends a process that holds settings,
// and the limit for its exit, which restores them.
const (
	tuneBeat    = time.Second
	tuneSilence = 12 * time.Second
	tuneLeave   = 8 * time.Second
)

// begin applies the settings on every machine without an error, and records what was set,
// and what was not.
func (t *Tuning) begin(ctx context.Context, s *survey) {
	t.stop = make(chan struct{})
	go t.beat()
	s.each(remote.Parallel, func(_ int, m *machine) {
		p, err := startProbe(s.Runner, m.place, node.TuneFlag)
		if err == nil {
			if p.silence = tuneSilence; s.Plan.Local {
				p.silence = 0 // the pipe closes when the launcher ends
			}
			var answer reply
			answer, err = p.ask(ctx, node.Tune, node.Question{Data: m.place.Data})
			m.tried = answer.Settings
			t.add(holder{p, m.Name()}, err)
		}
		m.untuned = err
	})
}

// add adds a process that has answered, and ends one that has failed.
func (t *Tuning) add(h holder, err error) {
	if err != nil {
		h.end(tuneLeave)
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.holders = append(t.holders, h)
}

// beat sends heartbeats until End.
func (t *Tuning) beat() {
	beats := time.NewTicker(tuneBeat)
	defer beats.Stop()
	for {
		select {
		case <-beats.C:
			t.mu.Lock()
			for _, h := range t.holders {
				remote.Send(h.stdin, node.Command{Do: node.Beat})
			}
			t.mu.Unlock()
		case <-t.stop:
			return
		}
	}
}

// End restores the settings, and describes, a line each, what was not restored. It may be
// called without Run.
func (t *Tuning) End() (lines []string) {
	if t.stop == nil {
		return nil
	}
	close(t.stop)
	for i, h := range t.holders {
		select {
		case <-h.ended:
			t.holders[i].log = append(h.log, "the process that held its settings ended early: --reap restores what it left")
		default:
		}
	}
	remote.Each(len(t.holders), len(t.holders), func(i int) { t.holders[i].end(tuneLeave) })
	for _, h := range t.holders {
		select {
		case r := <-h.answers:
			h.log = append(h.log, fmt.Sprint(r.err))
		default:
		}
		for _, line := range h.log {
			lines = append(lines, h.machine+": "+line)
		}
	}
	return lines
}

// tuned assesses what was set: a machine that has nothing set cannot stand for a tuned one,
// and one that has some of it says what it lacks.
func (a *assessment) tuned(m *machine) {
	if m.untuned != nil {
		a.add(m, metrics.Fail, "tune", "its settings cannot be set: %v", m.untuned)
	}
	failed, first := 0, ""
	for _, s := range m.tried {
		if s.Error != "" {
			if failed++; failed == 1 {
				first = fmt.Sprintf("%s: %s", s.Name, s.Error)
			}
		}
		if s.Was != "" {
			m.Tuned = append(m.Tuned, s)
		}
	}
	if failed > 0 {
		a.add(m, metrics.Warn, "tune", "%d of its %d recommended settings could not be set, such as %s", failed, len(m.tried), first)
	}
	for _, line := range m.Facts.Restored {
		a.add(m, metrics.Warn, "tune", "an earlier run was killed: %s", line)
	}
}
