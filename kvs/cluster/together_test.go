package cluster

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kvlab/kvs/history"
)

// What the clients have recorded together is verified by the launcher: it stands
// in run.json, and what is wrong with it is the verdict and lies in the run's
// folder. The slices themselves do not.
func TestTogether(t *testing.T) {
	t.Parallel()
	for which, want := range map[string]string{
		"right": "\nverdict VALID\n",
		"stale": "\nverdict INVALID(not linearizable, all clients together: key 7: 0.0#1 and 0.0#2 were each there after the other)\n",
	} {
		t.Run(which, func(t *testing.T) {
			t.Parallel()
			tr := newTrial(t)
			err := tr.run(context.Background(), "-joint", which)
			if (err == nil) != (which == "right") || !strings.HasSuffix(tr.stdout.String(), want) {
				t.Errorf("error %v, want %s, output:\n%s", err, want, tr.stdout.String())
			}
			if !strings.Contains(tr.stdout.String(), "checked 3 operations of 2 clients together in 1 slices: ") {
				t.Errorf("output:\n%s", tr.stdout.String())
			}
			if found := tr.runJSON(t).Check; found == nil || found.Ops != 3 || found.Slices != 1 || (found.Illegal == 1) != (which == "stale") || found.Unknown != 0 {
				t.Errorf("run.json has %+v", found)
			}
			if records := tr.read(t, "kvsclient-node3.jsonl"); strings.Contains(records, `"slice"`) {
				t.Errorf("records:\n%s", records)
			}
			path := filepath.Join(tr.out, "latest", "history-clients.json")
			if which == "right" {
				if _, err := os.Stat(path); err == nil {
					t.Error("a right history was saved")
				}
				return
			}
			v, err := history.Read(path)
			if err != nil || history.Verify(v.History).Outcome != history.Illegal {
				t.Errorf("the saved history is %s, %v", history.Verify(v.History).Outcome, err)
			}
			if page := tr.read(t, "history-clients.html"); !strings.Contains(page, "put 0.0#2") {
				t.Errorf("a picture of %d bytes without the put", len(page))
			}
			if err := tr.stderr.String(); !strings.Contains(err, "history-clients.json verifies it again") {
				t.Errorf("no command to verify it again:\n%s", err)
			}
		})
	}
}
