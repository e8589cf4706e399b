package server

import (
	"sync"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/engine"
	"kvlab/metrics"
)

// preparer returns what makes room in store for what a client will store, or nil
// where there is no way to. Several clients of a run say the same: the first
// has it done, and all are told how long that took.
func (s *server) preparer(store kvs.Engine) func(kvs.Expected) time.Duration {
	prepare := engine.Preparer(store)
	if prepare == nil {
		return nil
	}
	var (
		mu   sync.Mutex
		done kvs.Expected
		took time.Duration // in all
	)
	return func(x kvs.Expected) time.Duration {
		mu.Lock()
		defer mu.Unlock()
		if x == done {
			return took
		}
		begun := time.Now()
		room, err := prepare(x, s.spare())
		if err != nil {
			s.node.Logf("%v; the load goes on without", err)
		}
		done = x
		took += time.Since(begun)
		s.node.Logf("prepared in %.3f s: room for %d of the %d records of %d bytes that are to come", took.Seconds(), min(room, x.Records), x.Records, x.KeyBytes+x.ValueBytes)
		return took
	}
}

// spare is seven eighths of the memory that the process may have yet: what a
// client promises must not end the server.
func (s *server) spare() uint64 {
	used, err := metrics.ResidentBytes()
	if err != nil {
		return 0 // the watch over the memory says so
	}
	left := s.memory - min(used, s.memory)
	return left - left/8
}
