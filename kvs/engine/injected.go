package engine

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"kvlab/kvs"
)

// Injected is an engine with a Fault, which changes no result.
type Injected struct {
	kvs.Engine
	what  Fault
	base  time.Time
	begun atomic.Int64 // nanoseconds from base to the start of the pauses' first period

	cpu     func(clock int32) time.Duration // reads a clock of processor time
	before  time.Duration                   // processor time that the process had used at base
	applied atomic.Uint64                   // calls of Apply
	mu      sync.Mutex
	burnt   time.Duration // processor time; guarded by mu
}

// Inject returns e with a fault. The first period of pauses begins now.
func Inject(e kvs.Engine, what Fault) *Injected {
	return &Injected{Engine: e, what: what, base: time.Now(), cpu: cpuTime, before: cpuTime(unix.CLOCK_PROCESS_CPUTIME_ID)}
}

// Begin restarts the pauses: the first comes after half a period.
func (i *Injected) Begin() { i.begun.Store(int64(time.Since(i.base))) }

// Apply applies ops, delayed by the fault. Service is added once per call: when the reply
// is empty.
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

// left returns the rest of the pause at a time since the start, 0 between pauses.
func (i Fault) left(since time.Duration) time.Duration {
	into := (since + i.Every/2) % i.Every
	if since < 0 || since < i.Every/2 || into >= i.Pause {
		return 0
	}
	return i.Pause - into
}

// spinTail: the last 150 us of a delay are spun, because nanosleep wakes late.
const spinTail = 150 * time.Microsecond

// hold waits, to within microseconds if a processor is free. time.Sleep is up to a
// millisecond late.
func hold(d time.Duration) {
	begun := time.Now()
	if d > spinTail {
		rest := unix.NsecToTimespec(int64(d - spinTail))
		_ = unix.Nanosleep(&rest, nil) // if interrupted, the rest is spun
	}
	for time.Since(begun) < d {
	}
}

// burnEvery: one Apply in 32 reads the clock of the process's time, because a reading
// takes some per cent of an Apply of 256 operations.
const burnEvery = 32

// mostBurnt bounds one burn: a longer one would be a pause.
const mostBurnt = 5 * time.Millisecond

// burn uses processor time until the burnt time is the fault's share of the process's
// other time. The measurement counts as burnt.
func (i *Injected) burn() {
	if i.applied.Add(1)%burnEvery != 0 {
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	begun := i.cpu(unix.CLOCK_THREAD_CPUTIME_ID)
	i.mu.Lock()
	used := i.cpu(unix.CLOCK_PROCESS_CPUTIME_ID) - i.before
	due := min(time.Duration(i.what.Slowdown*float64(used-i.burnt))-i.burnt, mostBurnt)
	i.burnt += due // before burning, so that no other goroutine burns it too
	i.mu.Unlock()
	took := time.Duration(0)
	for took == 0 || took < due {
		took = i.cpu(unix.CLOCK_THREAD_CPUTIME_ID) - begun
	}
	i.mu.Lock()
	i.burnt += took - due
	i.mu.Unlock()
}

// cpuTime reads a clock of processor time (clock_gettime(2)), which never fails for
// the two that are read.
func cpuTime(clock int32) time.Duration {
	var now unix.Timespec
	_ = unix.ClockGettime(clock, &now)
	return time.Duration(now.Nano())
}
