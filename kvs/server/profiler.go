package server

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Profiler takes a processor profile of a foreign store, from now on for a time, in the form of
// pprof: of the process pid, 0 if it is not known, or from where the store gives it, host:port; ""
// for nowhere. It has seconds to answer.
type Profiler func(ctx context.Context, pid int, address string, length time.Duration) ([]byte, error)

// profiler is nil in a program without one.
var profiler Profiler

// LinkProfiler gives the program a Profiler. It is called before Program.
func LinkProfiler(p Profiler) { profiler = p }

// profile is a node.Profiler of the store.
func (h *host) profile(length time.Duration) (end func() ([]byte, error), err error) {
	if profiler == nil {
		return nil, errors.New("this program has no profiler of foreign stores")
	}
	type taken struct {
		text []byte
		err  error
	}
	done := make(chan taken, 1)
	go func() {
		text, err := profiler(context.Background(), h.pid, h.profileAt, length)
		done <- taken{text, err}
	}()
	return func() ([]byte, error) {
		t := <-done
		if t.err != nil && h.unseen != "" && h.profileAt == "" {
			t.err = fmt.Errorf("%s: %w", h.unseen, t.err)
		}
		return t.text, t.err
	}, nil
}
