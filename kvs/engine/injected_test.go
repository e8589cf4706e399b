package engine

import (
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

// What is burnt is the share of what else the process has used.
func TestBurn(t *testing.T) {
	const share = 0.5
	i := Inject(NewNull(), Injection{Slowdown: share})
	for cpuTime(unix.CLOCK_PROCESS_CPUTIME_ID)-i.before < 200*time.Millisecond {
		i.Apply(nil, new(kvs.Reply))
	}
	used := cpuTime(unix.CLOCK_PROCESS_CPUTIME_ID) - i.before
	if got := float64(i.burnt) / float64(used-i.burnt); got < 0.9*share || got > 1.1*share {
		t.Errorf("burnt %v of %v: a share of %.3f, want %.1f", i.burnt, used, got, share)
	}
}
