package models

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"kvlab/kvs/server"
)

// autoPool is a pool that changes its number of workers once a tick.
type autoPool struct {
	*server.Pool
	answered atomic.Int64 // calls since the last tick
	nanos    atomic.Int64 // that they have waited and taken, in sum
	stopped  chan struct{}
	ticking  sync.WaitGroup

	sizer        sizer
	fewest, most int // workers so far
}

// The rules of pool:auto are those of Ant-Cache's dynamic pool, which applied them to
// connections; here they apply to calls. A pool that grows by a half from 90 % busy is
// 60 % busy, and one that shrinks by a quarter from 50 % is 67 % busy: neither leads to
// the other.
const (
	autoTick   = 100 * time.Millisecond
	autoMost   = 512              // workers
	autoQueue  = 4                // calls in the queue, per worker
	autoRise   = 1.1              // by which the mean time rises in a tick, to count
	autoRises  = 3                // ticks of it in a row that add workers
	autoCalm   = 10               // calm ticks in a row that end workers
	autoShort  = time.Millisecond // the mean time of a calm tick is below it
	autoSmooth = 0.3              // weight of a tick in the mean time
)

func newAutoPool() *autoPool {
	least := runtime.GOMAXPROCS(0)
	p := &autoPool{
		Pool: server.NewPool(least, autoQueue*autoMost), stopped: make(chan struct{}),
		sizer: sizer{workers: least, least: least, most: autoMost}, fewest: least, most: least,
	}
	p.ticking.Go(p.run)
	return p
}

// run sizes the pool until it stops.
func (p *autoPool) run() {
	ticker := time.NewTicker(autoTick)
	defer ticker.Stop()
	for {
		select {
		case <-p.stopped:
			return
		case <-ticker.C:
			var l poolLoad
			l.queued, l.busy = p.Load()
			if answered := p.answered.Swap(0); answered > 0 {
				l.mean = time.Duration(p.nanos.Swap(0) / answered)
			}
			p.Resize(p.sizer.tick(l))
			p.fewest, p.most = min(p.fewest, p.sizer.workers), max(p.most, p.sizer.workers)
		}
	}
}

func (p *autoPool) Execute(c *server.Call) {
	begun := time.Now()
	p.Pool.Execute(c)
	p.nanos.Add(int64(time.Since(begun)))
	p.answered.Add(1)
}

func (p *autoPool) Stop() string {
	close(p.stopped)
	p.ticking.Wait()
	p.Pool.Stop()
	return fmt.Sprintf("-model pool:auto had %d to %d workers, and %d at the end", p.fewest, p.most, p.sizer.workers)
}

// poolLoad is a pool's load at a tick.
type poolLoad struct {
	queued int           // calls
	busy   int           // workers
	mean   time.Duration // of the tick's calls, from the queue to the answer; 0 without a call
}

// sizer decides how many workers a pool has.
type sizer struct {
	workers, least, most int
	mean                 float64 // smoothed, in nanoseconds; 0 after a tick without a call
	rises, calm          int     // ticks in a row
}

// tick takes a tick's load, and returns how many workers to add, or less than 0 to end
// some.
func (s *sizer) tick(l poolLoad) int {
	before := s.mean
	if s.mean = float64(l.mean); before > 0 && l.mean > 0 {
		s.mean = before + autoSmooth*(float64(l.mean)-before)
	}
	s.rises++
	if before == 0 || s.mean < autoRise*before {
		s.rises = 0
	}
	s.calm++
	if l.queued > 0 || 2*l.busy >= s.workers || s.mean >= float64(autoShort) {
		s.calm = 0
	}
	had := s.workers
	switch {
	case l.queued > s.workers/2 || 10*l.busy >= 9*s.workers || s.rises == autoRises:
		s.workers = min(s.most, s.workers+(s.workers+1)/2)
		s.rises = 0
	case s.calm == autoCalm:
		s.workers = max(s.least, s.workers-(s.workers+3)/4)
		s.calm = 0
	}
	return s.workers - had
}
