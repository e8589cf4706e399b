package engine

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"kvlab/kvs"
	"kvlab/kvs/engine/enginetest"
)

func TestParseInjection(t *testing.T) {
	for text, want := range map[string]Injection{
		"":                {},
		"slowdown=5%":     {Slowdown: 0.05},
		"pause=100ms@10s": {Pause: 100 * time.Millisecond, Every: 10 * time.Second},
		"service=1ms":     {Service: time.Millisecond},
	} {
		if got, err := ParseInjection(text); err != nil || got != want {
			t.Errorf("%q is %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"slow", "slowdown=5", "slowdown=0%", "slowdown=NaN%", "slowdown=101%", "pause=1s", "pause=1s@1s", "pause=-1s@9s", "service=1", "service=0s", "service=2s", "service=-1ms"} {
		if got, err := ParseInjection(text); err == nil || !strings.Contains(err.Error(), injectionForm) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q is %+v, %v", text, got, err)
		}
	}
}

// An engine with a fault answers as any engine does.
func TestInjectedIsAnEngine(t *testing.T) {
	for _, what := range []Injection{{Slowdown: 0.05}, {Pause: time.Millisecond, Every: 50 * time.Millisecond}} {
		enginetest.Run(t, func() kvs.Engine { return Inject(NewSyncMap(), what) })
	}
}

// Pauses are in the middle of each period.
func TestPauses(t *testing.T) {
	i := Injection{Pause: 100, Every: 1000}
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
	const service, calls = 2 * time.Millisecond, 5
	session := kvs.NewService(Inject(NewSyncMap(), Injection{Service: service})).Open("test")
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
	if took := time.Since(begun); took < calls*service {
		t.Errorf("%d calls took %v, want %v at least", calls, took, calls*service)
	}
}

// worker is an engine whose every Apply takes so much processor time, and that
// counts it.
type worker struct {
	kvs.Engine
	each, took time.Duration
}

func (w *worker) Apply(ops []kvs.Op, reply *kvs.Reply) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	begun := cpuTime(unix.CLOCK_THREAD_CPUTIME_ID)
	took := time.Duration(0)
	for took < w.each {
		took = cpuTime(unix.CLOCK_THREAD_CPUTIME_ID) - begun
	}
	w.took += took
}

// The process uses the share more than the work takes that the engine in it does, by
// the kernel's account, and no more: 5 % are left to the runtime, which works beside it,
// and to what the clocks' own reading takes.
func TestBurn(t *testing.T) {
	for _, share := range []float64{0.05, 0.12} {
		w := &worker{Engine: NewNull(), each: time.Millisecond}
		i := Inject(w, Injection{Slowdown: share})
		for w.took < 600*time.Millisecond {
			i.Apply(nil, new(kvs.Reply))
		}
		var used unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
			t.Fatal(err)
		}
		total := time.Duration(used.Utime.Nano()+used.Stime.Nano()) - i.before
		if more := float64(total)/float64(w.took) - 1; more < 0.85*share || more > share+0.05 {
			t.Errorf("%v for %v of work: %.3f more, want %.2f", total, w.took, more, share)
		} else {
			t.Logf("%v for %v of work: %.3f more, of %.2f asked for", total, w.took, more, share)
		}
	}
}
