package cluster

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// waitFor waits until a file of the run has a text.
func (tr *testRun) waitFor(t *testing.T, file, text string) {
	t.Helper()
	if !comes(filepath.Join(tr.out, "latest", file), text) {
		t.Fatalf("%s has no %q", file, text)
	}
}

// comes waits until a file has a text, and reports false if it has none in two minutes.
func comes(file, text string) bool {
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if has(file, text) {
			return true
		}
	}
	return false
}

// has reports whether a file has a text.
func has(file, text string) bool {
	all, err := os.ReadFile(file)
	return err == nil && strings.Contains(string(all), text)
}

func TestInterrupt(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"start", "ready", "load", "warmup", "window", "drain"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			tr := newTrial(t)
			ctx, cancel := context.WithCancel(context.Background())
			ended := make(chan error, 1)
			go func() { ended <- tr.run(ctx, "node2:pause:"+where) }()
			tr.waitFor(t, "kvsclient-node2.log", "fault pause at "+where)
			cancel()
			if err := <-ended; ExitStatus(err) != 130 {
				t.Errorf("exit status %d (%v), want 130", ExitStatus(err), err)
			}
			tr.checkGone(t, 4)
			if v := tr.runJSON(t).Verdict; v.String() != "INVALID(interrupted)" {
				t.Errorf("verdict %v", v)
			}
		})
	}
}

func TestForce(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	tr.timeouts.Leave = time.Hour // only force can end it
	force := make(chan struct{})
	tr.Force = force
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- tr.run(ctx, "node2:stubborn:window") }()
	tr.waitFor(t, "kvsclient-node2.log", "fault stubborn at window")
	cancel()
	tr.waitGone(t, "kvsclient-node3.log")
	close(force)
	if err := <-ended; ExitStatus(err) != 130 {
		t.Errorf("exit status %d (%v), want 130", ExitStatus(err), err)
	}
	tr.checkGone(t, 4)
}

// waitGone waits until the process of a node has ended.
func (tr *testRun) waitGone(t *testing.T, file string) {
	t.Helper()
	match := pidLine.FindStringSubmatch(tr.read(t, file))
	pid, err := strconv.Atoi(match[1])
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return
		}
	}
	t.Fatalf("process %d of %s does not leave", pid, file)
}
