package cluster

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"kvlab/kvs/history"
)

// A client's history that is not linearizable is the verdict, and lies in the
// run's folder with its picture and the command that verifies it again.
func TestViolationIsSaved(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	if err := tr.run(context.Background(), "node2:unlinear"); ExitStatus(err) != exitInvalid {
		t.Errorf("error %v, want one of status %d", err, exitInvalid)
	}
	tr.checkGone(t, 4)
	if out := tr.stdout.String(); !strings.HasSuffix(out, "\nverdict INVALID(not linearizable: key 7: 0.0#1 and 0.1#1 were each there after the other, node2)\n") {
		t.Errorf("output:\n%s", out)
	}
	if err := tr.stderr.String(); !strings.Contains(err, "bin/kvsclient -verify-history ") {
		t.Errorf("no command to verify it again:\n%s", err)
	}
	v, err := history.Read(filepath.Join(tr.out, "latest", "history-node2.json"))
	if err != nil {
		t.Fatal(err)
	}
	if r := history.Verify(v.History); r.Outcome != history.Illegal || r.Why != v.Why {
		t.Errorf("the saved history is %s: %s", r.Outcome, r.Why)
	}
	if page := tr.read(t, "history-node2.html"); !strings.Contains(page, "0.1: put 0.1#1") {
		t.Errorf("a picture of %d bytes without the put", len(page))
	}
}
