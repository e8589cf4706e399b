package verify

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// extracted is a new folder with the files of an archive whose paths have a prefix.
func extracted(t *testing.T, path, prefix string) string {
	t.Helper()
	archive, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	dir := t.TempDir()
	for _, entry := range archive.File {
		name, ok := strings.CutPrefix(entry.Name, prefix)
		if !ok || strings.HasSuffix(name, "/") {
			continue
		}
		from, err := entry.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// verified verifies one folder.
func verified(t *testing.T, dir string) Result {
	t.Helper()
	results, err := Run(dir)
	if err != nil || len(results) != 1 {
		t.Fatalf("%d results, %v", len(results), err)
	}
	return results[0]
}

// A run of two servers and two clients, of 2 s, is as recorded.
func TestRun(t *testing.T) {
	dir := extracted(t, "testdata/run.zip", "")
	if got, want := verified(t, dir).String(), "verify "+dir+": VALID, as recorded"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// stated are the figures of run.json that no record of a node has: what was asked for,
// and what the launcher found by itself.
var stated = regexp.MustCompile(`^(id|started|ended|command|git_commit|preflight|lab|together|symmetric|warm_up)\b|^nodes\[\d+\]\.(name|role|machine|address)|\.heard\.(warm_up_s|window_s)$`)

// Every figure that follows from the records is found when it is changed in run.json, and
// the line names it with both values.
func TestChangedFigures(t *testing.T) {
	dir := extracted(t, "testdata/run.zip", "")
	file := filepath.Join(dir, "run.json")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var run any
	if err := json.Unmarshal(text, &run); err != nil {
		t.Fatal(err)
	}
	const seed, chosen = 1, 20
	t.Logf("seed %d", seed)
	figures := figuresOf("", run, nil)
	random := rand.New(rand.NewPCG(seed, 0))
	random.Shuffle(len(figures), func(i, j int) { figures[i], figures[j] = figures[j], figures[i] })
	done := 0
	for _, f := range figures {
		if stated.MatchString(f.path) {
			continue
		}
		if done++; done > chosen && os.Getenv("KVLAB_LONG") != "1" {
			break
		}
		if f.value == math.Trunc(f.value) {
			f.set(f.value + 1)
		} else {
			f.set(f.value * 1.01)
		}
		changed, err := json.Marshal(run)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, changed, 0o644); err != nil {
			t.Fatal(err)
		}
		f.set(f.value)
		if got := verified(t, dir).Difference; !strings.HasPrefix(got, f.path+": run.json has ") {
			t.Errorf("%s: %q", f.path, got)
		}
	}
	t.Logf("%d figures of %d", done, len(figures))
}

// figure is a number in a JSON value.
type figure struct {
	path  string
	value float64
	set   func(float64)
}

// figuresOf returns the numbers of a JSON value, which set changes.
func figuresOf(path string, value any, set func(any)) (all []figure) {
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			all = append(all, figuresOf(strings.TrimPrefix(path+"."+name, "."), v[name], func(x any) { v[name] = x })...)
		}
	case []any:
		for i, element := range v {
			all = append(all, figuresOf(fmt.Sprintf("%s[%d]", path, i), element, func(x any) { v[i] = x })...)
		}
	case float64:
		all = append(all, figure{path, v, func(x float64) { set(x) }})
	}
	return all
}

// A verdict that was changed is found too.
func TestChangedVerdict(t *testing.T) {
	dir := extracted(t, "testdata/run.zip", "")
	file := filepath.Join(dir, "run.json")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(text), `"valid": true`, `"valid": false, "reason": "x"`, 1)
	if err := os.WriteFile(file, []byte(changed), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := verified(t, dir).Difference; !strings.HasPrefix(got, "verdict.reason: run.json has \"x\", the records give nothing") {
		t.Errorf("%q", got)
	}
}

// What an earlier release did not record is not compared, and that is said.
func TestOlderRun(t *testing.T) {
	const archive = "../chart/testdata/before.zip"
	dir := extracted(t, archive, "run/")
	got := verified(t, dir)
	if got.Difference != "" || !strings.Contains(got.String(), ", as recorded; not compared: ") {
		t.Errorf("%s", got)
	}
}
