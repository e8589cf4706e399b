package cluster

import (
	"context"
	"strings"
	"testing"
)

// A quick run says so, and its name ends the folder's.
func TestQuickRun(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	if err := tr.Run(context.Background(), []string{"2", "2", "-fake-clients node2,node3", "-batch 9", "--out", tr.out, "--quick", "--name", "look"}); err != nil {
		t.Fatalf("%v\n%s", err, tr.stderr.String())
	}
	run := tr.runJSON(t)
	if !run.Quick || !strings.HasSuffix(run.ID, "-look") {
		t.Errorf("run %s, quick: %t", run.ID, run.Quick)
	}
	if args := strings.Join(run.Nodes[3].Config.Args, " "); !strings.HasSuffix(args, " -secs=5 -warmup=1 -records=100000 -batch 9") {
		t.Errorf("a client's arguments are %q", args)
	}
}
