package engine

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"kvlab/kvs"
	"kvlab/kvs/engine/enginetest"
	"kvlab/kvs/service"
)

func TestParseFault(t *testing.T) {
	for text, want := range map[string]Fault{
		"":                {},
		"slowdown=5%":     {Slowdown: 0.05},
		"pause=100ms@10s": {Pause: 100 * time.Millisecond, Every: 10 * time.Second},
		"service=1ms":     {Service: time.Millisecond},
	} {
		if got, err := ParseFault(text); err != nil || got != want {
			t.Errorf("%q is %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"slow", "slowdown=5", "slowdown=0%", "slowdown=NaN%", "slowdown=101%", "pause=1s", "pause=1s@1s", "pause=-1s@9s", "service=1", "service=0s", "service=2s", "service=-1ms"} {
		if got, err := ParseFault(text); err == nil || !strings.Contains(err.Error(), faultForm) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q is %+v, %v", text, got, err)
		}
	}
}

// An engine with a fault answers as any engine does.
func TestInjectedIsAnEngine(t *testing.T) {
	for _, what := range []Fault{{Slowdown: 0.05}, {Pause: time.Millisecond, Every: 50 * time.Millisecond}} {
		enginetest.Run(t, scans, func() kvs.Engine { return Inject(NewSyncMap(), what) })
	}
}

// Pauses are in the middle of each period.
func TestPauses(t *testing.T) {
	i := Fault{Pause: 100, Every: 1000}
	for since, want := range map[time.Duration]time.Duration{
		-1: 0, 0: 0, 99: 0, 499: 0, 500: 100, 501: 99, 599: 1, 600: 0, 1499: 0, 1500: 100, 1550: 50, 1600: 0,
	} {
		if got := i.left(since); got != want {
			t.Errorf("at %d the pause goes on for %d, want %d", since, got, want)
		}
	}
}

// Every call, of however many operations, takes the service time longer.
func TestService(t *testing.T) {
	const svc, calls = 2 * time.Millisecond, 5
	session := service.New(Inject(NewSyncMap(), Fault{Service: svc})).Open("test")
	var batch kvs.Batch
	for range 1000 { // several Apply to a call
		batch.Get([]byte("key"))
	}
	begun := time.Now()
	for range calls {
		var reply kvs.Reply
		if err := session.BatchPutGet(&batch, &reply); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(begun); took < calls*svc {
		t.Errorf("%d calls took %v, want %v at least", calls, took, calls*svc)
	}
}

// machine is an engine and the processor time of the process that it is in: each
// Apply takes work in a thread and overhead in other threads, and each reading of a
// clock takes read.
type machine struct {
	kvs.Engine
	work, overhead, read time.Duration
	process, thread      time.Duration
}

func (m *machine) Apply([]kvs.Op, *kvs.Reply) {
	m.thread += m.work
	m.process += m.work + m.overhead
}

func (m *machine) cpu(clock int32) time.Duration {
	m.thread += m.read
	m.process += m.read
	if clock == unix.CLOCK_THREAD_CPUTIME_ID {
		return m.thread
	}
	return m.process
}

// inject returns m with a fault and its own clocks.
func inject(m *machine, what Fault) *Injected {
	i := Inject(m, what)
	i.cpu, i.before = m.cpu, m.cpu(unix.CLOCK_PROCESS_CPUTIME_ID)
	return i
}

// The process uses the share more than it uses without the fault, at every look at its
// clock, and no more: a look may burn three readings of a clock too many.
func TestBurn(t *testing.T) {
	for _, share := range []float64{0.05, 0.12, 1} {
		m := &machine{work: 100 * time.Microsecond, overhead: 7 * time.Microsecond, read: 300}
		i := inject(m, Fault{Slowdown: share})
		for look := range 100 {
			for range burnEvery {
				i.Apply(nil, new(kvs.Reply))
			}
			rest := (m.work + m.overhead) * burnEvery * time.Duration(look+1)
			burnt, want := m.process-rest, time.Duration(share*float64(rest))
			if burnt < want || burnt > want+3*m.read*time.Duration(look+2) {
				t.Fatalf("after %d looks, of %v without the fault, %v is burnt, want %v", look+1, rest, burnt, want)
			}
		}
	}
}

// What is due after a long Apply is burnt in pieces of mostBurnt.
func TestBurnIsNoPause(t *testing.T) {
	m := &machine{work: 8 * time.Millisecond, read: 300}
	i := inject(m, Fault{Slowdown: 0.05})
	for look, want := range []time.Duration{5000, 10_000, 12_800} { // of 12.8 ms
		for range burnEvery {
			i.Apply(nil, new(kvs.Reply))
		}
		m.work = 0
		want *= time.Microsecond
		if i.burnt < want || i.burnt > want+m.read {
			t.Errorf("after %d looks %v is burnt, want %v", look+1, i.burnt, want)
		}
	}
}

// worker is an engine whose every Apply takes some processor time by the kernel's
// account, and that counts it.
type worker struct {
	kvs.Engine
	each, took time.Duration
}

func (w *worker) Apply([]kvs.Op, *kvs.Reply) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	begun := cpuTime(unix.CLOCK_THREAD_CPUTIME_ID)
	took := time.Duration(0)
	for took < w.each {
		took = cpuTime(unix.CLOCK_THREAD_CPUTIME_ID) - begun
	}
	w.took += took
}

// burnt applies n times with a fault, and returns how much more processor time the process
// uses than the engine, by the kernel's account: the share, and what the runtime uses.
func burnt(t testing.TB, n int, share float64) float64 {
	w := &worker{Engine: NewNull(), each: 200 * time.Microsecond}
	i := Inject(w, Fault{Slowdown: share})
	for range n {
		i.Apply(nil, new(kvs.Reply))
	}
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	total := time.Duration(used.Utime.Nano()+used.Stime.Nano()) - i.before
	return float64(total)/float64(w.took) - 1
}

// The kernel's clocks are those that are meant: it accounts for the share at least.
func TestBurnByTheKernel(t *testing.T) {
	const share = 0.12
	if more := burnt(t, 10*burnEvery, share); more < 0.95*share {
		t.Errorf("the process uses %.3f more than the engine in it, want %v", more, share)
	}
}

// BenchmarkBurn reports how much more processor time the process uses than the engine in it.
func BenchmarkBurn(b *testing.B) {
	const share = 0.05
	b.ReportMetric(burnt(b, max(b.N, 10*burnEvery), share), "more/work")
}
