package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// --tune apply sets the kernel's settings for a run. The process that holds them restores
// them when the run ends, and when the launcher is killed; if that process is killed,
// --reap does. All is in a network namespace of the test's own.
func TestTune(t *testing.T) {
	inCI(t)
	root := build(t)
	runtime.LockOSThread() // for good: the thread ends with the test's goroutine
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Skipf("no network namespace: %v", err)
	}
	command := func(args ...string) *exec.Cmd {
		return exec.Command(filepath.Join(root, "bin", "kvscluster"), args...)
	}
	if out, err := exec.Command("ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
		t.Skipf("no ip: %v: %s", err, out)
	}
	somaxconn := func(want string) {
		t.Helper()
		text, err := os.ReadFile("/proc/sys/net/core/somaxconn")
		if got := strings.TrimSpace(string(text)); err != nil || got != want {
			t.Errorf("somaxconn is %s, want %s; %v", got, want, err)
		}
	}
	text, _ := os.ReadFile("/proc/sys/net/core/somaxconn")
	before := strings.TrimSpace(string(text))
	for _, killed := range []string{"", "kvsserver", "kvscluster"} {
		out := t.TempDir()
		run := command("--local", "--tune", "apply", "--no-ceiling", "--secs", "4", "--out", out, "--client-args", "-records 20000 -workers 4 -batch 64 -rate 5k -warmup 0")
		var stderr bytes.Buffer
		run.Stderr = &stderr
		if err := run.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { run.Process.Kill() }) // the nodes leave with it
		waitFor(t, filepath.Join(out, "latest", "kvsclient-node1.log"), "phase window")
		somaxconn("65535")
		switch killed {
		case "kvscluster":
			if run.Process.Kill(); run.Wait() == nil {
				t.Error("the launcher was not killed")
			}
			waitFor(t, "/proc/sys/net/core/somaxconn", before)
			checkGone(t, root)
			continue
		case "kvsserver":
			for _, pid := range processes(root, killed) {
				if words, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline"); strings.Contains(string(words), "\x00-tune\x00") {
					syscall.Kill(pid, syscall.SIGKILL)
				}
			}
		}
		if err := run.Wait(); err != nil {
			t.Errorf("the run: %v\n%s", err, &stderr)
		}
		result, _ := os.ReadFile(filepath.Join(out, "latest", "run.json"))
		if !strings.Contains(string(result), `"was": "`+before+`"`) {
			t.Errorf("run.json does not say what somaxconn was:\n%s", result)
		}
		if early := strings.Contains(stderr.String(), "the process that held its settings ended early"); early != (killed != "") {
			t.Errorf("the launcher says:\n%s", &stderr)
		}
		if killed != "" {
			somaxconn("65535")
			said, err := command("--reap", "--local").Output()
			if want := "this machine: net.core.somaxconn is " + before + " again\n"; err != nil || !strings.Contains(string(said), want) {
				t.Errorf("--reap: %q, %v", said, err)
			}
		}
		somaxconn(before)
	}
}
