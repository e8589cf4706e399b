package cluster

import (
	"context"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"kvlab/internal/fakenode"
)

// A wall clock that is set by an hour in the window changes nothing, and the run reports it.
func TestClockStep(t *testing.T) {
	for _, set := range []bool{false, true} {
		tr, _, _ := newRemoteTrial(t)
		t.Setenv(fakenode.StepVariable, filepath.Join(t.TempDir(), "stepped"))
		hosts := writeHosts(t, "node0 addr="+nodeIP(0), "node1 addr="+nodeIP(1))
		faults := ""
		if set {
			faults = "node1:step:window"
		}
		err := tr.Run(context.Background(), []string{"1", "1", "-fake-clients node1", faults, "--hosts", hosts, "--out", tr.out})
		run := tr.runJSON(t)
		if err != nil || !run.Verdict.Valid || run.Total != fakenode.Pair || run.WindowS < fakenode.Window.Seconds() || run.WindowS > fakenode.Step.Seconds()/2 {
			t.Errorf("set %v: %v, verdict %v, counts %+v in a window of %v s", set, err, run.Verdict, run.Total, run.WindowS)
		}
		want := 0.0
		if set {
			want = fakenode.Step.Seconds()
		}
		for _, m := range run.Preflight.Machines {
			if got := m.ClockStepS; math.Abs(got-want) > 1 {
				t.Errorf("%s: a step of %v s, want %v", m.Name(), got, want)
			}
		}
		const told = "wall clocks were set during the run: of node0 forward by 36"
		if said := tr.stdout.String(); strings.Contains(said, told) != set || strings.Contains(said, "wall clock") != set {
			t.Errorf("set %v: the user is told:\n%s", set, said)
		}
	}
}
