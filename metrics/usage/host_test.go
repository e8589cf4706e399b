package usage

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestHostFactsOfThisMachine(t *testing.T) {
	h := must(HostFacts())(t)
	if h.Hostname != must(os.Hostname())(t) || h.GoVersion != runtime.Version() {
		t.Errorf("facts %+v", h)
	}
	for script, fact := range map[string]string{"uname -r": h.Kernel, `PRETTY_NAME=linux; [ ! -e /etc/os-release ] || . /etc/os-release; echo "$PRETTY_NAME"`: h.OS} {
		if out := must(exec.Command("sh", "-c", script).Output())(t); fact != strings.TrimSpace(string(out)) {
			t.Errorf("%s prints %q, the facts have %q", script, out, fact)
		}
	}
	if h.Cores < runtime.NumCPU() || h.MemoryTotalBytes == 0 {
		t.Errorf("%d cores and %d bytes, but this process may use %d cores", h.Cores, h.MemoryTotalBytes, runtime.NumCPU())
	}
}

func TestHostFactsFollowHostProc(t *testing.T) {
	proc := newFakeProc(t, "proc-0")
	h := must(HostFacts())(t)
	if h.CPUModel != "Intel(R) Xeon(R) CPU D-1548 @ 2.00GHz" || h.Cores != 2 || h.MemoryTotalBytes != 16000000<<10 {
		t.Errorf("facts %+v", h)
	}
	for _, file := range []string{"cpuinfo", "meminfo"} {
		proc.show("proc-0")
		if err := os.Remove(filepath.Join(proc.dir, file)); err != nil {
			t.Fatal(err)
		}
		if _, err := HostFacts(); err == nil || !strings.Contains(err.Error(), filepath.Join(proc.dir, file)) {
			t.Errorf("without %s: error %v", file, err)
		}
	}
}
