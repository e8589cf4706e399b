package faults

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The number of launchers that are ended at random moments: in a lab that outlives them,
// and in a lab that they made. A short test has a third of them.
const (
	endedInside  = 38
	endedOutside = 12
)

// launchers returns the number of them in this test.
func launchers(all int) int {
	if long() {
		return all
	}
	return all / 3
}

// longest is about the length of a brief run on an idle machine. The moments are spread
// over it.
const longest = 3500 * time.Millisecond

// brief is a run that ends soon.
const brief = "-records 20000 -workers 4 -batch 64 -warmup 0.2 -secs 0.5"

// endings are the ways to end a launcher.
var endings = []syscall.Signal{syscall.SIGKILL, syscall.SIGINT, syscall.SIGTERM}

// moment draws a signal and the time to send it to a launcher.
func moment(random *rand.Rand) (syscall.Signal, time.Duration) {
	return endings[random.IntN(len(endings))], time.Duration(random.Int64N(int64(longest)))
}

// checkEnded ends a launcher in a lab that outlives it. Half of the runs copy the programs
// first.
func checkEnded(t *testing.T, p *pair, random *rand.Rand) {
	if random.IntN(2) == 0 {
		for _, h := range []*host{p.server, p.client} {
			h.do(t, "rm", "-rf", "/tmp/kvlab-root")
		}
	}
	signal, after := moment(random)
	l := p.launch(t, t.TempDir(), "--client-args", brief)
	ended := l.strike(t, signal, after)
	l.end(t, ended, 0)
	l.checkSaid(t, signal)
	p.checkAlone(t, ended)
	l.checkLeft(t, p, ended)
	if t.Failed() {
		p.end()
	}
}

// strike sends a signal after a time, or returns if the launcher ends before.
func (l *launch) strike(t *testing.T, signal syscall.Signal, after time.Duration) time.Time {
	t.Helper()
	select {
	case <-time.After(after):
	case <-l.ended:
	}
	t.Logf("%v %.2f s after the start; the last line then: %q", signal, after.Seconds(), lastLine(l.said.String()))
	l.Process.Signal(signal)
	return time.Now()
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// checkSaid checks the output of an ended launcher, unless its run was over, or it did not
// listen to signals yet.
func (l *launch) checkSaid(t *testing.T, signal syscall.Signal) {
	t.Helper()
	status := l.ProcessState.Sys().(syscall.WaitStatus)
	said := l.said.String()
	switch {
	case status.Signaled() && status.Signal() == signal && (signal == syscall.SIGKILL || said == ""):
	case status.ExitStatus() == 0 && l.verdict() == "VALID":
	case status.ExitStatus() == 130 && l.verdict() == "INVALID(interrupted)":
	case status.ExitStatus() == 130 && !strings.Contains(said, "verdict"): // before there was a run
	default:
		t.Errorf("after %v: %v, verdict %q", signal, l.ProcessState, l.verdict())
	}
}

// TestEndedWithItsLab ends launchers that made their lab.
func TestEndedWithItsLab(t *testing.T) {
	t.Setenv(rootVariable, build(t))
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for i := range launchers(endedOutside) {
		t.Run(fmt.Sprintf("%02d", i), func(t *testing.T) {
			signal, after := moment(rand.New(rand.NewPCG(seed, uint64(i))))
			before := traces()
			l := newLaunch(t, t.TempDir(), "--virtual", "2", "--client-args", brief)
			ended := l.strike(t, signal, after)
			l.end(t, ended, 0)
			l.checkSaid(t, signal)
			checkGone(t, l.mark, before)
			if files := l.files(); files != "" {
				t.Errorf("left behind:\n%s", files)
			}
		})
	}
}

// traces lists what labs could leave on the machine beside processes: cgroups, mounts,
// interfaces.
func traces() []string {
	var all []string
	for _, pattern := range []string{"/sys/fs/cgroup/kvlab-lab-*", "/sys/fs/cgroup/*/kvlab-lab-*", "/sys/class/net/data[0-9]*", "/sys/class/net/control[0-9]*"} {
		found, _ := filepath.Glob(pattern)
		all = append(all, found...)
	}
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, "/run/netns/") { // a lab's network namespaces have no names; other tests' have
			continue
		}
		if strings.Contains(line, "kvlab") || strings.Contains(line, "emulab") {
			all = append(all, line)
		}
	}
	return all
}

// busy reports whether a lab's cgroup has processes, which are another test's.
func busy(group string) bool {
	lists, _ := filepath.Glob(filepath.Join(group, "*", "cgroup.procs"))
	return slices.ContainsFunc(lists, func(list string) bool {
		text, _ := os.ReadFile(list)
		return len(text) > 0
	})
}

// checkGone waits until nothing is left of an ended lab: no process that inherited its mark
// or runs a copy of its programs, and no new trace. Its namespaces go with its last
// process.
func checkGone(t *testing.T, mark string, before []string) {
	t.Helper()
	for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		left := marked(mark) + copies(t)
		for _, trace := range traces() {
			if !slices.Contains(before, trace) && !busy(trace) {
				left += trace + "\n"
			}
		}
		if left == "" {
			return
		}
		if time.Since(begun) > within {
			t.Errorf("left behind:\n%s", left)
			return
		}
	}
}

// copies lists the processes, in all namespaces, that run a program of this test's build:
// on a lab's hosts, in a folder named after its checksum.
func copies(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	root := os.Getenv(rootVariable)
	folders := []string{root + "/bin/"}
	for _, program := range []string{"kvsserver", "kvsclient"} {
		content, err := os.ReadFile(filepath.Join(root, "bin", program))
		if err != nil {
			t.Fatal(err)
		}
		folders = append(folders, fmt.Sprintf("/%x/", sha256.Sum256(content))[:17]+"/")
	}
	for _, pid := range processes() {
		exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		if slices.ContainsFunc(folders, func(folder string) bool { return strings.Contains(exe, folder) }) {
			fmt.Fprintf(&b, "process %d %s\n", pid, exe)
		}
	}
	return b.String()
}
