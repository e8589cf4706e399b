package cluster

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// When the deadline is reached, every node that still works logs its stacks, one
// that does not answer by SIGQUIT, and the verdict names who was waited for. A busy
// machine gets a later deadline until the nodes have come as far as they are to come.
func TestDeadline(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]string{"all answer": "", "a server hangs": "node1:hang:load"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr, deadline, err := newTrial(t), 2*time.Second, error(nil)
			for ; deadline < 2*time.Minute; deadline *= 2 {
				tr = newTrial(t)
				tr.timeouts.Silence = time.Hour // only the deadline can end it
				err = tr.Run(context.Background(), []string{"--deadline", deadline.String(), "2", "2", "-fake-clients node2,node3 " + fault, "node2:pause:window node3:pause:window", "--out", tr.out})
				if has(tr.out+"/latest/kvsclient-node2.log", "fault pause at window") && has(tr.out+"/latest/kvsclient-node3.log", "fault pause at window") && (fault == "" || has(tr.out+"/latest/kvsserver-node1.log", "fault hang at load")) {
					break
				}
			}
			tr.checkGone(t, 4)
			v := tr.runJSON(t).Verdict
			if ExitStatus(err) != exitInvalid || !strings.HasPrefix(v.Reason, fmt.Sprintf("deadline of %v reached in phase ", deadline)) || v.Node != "node2" {
				t.Errorf("verdict %v, %v", v, err)
			}
			for _, file := range []string{"kvsserver-node0.log", "kvsserver-node1.log", "kvsclient-node2.log", "kvsclient-node3.log"} {
				want := "fake stacks"
				if fault != "" && strings.Contains(file, "node1") {
					want = "stderr: SIGQUIT: quit"
				}
				if !strings.Contains(tr.read(t, file), "\n"+want+"\n") {
					t.Errorf("%s has no %q:\n%s", file, want, tr.read(t, file))
				}
			}
		})
	}
}
