package folder

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kvlab/metrics"
)

func TestLoadSweepRefuses(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	wants := func(words string) {
		t.Helper()
		_, err := LoadSweep(dir)
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("error %v, want one about %q", err, words)
		}
	}
	wants("is not a sweep's folder: sweep.json is not in it")
	write("sweep.json", "{")
	wants("sweep.json:1: ")
	write("sweep.json", `{"schema":2,"id":"x","knobs":[{"name":"nodes","values":["2"]}],"order":[{"number":1,"point":["2"]}]}`)
	write("trials.json", `[{"schema":2,"number":1,"point":["3"],"verdict":{"valid":true}}]`)
	wants(`trial 1 is of point ["3"]`)
	write("trials.json", `[{"schema":2,"number":1,"point":["2"],"folder":"trial-001","verdict":{"valid":true}}]`)
	wants("trial-001: read the run: open run.json: no such file")
}

// runOf returns a valid run of a number of servers and clients.
func runOf(id, commit string, servers, clients int) *Run {
	r := &Run{}
	r.ID, r.GitCommit, r.Verdict.Valid, r.OpsPerS = id, commit, true, 1e6
	for i := range servers + clients {
		role := metrics.Server
		if i >= servers {
			role = metrics.Client
		}
		r.Nodes = append(r.Nodes, metrics.RunNode{Name: "n", Role: role, Config: &metrics.Config{Binary: commit + id}})
	}
	return r
}

// Runs of different commits, programs, topologies or work never share a point.
func TestSweepOfPoolsNothing(t *testing.T) {
	other := runOf("e", "a", 1, 1)
	other.Workload = metrics.Settings{"records": "100"}
	claims := runOf("f", "a", 1, 1)
	for _, n := range claims.Nodes {
		n.Config.Capabilities = &metrics.Capabilities{Driver: metrics.ClaimsDriver}
	}
	for _, test := range []struct {
		name  string
		knobs string
		runs  []*Run
		want  int // points
	}{
		{"alike", "nodes", []*Run{runOf("a", "a", 1, 1), runOf("b", "a", 1, 1)}, 1},
		{"half and half", "nodes", []*Run{runOf("a", "a", 1, 1), runOf("b", "a", 1, 2), runOf("c", "a", 2, 2)}, 3},
		{"commits", "nodes,git commit", []*Run{runOf("a", "a", 1, 1), runOf("b", "b", 1, 1)}, 2},
		{"changed commits", "nodes,git commit", []*Run{runOf("a", "a-dirty", 1, 1), runOf("b", "a-dirty", 1, 1)}, 2},
		{"topologies", "nodes,servers + clients", []*Run{runOf("a", "a", 2, 2), runOf("b", "a", 1, 3)}, 2},
		{"a claim", "nodes,result", []*Run{runOf("a", "a", 1, 1), claims}, 2},
		{"work", "nodes,records", []*Run{runOf("a", "a", 1, 1), other}, 2},
	} {
		s := SweepOf(test.runs)
		var knobs []string
		for _, knob := range s.Knobs {
			knobs = append(knobs, knob.Name)
		}
		if got := strings.Join(knobs, ","); got != test.knobs || len(s.Points) != test.want {
			t.Errorf("%s: %d points of the knobs %s, want %d of %s", test.name, len(s.Points), got, test.want, test.knobs)
		}
	}
}

// A trial of another commit is no part of a sweep.
func TestLoadSweepRefusesAnotherCommit(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"sweep.json":         `{"schema":2,"id":"x","git_commit":"a","order":[{"number":1}]}`,
		"trials.json":        `[{"schema":2,"number":1,"folder":"trial-001","verdict":{"valid":true}}]`,
		"trial-001/run.json": `{"schema":2,"id":"x/trial-001","git_commit":"b","verdict":{"valid":true}}`,
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := LoadSweep(dir); err == nil || !strings.HasSuffix(err.Error(), "trial-001 is of commit b, the sweep of a: they are never one result") {
		t.Errorf("error %v", err)
	}
}
