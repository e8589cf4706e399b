package server

import (
	"context"
	"math"
	"sync"
	"time"

	"kvlab/metrics"
)

const (
	markEvery = 20 * time.Millisecond
	mostMarks = 128 // longer than an event of the clients is under way
	// markWithin is the longest reading of the counts that makes a mark.
	markWithin = time.Millisecond
)

// marks are a server's counts at its latest moments.
type marks struct {
	mu     sync.Mutex
	latest []mark // guarded by mu
}

type mark struct {
	at  time.Time
	ops uint64
}

// mark reads the counts every markEvery until ctx ends.
func (s *server) mark(ctx context.Context) error {
	ticker := time.NewTicker(markEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			s.marks.add(s.node.Now, func() uint64 { return s.counts().Ops() })
		}
	}
}

// add reads the counts, and drops a reading that took long.
func (m *marks) add(now func() time.Time, ops func() uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	latest := mark{at: now(), ops: ops()}
	if now().Sub(latest.at) > markWithin {
		return
	}
	if len(m.latest) == mostMarks {
		m.latest = append(m.latest[:0], m.latest[1:]...)
	}
	m.latest = append(m.latest, latest)
}

// record returns the latest marks for the summary.
func (m *marks) record() *metrics.Marks {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := &metrics.Marks{}
	for _, one := range m.latest {
		if r.Start.IsZero() {
			r.Start = one.at
		}
		r.AtS = append(r.AtS, math.Round(1e6*one.at.Sub(r.Start).Seconds())/1e6)
		r.Ops = append(r.Ops, one.ops)
	}
	return r
}
