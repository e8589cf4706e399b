package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"

	"kvlab/metrics"
	"kvlab/metrics/manifest"
	"kvlab/plots/verify"
)

// recorded makes a short run, or a short sweep, with real programs and returns its folder,
// which is as recorded.
func recorded(t *testing.T, args ...string) string {
	t.Helper()
	out := t.TempDir()
	args = append([]string{"--out", out, "--client-args", "-records 2000 -workers 4 -rate 20k -warmup 1 -secs 3"}, args...)
	if text, err := exec.Command(filepath.Join(build(t), "bin", "kvscluster"), args...).CombinedOutput(); err != nil {
		t.Fatalf("kvscluster %q: %v\n%s", args, err, text)
	}
	dir, err := filepath.EvalSymlinks(filepath.Join(out, "latest"))
	if err != nil {
		t.Fatal(err)
	}
	if lines := differencesOf(t, dir); len(lines) > 0 {
		t.Fatalf("a result that nobody has touched is not as recorded: %q", lines)
	}
	return dir
}

// differencesOf verifies a folder.
func differencesOf(t *testing.T, dir string) (lines []string) {
	t.Helper()
	results, err := verify.Run(dir)
	if err != nil {
		return []string{err.Error()}
	}
	for _, r := range results {
		lines = append(lines, r.Differences...)
	}
	return lines
}

// edit is a change of one file of a folder.
type edit struct {
	file string // relative to the folder
	what string // the place in the file, and the change
	text []byte // the file's new content; nil removes the file
}

func (e edit) String() string { return e.file + ": " + e.what }

// unseen are the edits that only the manifest shows, as nothing else follows from what they
// change: README.md's docs/results.md has the same list.
var unseen = []*regexp.Regexp{
	// What the launcher states of the run, which no node knows.
	regexp.MustCompile(`run\.json: (id|version|value_key|choice|window\.|started|ended|command|git_commit|preflight|lab|together|symmetric|quick|contained|check\b)`),
	regexp.MustCompile(`run\.json: nodes\[\d\]\.(machine|address)\b`),
	regexp.MustCompile(`run\.json: ceiling\.note\b`),
	regexp.MustCompile(`^sweep\.json: (started|until_share|lab)`),
	// The nodes' logs for people, whose figures no page shows.
	regexp.MustCompile(`\.log: `),
	// When a record was made, but for the first interval of the window; samples over time; and
	// what is outside of the window.
	regexp.MustCompile(`\.jsonl: line \d+: .*: (time|histogram\.(start_s|length_s))\b`),
	regexp.MustCompile(`\.jsonl: line \d+: (usage|histogram of (load|warmup|drain|done|idle)|arrival of (load|done|idle))`),
	// How a ceiling's window came to its length: its result is the null store's rate.
	regexp.MustCompile(`^ceiling-\w+/\S+\.jsonl: line \d+: arrival of (told|finished)`),
	// The last interval, and a test of a warm-up that is too short for one.
	regexp.MustCompile(`\.jsonl: line \d+: (interval of (drain|done)|arrival of tested)`),
	// Times of the audit's writes: only their order decides.
	regexp.MustCompile(`\.jsonl: line \d+: .*audit\.(clock|error_ns|origin_ns|tick_ns|loaded)`),
	// The head of the latency log, and the times of its lines.
	regexp.MustCompile(`latency\.hlog: (line [1-6] removed|digit before a histogram)`),
}

// TestEdits makes single edits of the files of a run and of a sweep, each file and each kind
// of edit in turn, at a random place. The manifest shows every one. If the editor writes the
// manifests anew, all are found but those of unseen.
func TestEdits(t *testing.T) {
	t.Parallel()
	const seed = 43
	edits := 30
	if os.Getenv("KVLAB_CI") == "1" || os.Getenv("KVLAB_LONG") == "1" {
		edits = 100
	}
	t.Logf("seed %d", seed)
	for _, result := range []struct {
		name string
		args []string
	}{{"run", []string{"--local", "1", "2", "--batch", "64"}}, {"sweep", []string{"--local", "1", "1", "--sweep", "batch=32,64", "--trials", "2", "--no-ceiling"}}} {
		t.Run(result.name, func(t *testing.T) {
			t.Parallel()
			dir, random := recorded(t, result.args...), rand.New(rand.NewPCG(seed, 0))
			files, seen := filesOf(t, dir), 0
			for i := range edits {
				e := randomEdit(t, random, dir, files[i%len(files)], i/len(files))
				restore := e.apply(t, dir)
				if lines, err := manifest.Check(dir); err != nil || len(lines) == 0 {
					t.Errorf("%s: the manifest does not show it (%v)", e, err)
				}
				if !slices.ContainsFunc(unseen, func(r *regexp.Regexp) bool { return r.MatchString(e.String()) }) {
					seen++
					renew(t, dir)
					if len(differencesOf(t, dir)) == 0 {
						t.Errorf("%s: with a new manifest, it is as recorded", e)
					}
				}
				restore()
			}
			t.Logf("%d of %d edits follow from the records", seen, edits)
			for _, e := range namedEdits(t, dir) {
				restore := e.apply(t, dir)
				if renew(t, dir); len(differencesOf(t, dir)) == 0 {
					t.Errorf("%s: with a new manifest, it is as recorded", e)
				}
				restore()
			}
			if trial := filepath.Join(dir, "trial-003"); result.name == "sweep" {
				if err := os.Rename(trial, trial+".gone"); err != nil {
					t.Fatal(err)
				}
				if renew(t, dir); !slices.Contains(differencesOf(t, dir), "trial-003: the trial cannot be read") {
					t.Errorf("a trial's folder is gone: %q", differencesOf(t, dir))
				}
				if err := os.Rename(trial+".gone", trial); err != nil {
					t.Fatal(err)
				}
				renew(t, dir)
			}
			if lines := differencesOf(t, dir); len(lines) > 0 {
				t.Errorf("the last edit is still there: %q", lines)
			}
		})
	}
}

// namedEdits are those that somebody would make: a better result, a failure that is hidden.
func namedEdits(t *testing.T, dir string) (edits []edit) {
	t.Helper()
	change := func(file, what string, by func(value any)) {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			return // of the other kind of folder
		}
		var value any
		if err = json.Unmarshal(text, &value); err == nil {
			by(value)
			text, err = json.Marshal(value)
		}
		if err != nil {
			t.Fatal(err)
		}
		edits = append(edits, edit{file, what, text})
	}
	change(metrics.TrialsFile, "three times as fast", func(trials any) {
		for _, trial := range trials.([]any) {
			for _, name := range []string{"ops", "ops_per_s"} {
				trial.(map[string]any)[name] = 3 * trial.(map[string]any)[name].(float64)
			}
		}
	})
	change(metrics.TrialsFile, "without the last trial", func(trials any) { trials.([]any)[3] = trials.([]any)[2] })
	change("run.json", "three times as fast", func(run any) {
		run.(map[string]any)["ops_per_s"] = 3 * run.(map[string]any)["ops_per_s"].(float64)
	})
	for _, name := range []string{"audit", "latency", "ceiling", "bottleneck", "skew", "usage", "total", "applied"} {
		change("run.json", "without "+name, func(run any) { delete(run.(map[string]any), name) })
	}
	change("run.json", "without what was heard", func(run any) {
		for _, node := range run.(map[string]any)["nodes"].([]any) {
			delete(node.(map[string]any), "heard")
		}
	})
	return edits
}

// filesOf returns the files that the launcher's manifests list, in random order.
func filesOf(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if !entry.IsDir() && slices.Contains([]string{".json", ".jsonl", ".txt", ".csv", ".hlog", ".log"}, filepath.Ext(path)) && entry.Name() != metrics.ManifestFile {
			name, _ := filepath.Rel(dir, path)
			files = append(files, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// renew writes the manifests of a folder anew, as an editor would.
func renew(t *testing.T, dir string) {
	t.Helper()
	below, _ := filepath.Glob(filepath.Join(dir, "trial-*"))
	for _, dir := range append(below, dir) {
		m, err := manifest.Of(dir)
		text, unwritable := json.Marshal(m)
		if err := errors.Join(err, unwritable); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, metrics.ManifestFile), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// apply makes the edit, and returns what undoes it and the renewal of the manifests.
func (e edit) apply(t *testing.T, dir string) (restore func()) {
	t.Helper()
	path := filepath.Join(dir, e.file)
	saved := map[string][]byte{path: nil}
	manifests, _ := filepath.Glob(filepath.Join(dir, "trial-*", metrics.ManifestFile))
	for _, path := range append(manifests, filepath.Join(dir, metrics.ManifestFile), path) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		saved[path] = text
	}
	err := os.Remove(path)
	if e.text != nil {
		err = os.WriteFile(path, e.text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		for path, text := range saved {
			if err := os.WriteFile(path, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// randomEdit returns an edit of a file. turn chooses its kind.
func randomEdit(t *testing.T, random *rand.Rand, dir, file string, turn int) edit {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	lines = lines[:len(lines)-1]    // what follows the last line feed
	kinds := make(map[string][]int) // of the lines
	for i, line := range lines {
		kinds[kindOf(line)] = append(kinds[kindOf(line)], i)
	}
	of := kinds[slices.Sorted(maps.Keys(kinds))[random.IntN(len(kinds))]]
	line := of[random.IntN(len(of))]
	name := fmt.Sprintf("line %d", line+1)
	isJSON := strings.Contains(filepath.Ext(file), ".json")
	switch kind := turn % 8; {
	case kind == 3:
		return edit{file, "removed", nil}
	case kind == 5:
		return edit{file, fmt.Sprintf("%s cut off", name), slices.Concat(slices.Concat(lines[:line]...), lines[line][:len(lines[line])/2])}
	case filepath.Ext(file) == ".json":
		return leaf(t, random, file, "", text, func(changed []byte) []byte { return changed })
	case kind == 1 || !isJSON && kind%2 == 1:
		return edit{file, name + kindOf(lines[line]) + " removed", slices.Concat(slices.Concat(lines[:line]...), slices.Concat(lines[line+1:]...))}
	case isJSON:
		return leaf(t, random, file, name+": ", lines[line], func(changed []byte) []byte {
			return slices.Concat(slices.Concat(lines[:line]...), changed, []byte("\n"), slices.Concat(lines[line+1:]...))
		})
	}
	digits := regexp.MustCompile(`[0-9]`).FindAllIndex(text, -1)
	var at int
	var changed []byte
	for says := false; !says; says = !sameHistogram(text, changed, at) {
		at = digits[random.IntN(len(digits))][0]
		changed = bytes.Clone(text)
		changed[at] = '0' + (changed[at]-'0'+1)%10
	}
	what := "digit"
	if bytes.Contains(bytes.SplitAfter(text[at:], []byte("\n"))[0], []byte("HIST")) || bytes.HasPrefix(text[bytes.LastIndexByte(text[:at], '\n')+1:], []byte("#")) {
		what += " before a histogram"
	}
	return edit{file, fmt.Sprintf("%s, of %.20q", what, text[max(0, at-10):]), changed}
}

// sameHistogram reports whether at is in an encoded histogram that both texts have: padding
// bits of base64 and of a flush say nothing.
func sameHistogram(text, changed []byte, at int) bool {
	begin := bytes.LastIndexAny(text[:at], ",\"\n") + 1
	end := at + bytes.IndexAny(text[at:], ",\"\n") // a file ends with a line feed
	one, err := hdrhistogram.Decode(text[begin:end])
	other, unreadable := hdrhistogram.Decode(changed[begin:end])
	return err == nil && unreadable == nil && one.Equals(other)
}

// kindOf names the record on a line of a .jsonl file: ": histogram of load"; "" of other
// files.
func kindOf(line []byte) string {
	var r metrics.Record
	if json.Unmarshal(line, &r) != nil || r.Node == "" {
		return ""
	}
	switch {
	case r.Histogram != nil:
		return fmt.Sprintf(": histogram of %s", r.Histogram.Phase)
	case r.Arrival != nil:
		return fmt.Sprintf(": arrival of %s", r.Arrival.Event)
	case r.Interval != nil:
		return fmt.Sprintf(": interval of %s", r.Interval.Phase)
	case r.Usage != nil:
		return ": usage"
	case r.Audit != nil:
		return ": audit"
	}
	return ": record"
}

// leaf returns an edit of one field of a JSON text: a number, a word or a bool has another
// value, or is removed.
func leaf(t *testing.T, random *rand.Rand, file, where string, text []byte, whole func([]byte) []byte) edit {
	t.Helper()
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	at := leafOf{value: value}
	for at.descend(random) {
	}
	what := at.path
	old, isNumber := at.value.(float64)
	switch word, isWord := at.value.(string); {
	case random.IntN(3) == 0 && at.value != nil && at.value != false && at.value != 0.0 && at.value != "":
		at.remove()
		what += " is removed"
	case isNumber:
		at.set(old*3 + 1)
		what += " is another number"
	case isWord:
		at.set(word + "x")
		what += " is another word"
	case at.value == true || at.value == false:
		at.set(at.value == false)
		what += " is not"
	default: // null, or nothing in a list
		at.set(map[string]any{"x": 1.0})
		what += " is not null"
	}
	changed, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	if k := kindOf(text); k != "" {
		where = strings.TrimSuffix(where, ": ") + k + ": "
	}
	return edit{file, where + what, whole(changed)}
}

// leafOf is a value in a JSON value, which set replaces and remove removes.
type leafOf struct {
	path   string
	value  any
	set    func(any)
	remove func()
}

// descend goes to a random element of the value, and reports false if it has none.
func (l *leafOf) descend(random *rand.Rand) bool {
	switch v := l.value.(type) {
	case map[string]any:
		if len(v) == 0 {
			return false
		}
		name := slices.Sorted(maps.Keys(v))[random.IntN(len(v))]
		*l = leafOf{strings.TrimPrefix(l.path+"."+name, "."), v[name], func(x any) { v[name] = x }, func() { delete(v, name) }}
	case []any:
		if len(v) == 0 {
			return false
		}
		i := random.IntN(len(v))
		*l = leafOf{fmt.Sprintf("%s[%d]", l.path, i), v[i], func(x any) { v[i] = x }, func() { v[i] = nil }}
	default:
		return false
	}
	return true
}
