package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"kvlab/kvs/cluster/trial"
	"kvlab/metrics"
)

// TestSSHLifecycle has nodes behind real sshd processes outlive what leads to
// them: a program that is stopped, a launcher that falls silent, a run
// that is reaped in mid-run.
func TestSSHLifecycle(t *testing.T) {
	t.Parallel()
	cluster := startSSHCluster(t)
	programs := buildPrograms(t)
	newRun := func(t *testing.T) (*testRun, []string) {
		tr := newTrial(t)
		tr.Programs = programs
		tr.timeouts = trial.DefaultTimeouts()
		return tr, []string{"1", "2", "--hosts", cluster.hosts, "--ssh-config", cluster.config, "--out", tr.out,
			// A call waits longer than the launcher does, which may be slow itself.
			"--client-args", "-records 2000 -workers 4 -batch 16 -rate 200 -warmup 0 -call-timeout 60", "--secs"}
	}
	// A stopped program hears of no closed pipe and runs no timer.
	t.Run("stopped", func(t *testing.T) {
		tr, args := newRun(t)
		ended := make(chan error, 1)
		go func() { ended <- tr.Run(context.Background(), append(args, "600")) }()
		tr.waitFor(t, "kvsserver-alpha.log", "ops/s")
		for _, pid := range running(t, programs[metrics.Server]) {
			syscall.Kill(pid, syscall.SIGSTOP)
		}
		err := <-ended
		if v := tr.runJSON(t).Verdict; ExitStatus(err) != 1 || v.Node != "alpha" || !strings.Contains(v.Reason, "sent nothing") {
			t.Errorf("verdict %v, %v", v, err)
		}
		checkNothingLeft(t, programs)
		for _, client := range []string{"beta", "gamma"} {
			if !strings.Contains(tr.read(t, "kvsclient-"+client+".log"), "goroutine ") {
				t.Errorf("%s has not logged its stacks", client)
			}
		}
	})
	// A cut network leaves the nodes' pipes open: here the ways to them are
	// stopped instead.
	t.Run("silent launcher", func(t *testing.T) {
		tr, args := newRun(t)
		tr.timeouts.Alone, tr.timeouts.Silence = 15*time.Second, time.Hour
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- tr.Run(ctx, append(args, "600")) }()
		tr.waitFor(t, "kvsserver-alpha.log", "ops/s")
		for _, pid := range sshClients(t, cluster.config) {
			syscall.Kill(pid, syscall.SIGSTOP)
		}
		waitNone(t, 2*time.Minute, programs)
		cancel() // ssh itself is stopped, and is killed
		if err := <-ended; ExitStatus(err) != exitInterrupted {
			t.Errorf("exit status %d (%v), want 130", ExitStatus(err), err)
		}
		checkNothingLeft(t, programs)
	})
	t.Run("reaped", func(t *testing.T) {
		tr, args := newRun(t)
		ended := make(chan error, 1)
		go func() { ended <- tr.Run(context.Background(), append(args, "600")) }()
		tr.waitFor(t, "kvsserver-alpha.log", "ops/s")
		reaper := newTrial(t)
		reaper.Programs = programs
		if err := reaper.Run(context.Background(), []string{"--reap", "--hosts", cluster.hosts, "--ssh-config", cluster.config}); err != nil {
			t.Errorf("%v\n%s", err, reaper.stderr.String())
		}
		// The three nodes are one machine, so any of them may find all, also at the same time.
		for _, want := range []string{"ended kvsserver alpha, process ", "ended kvsclient beta, process "} {
			found := regexp.MustCompile(want+"[0-9]+").FindAllString(reaper.stdout.String(), -1)
			slices.Sort(found)
			if found = slices.Compact(found); len(found) != 1 {
				t.Errorf("output has %q, want one process with %q:\n%s", found, want, reaper.stdout.String())
			}
		}
		if err := <-ended; ExitStatus(err) != exitInvalid {
			t.Errorf("exit status %d (%v), want 1", ExitStatus(err), err)
		}
		checkNothingLeft(t, programs)
	})
}

// waitNone waits until no copy of the programs runs.
func waitNone(t *testing.T, within time.Duration, programs map[metrics.Role]string) {
	t.Helper()
	for _, program := range programs {
		poll(t, within, "no "+filepath.Base(program)+" runs", func() bool { return len(running(t, program)) == 0 })
	}
}

// checkNothingLeft fails when a process of the run is still there.
func checkNothingLeft(t *testing.T, programs map[metrics.Role]string) {
	t.Helper()
	if servers, clients := running(t, programs[metrics.Server]), running(t, programs[metrics.Client]); len(servers)+len(clients) > 0 {
		t.Errorf("servers %v and clients %v are left", servers, clients)
	}
}

// sshClients returns the ssh processes that use a configuration file.
func sshClients(t *testing.T, config string) []int {
	t.Helper()
	var pids []int
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		var pid int
		fmt.Sscanf(file, "/proc/%d/", &pid)
		words, err := os.ReadFile(file)
		if err == nil && strings.HasPrefix(string(words), "ssh\x00") && strings.Contains(string(words), "\x00"+config+"\x00") {
			pids = append(pids, pid)
		}
	}
	if len(pids) != len(sshNames) {
		t.Fatalf("ssh runs as %v, want %d processes", pids, len(sshNames))
	}
	return pids
}
