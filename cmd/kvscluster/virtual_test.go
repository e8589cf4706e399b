package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"kvlab/metrics"
	"kvlab/metrics/stats"
)

// A lab's links of 100 Mb/s carry linkRate bits a second, and besides in a window what their queue
// (50 ms) and bucket held when it opened.
const (
	linkRate = 100e6
	linkHeld = linkRate/8*0.05 + 256<<10 // bytes
)

// TestVirtual runs the real programs over virtual labs.
func TestVirtual(t *testing.T) {
	inCI(t)
	t.Parallel()
	t.Run("valid", checkVirtualRun)
	t.Run("full links", checkFullLinks)
}

func checkVirtualRun(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	cmd := exec.Command(filepath.Join(build(t), "bin", "kvscluster"), "--virtual", "3", "--link-rate", "100mbit", "1", "2", "--out", out,
		"--client-args", "-linearizable -records 20000 -workers 4 -batch 256 -warmup 0 -secs 4")
	said, err := cmd.CombinedOutput()
	if err != nil || !bytes.HasSuffix(said, []byte("\nverdict VALID\n")) || bytes.Count(said, []byte("virtual lab, 3 hosts on one machine, links 100 Mb/s")) != 1 || !bytes.Contains(said, []byte("(LAB)")) {
		t.Fatalf("%v\n%s", err, said)
	}
	run := readRun(t, filepath.Join(out, "latest"))
	if run.Lab == nil || run.Lab.Hosts != 3 || run.Lab.LinkBitsPerS != linkRate || run.Ops == 0 || run.Total != run.Applied {
		t.Errorf("lab %+v, %d ops, verified %+v, applied %+v", run.Lab, run.Ops, run.Total, run.Applied)
	}
	// The hosts' monotonic clocks are apart, but where the kernel has one for all.
	if _, err := os.Stat("/proc/self/timens_offsets"); run.Check == nil || run.Check.Slices == 0 || (run.Check.WidenedS > 0) != (err == nil) {
		t.Errorf("all clients together: %+v", run.Check)
	}
	for i, node := range run.Nodes {
		if want := fmt.Sprintf("node%d", i); node.Name != want || node.Config.Host.Hostname != want || node.Summary.Usage.DataInterface != "eth1" {
			t.Errorf("node %d is %q on host %q, interface %q", i, node.Name, node.Config.Host.Hostname, node.Summary.Usage.DataInterface)
		}
	}
	// A hit brings 128 bytes of value over the server's one link.
	hits := float64(run.Ops) * float64(run.Total.Hits) / float64(run.Total.Ops())
	if most := linkRate/8*run.WindowS + linkHeld; hits*128 > most {
		t.Errorf("%.0f bytes of values in %.3f s: more than the %.0f that the link lets pass", hits*128, run.WindowS, most)
	}
}

// The links are full from the first call on, and at first all operations are applied at once
// and wait for them. A warm-up that ends before that is over counted 4 % more in the window
// than the servers applied in it, and more than the links carry.
func checkFullLinks(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	cmd := exec.Command(filepath.Join(build(t), "bin", "kvscluster"), "--virtual", "4", "--link-rate", "100mbit", "--trials", "2", "--secs", "2", "--warmup", "0.5",
		"--records", "20000", "--batch", "1024", "--workers", "8", "--no-ceiling", "--out", out)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	_, trials, err := metrics.ReadSweep(filepath.Join(out, "latest"))
	if err != nil || len(trials) != 2 {
		t.Fatalf("%d trials, %v", len(trials), err)
	}
	used := readRun(t, filepath.Join(out, "latest", trials[0].Folder)).Window.UsedS
	for _, trial := range trials {
		run := readRun(t, filepath.Join(out, "latest", trial.Folder))
		applied, hottest := 0.0, 0.0
		for _, server := range run.Servers() {
			before, _ := server.Summary.Opening.Within(run.WindowStart, 0)
			after, _ := server.Summary.Closing.Within(run.WindowStart.Add(time.Duration(run.WindowS*float64(time.Second))), 0)
			applied, hottest = applied+float64(after-before), max(hottest, float64(after-before))
		}
		if lean := float64(run.Ops)/applied - 1; math.Abs(lean) > 0.02 {
			t.Errorf("%s: the clients count %d operations, the servers apply %.0f: %+.1f %%", trial.Folder, run.Ops, applied, 100*lean)
		}
		_, received := run.BytesPerOp()
		if carried, most := float64(run.Ops)*hottest/applied*received, stats.Goodput(linkRate, true)*run.WindowS+linkHeld; carried > most {
			t.Errorf("%s: the hottest server's link carries %.2f MB in %.3f s, and its limit is %.2f MB", trial.Folder, carried/1e6, run.WindowS, most/1e6)
		}
		if w := run.Window; w == nil || math.Abs(w.UsedS-used) > metrics.WindowsApart*used || w.UsedS < metrics.LeastRounds*w.RoundS {
			t.Errorf("%s: window %+v", trial.Folder, w)
		}
	}
}
