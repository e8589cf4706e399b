package cluster

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// scaleFile writes a scale of steps.
func scaleFile(t *testing.T, steps string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "grades.toml")
	if err := os.WriteFile(path, []byte("[score]\nsteps = ["+steps+"]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestGradedRun(t *testing.T) {
	t.Parallel()
	scale := scaleFile(t, `"1 50 %", "2 60 %", "1G 100 %"`)
	for _, test := range []struct {
		flags []string
		fault string
		want  string
	}{
		{nil, "", "\ngrade 60 %\n  judged on "},
		{[]string{"--trials", "2"}, "", ": the lowest of 2 trials, which lies below their true median with 75.0 %"},
		{nil, "node2:kill:window", "no grade: the verdict is INVALID(died of signal 9"},
	} {
		tr := newTrial(t)
		args := append([]string{"2", "2", "-fake-clients node2,node3 " + test.fault, test.fault, "--out", tr.out, "--grade", scale}, test.flags...)
		err := tr.Run(context.Background(), args)
		if (err != nil) != (test.fault != "") {
			t.Fatalf("%v: %v\n%s", args, err, tr.stderr.String())
		}
		out := tr.stdout.String()
		if lines := strings.Split(strings.TrimSpace(out), "\n"); !strings.Contains(out, test.want) || !strings.HasPrefix(lines[len(lines)-1], "verdict ") {
			t.Errorf("%v prints\n%s\nwant %q in it, and the verdict last", args, out, test.want)
		}
	}
}
