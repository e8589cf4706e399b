package cluster

import (
	"context"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kvlab/kvs/node"
)

// stepVariable names a file: from when it is there the fake nodes' wall clocks are
// an hour ahead of what they were.
const stepVariable = "KVLAB_TEST_STEP"

const step = time.Hour

// fakeMachine is the output of a node on a machine without other runs, whatever other tests
// do, and on which somebody may set the wall clock.
type fakeMachine struct{ io.Writer }

func (m fakeMachine) Write(line []byte) (int, error) {
	var e node.Event
	if json.Unmarshal(line, &e) != nil || e.Answer == nil {
		return m.Writer.Write(line)
	}
	if e.Answer.Facts != nil {
		e.Answer.Facts.Processes = nil
	}
	if _, err := os.Stat(os.Getenv(stepVariable)); err == nil && e.Answer.ReceivedNS != 0 {
		e.Answer.ReceivedNS += int64(step)
		e.Answer.SentNS += int64(step)
	}
	answer, err := json.Marshal(e)
	if err != nil {
		return 0, err
	}
	_, err = m.Writer.Write(append(answer, '\n'))
	return len(line), err
}

// A wall clock that is set by an hour in the window changes nothing, and the run reports it.
func TestClockStep(t *testing.T) {
	for _, set := range []bool{false, true} {
		tr, _, _ := newRemoteTrial(t)
		t.Setenv(stepVariable, filepath.Join(t.TempDir(), "stepped"))
		hosts := writeHosts(t, "node0 addr="+nodeIP(0), "node1 addr="+nodeIP(1))
		faults := ""
		if set {
			faults = "node1:step:window"
		}
		err := tr.Run(context.Background(), []string{"1", "1", "-fake-clients node1", faults, "--hosts", hosts, "--out", tr.out})
		run := tr.runJSON(t)
		if err != nil || !run.Verdict.Valid || run.Total != fakePair || run.WindowS < fakeWindow.Seconds() || run.WindowS > step.Seconds()/2 {
			t.Errorf("set %v: %v, verdict %v, counts %+v in a window of %v s", set, err, run.Verdict, run.Total, run.WindowS)
		}
		want := 0.0
		if set {
			want = step.Seconds()
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
