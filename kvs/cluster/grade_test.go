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

func TestGradeRefusals(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"--grade", "/nowhere/grades"}, "open /nowhere/grades: no such file"},
		{[]string{"--grade", scaleFile(t, "\"1M 80 %\",\n\"much 90 %\"")}, `grades.toml:3: "much 90 %": want operations per second, or a ratio to a reference, and per cent`},
		{[]string{"--grade", scaleFile(t, `"1 50 %"`), "--sweep", "nodes=2,4"}, "--grade excludes --sweep"},
	} {
		tr := newTrial(t)
		err := tr.Run(context.Background(), append(test.args, "--out", tr.out))
		if ExitStatus(err) != exitUsage || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: %v, want %q", test.args, err, test.want)
		}
	}
}
