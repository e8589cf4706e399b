package main

import (
	"os/exec"
	"path/filepath"
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
