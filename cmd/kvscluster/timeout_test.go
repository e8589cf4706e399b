package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// pidOf returns a process that runs a program of the checkout.
func pidOf(t *testing.T, program string) int {
	t.Helper()
	links, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && to == program {
			pid, err := strconv.Atoi(strings.Split(link, "/")[2])
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
	}
	t.Fatalf("nobody runs %s", program)
	return 0
}

// A server that is stopped in the middle of a run (SIGSTOP) ends it: INVALID,
// with the server's name and the reason, soon after the calls' time, and with
// no process left.
func TestStoppedServer(t *testing.T) {
	t.Parallel()
	root, out := build(t), t.TempDir()
	var stdout bytes.Buffer
	cmd := exec.Command(filepath.Join(root, "bin", "kvscluster"), "--local", "--no-ceiling", "--out", out,
		"--client-args", "-records 2000 -workers 4 -batch 64 -rate 1k -warmup 0 -secs 600 -call-timeout 4")
	cmd.Stdout = &stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	waitFor(t, filepath.Join(out, "latest", "kvsserver-node0.log"), "ops/s")
	if err := syscall.Kill(pidOf(t, filepath.Join(root, "bin", "kvsserver")), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	stopped := time.Now()
	err := cmd.Wait()
	t.Logf("the run ended %v after the server was stopped", time.Since(stopped))
	verdict := regexp.MustCompile(`\nverdict INVALID\(does not answer node1: .*call of [0-9]+ operations to server node0: call timed out: no reply within 4s, node0\)\n$`)
	if cmd.ProcessState.ExitCode() != 1 || !verdict.MatchString(stdout.String()) {
		t.Errorf("exit status %d (%v), output %q", cmd.ProcessState.ExitCode(), err, stdout.String())
	}
}
