package engine

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"kvlab/kvs"
)

// Injected is an engine with a fault of its speed: its answers are those of the
// engine in it.
type Injected struct {
	kvs.Engine
	what  Injection
	base  time.Time
	begun atomic.Int64 // nanoseconds from base to the moment from which pauses count

	before time.Duration // processor time that the process had used by then
	mu     sync.Mutex
	burnt  time.Duration // processor time; guarded by mu
}

// Inject returns e with a fault, whose pauses count from now.
func Inject(e kvs.Engine, what Injection) *Injected {
	return &Injected{Engine: e, what: what, base: time.Now(), before: cpuTime(unix.CLOCK_PROCESS_CPUTIME_ID)}
}

// Begin has the pauses count from now: the first is half a period away.
func (i *Injected) Begin() { i.begun.Store(int64(time.Since(i.base))) }

// Apply applies ops when the fault lets it. A call's first operations are those
// that meet an empty reply.
func (i *Injected) Apply(ops []kvs.Op, reply *kvs.Reply) {
	if i.what.Service > 0 && reply.Len() == 0 {
		hold(i.what.Service)
	}
	if i.what.Pause > 0 {
		since := time.Since(i.base) - time.Duration(i.begun.Load())
		time.Sleep(i.what.left(since))
	}
	i.Engine.Apply(ops, reply)
	if i.what.Slowdown > 0 {
		i.burn()
	}
}

// left is how long the pause goes on that is under way a time after the beginning; 0
// outside of one.
func (i Injection) left(since time.Duration) time.Duration {
	into := (since + i.Every/2) % i.Every
	if since < 0 || since < i.Every/2 || into >= i.Pause {
		return 0
	}
	return i.Pause - into
}

// spun is the end of a hold that is spun: what the kernel wakes a sleeper late by.
const spun = 150 * time.Microsecond

// hold waits for a time, to within microseconds where a processor is free. The
// runtime's own sleep is up to a millisecond late.
func hold(d time.Duration) {
	begun := time.Now()
	if d > spun {
		rest := unix.NsecToTimespec(int64(d - spun))
		_ = unix.Nanosleep(&rest, nil) // cut short, the rest is spun
	}
	for time.Since(begun) < d {
	}
}

// The least and the most that one call burns: less is not worth two readings of the
// thread's clock, and more would be a pause.
const (
	leastBurnt = 20 * time.Microsecond
	mostBurnt  = 5 * time.Millisecond
)

// burn burns what is missing to the share of the processor time that the process
// has used without it.
func (i *Injected) burn() {
	i.mu.Lock()
	used := cpuTime(unix.CLOCK_PROCESS_CPUTIME_ID) - i.before
	due := min(time.Duration(i.what.Slowdown*float64(used-i.burnt))-i.burnt, mostBurnt)
	if due >= leastBurnt {
		i.burnt += due
	}
	i.mu.Unlock()
	if due < leastBurnt {
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for end := cpuTime(unix.CLOCK_THREAD_CPUTIME_ID) + due; cpuTime(unix.CLOCK_THREAD_CPUTIME_ID) < end; {
	}
}

// cpuTime reads a clock of processor time (clock_gettime(2)), which never fails for
// the two that are read.
func cpuTime(clock int32) time.Duration {
	var now unix.Timespec
	_ = unix.ClockGettime(clock, &now)
	return time.Duration(now.Nano())
}

var _ kvs.Engine = (*Injected)(nil)
