package faults

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// through holds the client arguments of a run that survives a fault.
const through = "-records 20000 -workers 8 -batch 512 -warmup 0.5 -secs 5"

// process waits for the victim's node and returns its pid.
func (s *scene) process(t *testing.T) int {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		for _, pid := range s.victim.runs(s.program) {
			words, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if bytes.Contains(words, []byte("\x00-control\x00")) { // and not -probe
				return pid
			}
		}
	}
	t.Fatalf("%s does not run %s", s.victim.name, s.program)
	return 0
}

// noDescriptors makes each further open(2) and accept(2) of the victim's process fail with
// EMFILE (getrlimit(2)).
func noDescriptors(t *testing.T, s *scene) {
	if err := unix.Prlimit(s.process(t), unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 1, Max: 1}, nil); err != nil {
		t.Fatal(err)
	}
}

// noMemory limits the victim's process to its present address space.
func noMemory(t *testing.T, s *scene) {
	if err := unix.Prlimit(s.process(t), unix.RLIMIT_AS, &unix.Rlimit{Cur: 1 << 20, Max: 1 << 20}, nil); err != nil {
		t.Fatal(err)
	}
}

// littleMemory gives the server less memory than the records need.
func littleMemory(_ *testing.T, s *scene) {
	s.serving += fmt.Sprintf(" -max-memory %dMiB", 60+s.random.IntN(140))
}

// paused stops the victim's process for 0.3 to 3 s, less than any timeout.
func paused(t *testing.T, s *scene) {
	pid := s.process(t)
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	time.Sleep(300*time.Millisecond + time.Duration(s.random.Int64N(int64(2700*time.Millisecond))))
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
}

// restarted kills the server and starts another in its place.
func restarted(t *testing.T, s *scene) {
	const path = "/tmp/restarted"
	s.mended(func() {
		for _, pid := range s.victim.runs(filepath.Base(path)) {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		s.victim.do(t, "rm", "-f", path)
	})
	signalled(syscall.SIGKILL)(t, s)
	s.victim.waitListening(t, false)
	s.victim.serve(t, path)
}
