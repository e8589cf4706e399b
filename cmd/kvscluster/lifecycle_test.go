package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// However its launcher dies, a node has gone within ten seconds, whatever it
// was doing: before it would miss the launcher's heartbeats.
func TestNodesLeaveWithTheirLauncher(t *testing.T) {
	inCI(t)
	t.Parallel()
	root := build(t)
	for _, phase := range []string{"load", "warmup", "window"} {
		t.Run(phase, func(t *testing.T) {
			out := t.TempDir()
			cmd := exec.Command(filepath.Join(root, "bin", "kvscluster"), "--local", "--no-ceiling", "2", "2", "--out", out,
				"--client-args", "-records 400000 -workers 8 -batch 1024 -rate 20k -warmup 2 -secs 600")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { cmd.Process.Kill() })
			waitFor(t, filepath.Join(out, "latest", "kvsclient-node2.log"), "phase "+phase)
			if n := len(processes(root, "kvsserver")) + len(processes(root, "kvsclient")); n != 4 {
				t.Fatalf("%d processes run, want 4", n)
			}
			killed := time.Now()
			cmd.Process.Kill()
			cmd.Wait()
			for len(processes(root, "kvsserver"))+len(processes(root, "kvsclient")) > 0 && time.Since(killed) < 10*time.Second {
				time.Sleep(5 * time.Millisecond)
			}
			if pids := append(processes(root, "kvsserver"), processes(root, "kvsclient")...); len(pids) > 0 {
				t.Errorf("%v still run 10 s after their launcher", pids)
			}
			t.Logf("gone after %v", time.Since(killed).Round(time.Millisecond))
		})
	}
}

// --reap ends the nodes of a run under way, whose launcher then fails, and leaves
// nothing.
func TestReap(t *testing.T) {
	inCI(t)
	t.Parallel()
	root := build(t)
	nodes := func() []int { return append(processes(root, "kvsserver"), processes(root, "kvsclient")...) }
	command := func(args ...string) *exec.Cmd {
		return exec.Command(filepath.Join(root, "bin", "kvscluster"), args...)
	}
	reap := func() string {
		t.Helper()
		stdout, err := command("--reap", "--local").Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(stdout)
	}
	out := t.TempDir()
	run := command("--local", "--no-ceiling", "--secs", "600", "--out", out, "--client-args", "-records 20000 -workers 4 -batch 64 -rate 5k -warmup 0")
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { run.Process.Kill() }) // the nodes leave with it
	waitFor(t, filepath.Join(out, "latest", "kvsclient-node1.log"), "phase window")
	left := nodes()
	if len(left) != 2 {
		t.Fatalf("processes %v, want 2", left)
	}
	said := reap()
	for i, program := range []string{"kvsserver node0", "kvsclient node1"} {
		if want := fmt.Sprintf("this machine: ended %s, process %d, started ", program, left[i]); !strings.Contains(said, want) {
			t.Errorf("output %q, want %q", said, want)
		}
	}
	if pids := nodes(); len(pids) > 0 {
		t.Errorf("%v still run", pids)
	}
	if run.Wait(); run.ProcessState.ExitCode() != 1 {
		t.Errorf("the launcher ended with %v, want exit status 1", run.ProcessState)
	}
	if said = reap(); said != "this machine: ended nothing\n" {
		t.Errorf("output %q", said)
	}
}
