package grade

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kvlab/extra/grade/evening"
	"kvlab/internal/fakecluster"
	"kvlab/kvs/cluster/trial"
	"kvlab/metrics"
	"kvlab/metrics/manifest"
	"kvlab/plots/verify"
)

// found returns what verify says of a class's folder, a line each.
func found(t *testing.T, dir string) (lines []string) {
	t.Helper()
	results, err := verify.Run(dir, evening.Row)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		lines = append(lines, r.Differences...)
	}
	return lines
}

// set replaces the value at a path of a JSON file, such as entries.0.score; remove is no value.
func set(t *testing.T, file, path string, value any) {
	t.Helper()
	var all any
	if err := metrics.ReadJSON(file, &all); err != nil {
		t.Fatal(err)
	}
	at := func(parent any, word string) any {
		if i, err := strconv.Atoi(word); err == nil {
			return parent.([]any)[i]
		}
		return parent.(map[string]any)[word]
	}
	words := strings.Split(path, ".")
	parent, last := all, words[len(words)-1]
	for _, word := range words[:len(words)-1] {
		parent = at(parent, word)
	}
	if i, err := strconv.Atoi(last); err == nil && value == remove {
		all = slices.Delete(all.([]any), i, i+1) // of the outermost list
	} else if object, ok := parent.(map[string]any); ok {
		object[last] = value
	}
	text, err := json.Marshal(all)
	if err == nil {
		err = os.WriteFile(file, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// remove stands for no value.
const remove = "remove"

// Each single edit of a class's folder is named, also by an editor who writes the manifests anew,
// but for what no record witnesses: that is named by the manifest.
func TestEditsOfClass(t *testing.T) {
	t.Parallel()
	tr := fakecluster.New(t, Kind)
	if err := tr.Run(context.Background(), "grade", classFile(t, fakeClass), "--seed", "4"); err != nil {
		t.Fatalf("%v\n%s%s", err, tr.Stdout.String(), tr.Stderr.String())
	}
	made, err := filepath.EvalSymlinks(filepath.Join(tr.Out, "latest"))
	if err != nil {
		t.Fatal(err)
	}
	before := found(t, made) // fake nodes do not count each interval
	for _, e := range []struct {
		file, path string
		value      any
		want       string // begins a new line
	}{
		{"trials.json", "0.ops_per_s", 12345.0, "trials.json: [0].ops_per_s: recorded is 12345, "},
		{"trials.json", "0.ops", 7.0, "trials.json: [0].ops: recorded is 7, "},
		{"trials.json", "0.verdict", map[string]any{"valid": false, "reason": "slow"}, "trials.json: [0].verdict.reason: "},
		{"trials.json", "0.round", 2.0, "trials.json: trial 1, by the plan: round: recorded is 2, "},
		{"trials.json", "0.point", []any{"dies"}, "trials.json: "},
		{"trials.json", "0.folder", "trial-002", "trials.json: [0].folder: "},
		{"trials.json", "2", remove, "standings.json: ended: "},
		{"trials.json", "1.window_s", 99.0, "trials.json: [1].window_s: "},
		{"trial-001/run.json", "ops_per_s", 9.9, "run.json: ops_per_s: recorded is 9.9, "},
		{"trial-003", "", remove, "trial-003: the trial cannot be read"},
		{"trial-009/run.json", "", "{}", "trial-009: trials.json has no such trial"},
		{"standings.json", "entries.0.score", 99.0, "standings.json: entries[0].score: recorded is 99, "},
		{"standings.json", "entries.0.rank", 2.0, "standings.json: entries[0].rank: recorded is 2, "},
		{"standings.json", "entries.2.verdict.valid", true, "standings.json: entries[2].verdict.valid: recorded is true, "},
		{"standings.json", "rounds", 6.0, "standings.json: rounds: recorded is 6, "},
		{"standings.json", "ended", "it was late", "standings.json: ended: recorded is "},
		{"standings.json", "", remove, "standings.json: "},
		{"sweep.json", "class.score", []any{map[string]any{"ratio": 0.5, "percent": 90.0}}, "standings.json: entries[0].score: "},
		{"sweep.json", "class.budget_s", 1e6, "standings.json: ended: "},
		{"sweep.json", "class.reference", "good", "standings.json: "},
		{"sweep.json", "seed", 5.0, "trials.json: trial 1, by the plan: "},
		{"sweep.json", "class.precision", 50.0, ""},
		{"sweep.json", "class.title", "Others", ""},
		{"sweep.json", "class.entries.1.args", "--batch 8", ""},
		{"sweep.json", "class.entries.1.sha256", "00ff", ""},
		{"sweep.json", "class.entries.1.students", []any{"eve"}, ""},
	} {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(made)); err != nil {
			t.Fatal(err)
		}
		switch file := filepath.Join(dir, e.file); {
		case e.path != "":
			set(t, file, e.path, e.value)
		case e.value == remove:
			os.RemoveAll(file)
		default:
			os.Mkdir(filepath.Dir(file), 0o755)
			os.WriteFile(file, []byte(e.value.(string)), 0o644)
		}
		named := func(lines []string, want string) bool {
			return slices.ContainsFunc(lines, func(line string) bool {
				return strings.HasPrefix(line, want) && !slices.Contains(before, line)
			})
		}
		if lines, err := manifest.Check(dir); err != nil || !named(lines, e.file) {
			t.Errorf("%s %s: it is not named: %q (%v)", e.file, e.path, lines, err)
		}
		if e.want == "" {
			continue
		}
		if err := trial.Folder(dir).WriteManifest(); err != nil {
			t.Fatal(err)
		}
		if lines := found(t, dir); !named(lines, e.want) {
			t.Errorf("%s %s: with a new manifest, no %q in %q", e.file, e.path, e.want, lines)
		}
	}
	if lines := found(t, made); !slices.Equal(lines, before) {
		t.Errorf("without an edit: %q", lines)
	}
}
