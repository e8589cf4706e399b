package cluster

import (
	"bytes"
	"context"
	"io"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"kvlab/kvs/cluster/nodes"
	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/cluster/trial"
	"kvlab/metrics"
)

// pairOf makes two trials of fake nodes at the same time, of which B may have a fault.
func pairOf(t *testing.T, fault string) (runs []metrics.Run, errs []error, stderr string) {
	t.Helper()
	tr := newTrial(t)
	trials := make([]job, 2)
	for i, faults := range []string{"", fault} {
		cfg, err := parse([]string{"2", "2", "-fake-clients node2,node3 " + faults, faults, "--no-ceiling", "--out", tr.out}, nil, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		name := metrics.VariantNames[i]
		trials[i] = job{configuration: configuration{cfg: cfg, programs: tr.Programs}, variant: name, setup: trial.Setup{Dir: trial.Folder(t.TempDir()), Stderr: tr.Stderr}, run: metrics.Run{ID: name}}
		if trials[i].plan, err = plan.Make(context.Background(), cfg.Spec, nil); err == nil {
			trials[i].settings, err = tr.Programs.Check(context.Background(), trials[i].plan)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	runs, errs = tr.runGroup(context.Background(), trials)
	return runs, errs, tr.stderr.String()
}

// Trials at the same time have one window. Each has its own result and lines,
// and say of each other.
func TestPair(t *testing.T) {
	t.Parallel()
	runs, errs, stderr := pairOf(t, "")
	for i, run := range runs {
		if errs[i] != nil || !run.Verdict.Valid || run.Together != metrics.VariantNames[1-i] {
			t.Errorf("%s, beside %q: %v, %v", run.ID, run.Together, run.Verdict, errs[i])
		}
	}
	for line := range strings.Lines(stderr) {
		if !strings.HasPrefix(line, "A: ") && !strings.HasPrefix(line, "B: ") {
			t.Errorf("whose is %q?", line)
		}
	}
}

// When one of them dies, the other ends with its own verdict.
func TestPairOfWhichOneDies(t *testing.T) {
	t.Parallel()
	runs, errs, stderr := pairOf(t, "node2:kill:load")
	if errs[1] == nil || runs[1].Verdict.Valid {
		t.Errorf("B: %v, %v\n%s", runs[1].Verdict, errs[1], stderr)
	}
	if errs[0] != nil || !runs[0].Verdict.Valid {
		t.Errorf("A: %v, %v\n%s", runs[0].Verdict, errs[0], stderr)
	}
}

// The servers of one plan listen where those of the other do not.
func TestOffsetPorts(t *testing.T) {
	nodes := []nodes.Node{{Name: "a", Addr: "10.0.0.1"}, {Name: "b", Addr: "10.0.0.2"}}
	p := func(args ...string) plan.Plan {
		cfg, err := parse(args, nil, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		p, err := plan.Make(context.Background(), cfg.Spec, nodes)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	first := p("--nodes", "a,b", "--symmetric", "--servers-per-node", "2")
	second := p("--nodes", "a,b", "--symmetric", "--servers-per-node", "3").OffsetPorts(first)
	seen := make(map[netip.AddrPort]bool)
	for _, place := range append(first.Places, second.Places...) {
		if place.Role != metrics.Server {
			continue
		}
		at := netip.MustParseAddrPort(place.Listen)
		if seen[at] || at.Port() < plan.ServerPort || at.Port() >= plan.ServerPort+5 {
			t.Errorf("%s listens at %s", place.Name, at)
		}
		seen[at] = true
	}
	if len(seen) != 10 {
		t.Errorf("%d servers", len(seen))
	}
}

// Lines are whole, however they are written.
func TestNamed(t *testing.T) {
	var out bytes.Buffer
	var mu sync.Mutex
	a, b := named(&mu, &out, "A"), named(&mu, &out, "B")
	for _, text := range []string{"one ", "and", " a half\nand"} {
		if n, err := io.WriteString(a, text); n != len(text) || err != nil {
			t.Errorf("%q: %d, %v", text, n, err)
		}
		io.WriteString(b, "1\n")
	}
	if want := "B: 1\nB: 1\nA: one and a half\nB: 1\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

// When one trial of a pair fails, the other goes on at once.
func TestBarrierWithAFailedTrial(t *testing.T) {
	ends := trial.NewBarriers()
	done := make(chan error, 1)
	go func() { done <- ends[0].Wait(context.Background()) }()
	ends[1].Drop()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("waits for a trial that has ended")
	}
}
