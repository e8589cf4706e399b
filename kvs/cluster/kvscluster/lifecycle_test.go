package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// However its launcher dies, a node has gone within five seconds, whatever it
// was doing.
func TestNodesLeaveWithTheirLauncher(t *testing.T) {
	root := build(t)
	for _, phase := range []string{"load", "warmup", "window"} {
		t.Run(phase, func(t *testing.T) {
			out := t.TempDir()
			cmd := exec.Command(filepath.Join(root, "bin", "kvscluster"), "--local", "--no-ceiling", "2", "2", "--out", out,
				"--client-args", "-records 400000 -workers 8 -batch 1024 -warmup 2 -secs 600")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { cmd.Process.Kill() })
			waitForLine(t, filepath.Join(out, "latest", "kvsclient-node2.log"), "phase "+phase)
			if n := len(processes(root, "kvsserver")) + len(processes(root, "kvsclient")); n != 4 {
				t.Fatalf("%d processes run, want 4", n)
			}
			killed := time.Now()
			cmd.Process.Kill()
			cmd.Wait()
			for len(processes(root, "kvsserver"))+len(processes(root, "kvsclient")) > 0 && time.Since(killed) < 5*time.Second {
				time.Sleep(5 * time.Millisecond)
			}
			if pids := append(processes(root, "kvsserver"), processes(root, "kvsclient")...); len(pids) > 0 {
				t.Errorf("%v still run 5 s after their launcher", pids)
			}
			t.Logf("gone after %v", time.Since(killed).Round(time.Millisecond))
		})
	}
	checkGone(t, root)
}

// waitForLine polls a log for a text.
func waitForLine(t *testing.T, path, text string) {
	t.Helper()
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if log, err := os.ReadFile(path); err == nil && strings.Contains(string(log), text) {
			return
		}
	}
	t.Fatalf("%s never says %q", path, text)
}

var keptLine = regexp.MustCompile(`(?m)^kept (kvsserver node0|kvsclient node1) on this machine: process ([0-9]+), log (\S+)$`)

// What --keep leaves is there when the launcher has gone, and --reap ends it,
// and nothing is left then.
func TestKeepAndReap(t *testing.T) {
	root, tmp := build(t), t.TempDir()
	t.Cleanup(func() { // also when the test has failed half-way
		for _, pid := range append(processes(root, "kvsserver"), processes(root, "kvsclient")...) {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	launch := func(args ...string) (stdout, stderr string) {
		t.Helper()
		var out, errs bytes.Buffer
		cmd := exec.Command(filepath.Join(root, "bin", "kvscluster"), args...)
		cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil {
			t.Fatalf("%q: %v\n%s%s", args, err, &out, &errs)
		}
		return out.String(), errs.String()
	}
	stdout, stderr := launch("--local", "--no-ceiling", "--keep", "--secs", "1", "--out", t.TempDir(), "--client-args", "-records 20000 -workers 4 -batch 64 -warmup 0")
	kept := keptLine.FindAllStringSubmatch(stderr, -1)
	if len(kept) != 2 || !strings.HasSuffix(stdout, "\nverdict VALID\n") || !strings.Contains(stderr, "end them with: ./run-cluster.sh --reap --local\n") {
		t.Fatalf("kept %q\n%s%s", kept, stdout, stderr)
	}
	for _, k := range kept {
		if _, err := os.Stat("/proc/" + k[2]); err != nil {
			t.Errorf("%s: %v", k[0], err)
		}
		if _, err := os.Stat(k[3]); err != nil {
			t.Errorf("%s: %v", k[0], err)
		}
	}
	if servers, clients := processes(root, "kvsserver"), processes(root, "kvsclient"); len(servers) != 1 || len(clients) != 1 {
		t.Fatalf("servers %v, clients %v", servers, clients)
	}
	stdout, _ = launch("--reap", "--local")
	for _, k := range kept {
		if want := fmt.Sprintf("this machine: ended %s, process %s, started ", k[1], k[2]); !strings.Contains(stdout, want) {
			t.Errorf("output %q, want %q", stdout, want)
		}
	}
	if servers, clients := processes(root, "kvsserver"), processes(root, "kvsclient"); len(servers)+len(clients) > 0 {
		t.Errorf("servers %v, clients %v", servers, clients)
	}
	if stdout, _ = launch("--reap", "--local"); stdout != "this machine: ended nothing\n" {
		t.Errorf("output %q", stdout)
	}
	if left, _ := filepath.Glob(filepath.Join(tmp, "kvlab-*", "*")); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}
