package main

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"kvlab/metrics"
)

// pauseLength is how long TestPauses stops a process.
const pauseLength = 200 * time.Millisecond

// TestPauses stops the server or the client for 200 ms at fifty moments in and across the
// ends of an open loop's window. An operation that is due in the pause waits for its end:
// of operations that are due at a steady rate, the slowest waits from the pause's begin
// or the window's opening, and one in a thousand waits longer than that less a
// thousandth of the window.
func TestPauses(t *testing.T) {
	if os.Getenv("KVLAB_LONG") != "1" {
		t.Skip("KVLAB_LONG=1 runs it: 5 minutes on a quiet machine")
	}
	root := build(t)
	const window, moments = 3 * time.Second, 50
	random := rand.New(rand.NewPCG(1, 2))
	for i := range moments {
		program := []string{"kvsserver", "kvsclient"}[i%2]
		// From a pause that ends at the opening to one that begins at the close.
		after := -pauseLength + time.Duration((float64(i)+random.Float64())/moments*float64(window+pauseLength))
		run, begin, end := paused(t, root, program, after)
		opens := run.WindowStart
		closes := opens.Add(time.Duration(run.WindowS * float64(time.Second)))
		first, last := begin, end
		if first.Before(opens) {
			first = opens
		}
		if last.After(closes) {
			last = closes
		}
		slowest, waiting := end.Sub(first), last.Sub(first)
		latency := run.Clients()[0].Summary.Latency[metrics.OpLatency]
		check := func(name string, want time.Duration, micros float64) {
			got := time.Duration(micros * float64(time.Microsecond))
			t.Logf("%s stopped %v after the opening for %v: %s %v, computed %v (%+v), %s", program, begin.Sub(opens), end.Sub(begin), name, got, want, got-want, run.Verdict)
			if off := got - want; off < -10*time.Millisecond || off > 10*time.Millisecond {
				t.Errorf("%s: %v off", name, off)
			}
		}
		if rare := closes.Sub(opens) / 1000; waiting > 2*rare {
			check("max", slowest, latency.Max)
			if latency.P999 == nil {
				t.Fatalf("%d calls are too few for a p99.9: the machine is busy", latency.Count)
			}
			check("p99.9", slowest-rare, *latency.P999)
		}
	}
}

// paused runs an open loop and stops a program of it for pauseLength, a time after the
// expected opening of the window. It returns the times before the stop and after its end.
func paused(t *testing.T, root, program string, after time.Duration) (run metrics.Run, begin, end time.Time) {
	t.Helper()
	out := t.TempDir()
	const warmUp = 2 * time.Second
	cmd := exec.Command(filepath.Join(root, "bin", "kvscluster"), "--local", "--no-ceiling", "--out", out,
		"--client-args", "-records 10000 -workers 8 -batch 64 -rate 10k -arrivals constant -warmup 2 -secs 3")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	waitFor(t, filepath.Join(out, "latest", "kvsclient-node1.log"), "phase warmup")
	pid := processes(root, program)[0]
	time.Sleep(warmUp + after)
	begin = time.Now()
	syscall.Kill(pid, syscall.SIGSTOP)
	time.Sleep(pauseLength)
	syscall.Kill(pid, syscall.SIGCONT)
	end = time.Now()
	cmd.Wait() // the exit status says whether the run is VALID, which the machine decides too
	return readRun(t, filepath.Join(out, "latest")), begin, end
}
