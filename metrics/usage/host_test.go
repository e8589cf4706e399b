package usage

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestHostFactsOfThisMachine(t *testing.T) {
	h := must(HostFacts())(t)
	if h.Hostname != must(os.Hostname())(t) || h.GoVersion != runtime.Version() || h.Kernel == "" || strings.TrimSpace(h.OS) == "" {
		t.Errorf("facts %+v", h)
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
