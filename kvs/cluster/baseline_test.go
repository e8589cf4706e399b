package cluster

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A result is compared with a stored one by its name, and the exit status tells how. The
// list of runs beside their folders is renewed after each.
func TestBaseline(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	var listed []string
	tr.List = func(dir string) error {
		listed = append(listed, dir)
		return nil
	}
	run := func(clients string, flags ...string) (status int, said string) {
		before := len(tr.stdout.String())
		err := tr.Run(context.Background(), append([]string{"--server-args", "-fake-clients " + clients, "--out", tr.out}, flags...))
		return ExitStatus(err), tr.stdout.String()[before:]
	}
	if status, said := run("node1", "1", "1", "--name", "main", "--trials", "3"); status != 0 {
		t.Fatalf("status %d\n%s%s", status, said, tr.stderr.String())
	}
	pass := regexp.MustCompile(`(?m)^PASS slower=90%: \d\.\d+ x the ops/s of main \[\d\.\d+, \d\.\d+\]$`)
	if status, said := run("node1", "1", "1", "--name", "change", "--trials", "3", "--baseline", "main", "--fail-if", "slower=90%"); status != 0 || !pass.MatchString(said) || !strings.HasSuffix(said, "verdict VALID\n") {
		t.Errorf("status %d\n%s%s", status, said, tr.stderr.String())
	}
	if status, said := run("node1", "1", "1", "--baseline", "main", "--fail-if", "slower=90%"); status != 1 || !strings.Contains(said, "\nUNDECIDED slower=90%: ") || !strings.HasSuffix(said, "verdict VALID\n") {
		t.Errorf("one trial: status %d\n%s%s", status, said, tr.stderr.String())
	}
	if status, said := run("node2", "2", "1", "--baseline", "main", "--fail-if", "slower=90%"); status != 1 || !strings.Contains(said, "\nno check: ") || !strings.Contains(said, " differs in nodes: 2 and 3") {
		t.Errorf("another work: status %d\n%s%s", status, said, tr.stderr.String())
	}
	if !slices.Equal(listed, []string{tr.out, tr.out, tr.out, tr.out}) {
		t.Errorf("the lists of runs that were renewed are %q, want %s after each of 4 runs", listed, tr.out)
	}
}
