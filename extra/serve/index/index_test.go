package index

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"kvlab/internal/foldertest"
	"kvlab/metrics"
)

// hostile is a folder's name that means something to a shell, to HTML and to a URL.
const hostile = `a b'"<script>x%2F?#😀`

// age makes everything in a run's folder an hour old.
func age(t *testing.T, dir string) {
	t.Helper()
	old := time.Now().Add(-time.Hour)
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error { return errors.Join(err, os.Chtimes(path, old, old)) })
	if err != nil {
		t.Fatal(err)
	}
}

// runs makes up a folder with a run folder of each kind, and others. Two are under way.
func runs(t *testing.T) string {
	t.Helper()
	logs := t.TempDir()
	for id, plan := range map[string]foldertest.Plan{"20261121-153001-main": foldertest.Gallery["cluster"], "20261121-153002": foldertest.Gallery["invalid"], hostile: foldertest.Gallery["cluster"]} {
		plan.ID = id
		foldertest.WriteFolder(t, filepath.Join(logs, id), foldertest.MakeRun(t, plan))
	}
	foldertest.MakeSweep(t, logs, foldertest.SweepPlan{ID: "trials", Trials: 6, Law: foldertest.Law{4e6, 0, 0}, Noise: 0.01, Seed: 1})
	foldertest.MakeSweep(t, logs, foldertest.SweepPlan{ID: "sweep", Knobs: []metrics.Knob{foldertest.Knob("nodes", "2", "4")}, Trials: 2, Law: foldertest.Law{4e6, 0, 0}, Seed: 1})
	foldertest.MakeSweep(t, logs, foldertest.SweepPlan{ID: "begun", Trials: 6, Done: 2, Law: foldertest.Law{4e6, 0, 0}, Seed: 1})
	foldertest.MakeSweep(t, logs, foldertest.Sides(8, 1.1))
	foldertest.MakeStudy(t, logs)
	foldertest.MakeCurve(t, logs, "curve", 1e6, "p99=20us", map[string]string{"engine": "slab", "records": "1000", "workload": "YCSB-B"})
	foldertest.MakeClass(t, logs, foldertest.ClassPlan{ID: "class", Names: []string{"base", "alice", "lossy", "broken"}, Rounds: 6, Ended: "enough", Seed: 31})
	for name, text := range map[string]string{"broken/run.json": "{\n\"id\": }", "empty/x.txt": "", "half/sweep.json": "{", ".hidden/run.json": "{", "later/run.json": `{"schema": 99}`} {
		file := filepath.Join(logs, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"broken", "empty", "half", "later", "begun"} {
		age(t, filepath.Join(logs, id))
	}
	foldertest.MakeSweep(t, logs, foldertest.SweepPlan{ID: "going", Trials: 6, Done: 2, Law: foldertest.Law{4e6, 0, 0}, Seed: 1})
	age(t, filepath.Join(logs, "going"))
	for _, dir := range []string{"going/trial-003", "preparing"} {
		if err := os.MkdirAll(filepath.Join(logs, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("trials", filepath.Join(logs, "latest")); err != nil {
		t.Fatal(err)
	}
	return logs
}

func TestRead(t *testing.T) {
	logs := runs(t)
	all, err := Read(logs)
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]Entry)
	for _, e := range all {
		got[e.ID] = e
	}
	for id, want := range map[string]Entry{
		"20261121-153001-main": {Kind: "run", Verdict: "VALID", Commit: "ade2e75", Work: "YCSB-B theta 0.99, 4+4"},
		"20261121-153002":      {Kind: "run", Verdict: "INVALID"},
		hostile:                {Kind: "run", Verdict: "VALID"},
		"trials":               {Kind: "trials", Verdict: "VALID"},
		"sweep":                {Kind: "sweep", Verdict: "VALID", Result: "2.00x from 2 to 4 nodes"},
		"begun":                {Kind: "trials", Verdict: "INCOMPLETE", Result: "2/6 trials"},
		"ab":                   {Kind: "comparison", Verdict: "VALID", Result: "B is faster, by "},
		"study":                {Kind: "study", Verdict: "VALID", Result: "3 reproduced, 2 contradicted, 3 cannot tell"},
		"curve":                {Kind: "curve", Verdict: "VALID", Result: "p99"},
		"class":                {Kind: "class", Verdict: "VALID", Result: "4 entries, 6 rounds; alice leads with 2."},
		"broken":               {Result: "run.json:2: invalid character"},
		"empty":                {Result: "no run.json: it ended early, or is no run"},
		"going":                {Kind: "trials", Verdict: "INCOMPLETE", Result: "2/6 trials", UnderWay: true},
		"preparing":            {UnderWay: true},
		"half":                 {Result: "sweep.json:1: unexpected end of JSON input"},
		"later":                {Result: "schema 99"},
	} {
		e, ok := got[id]
		delete(got, id)
		if !ok || e.Kind != want.Kind || e.Verdict != want.Verdict || !strings.Contains(e.Result, want.Result) || !strings.HasPrefix(e.Work, want.Work) || want.Commit != "" && e.Commit != want.Commit {
			t.Errorf("%s: %+v, want %+v", id, e, want)
		}
		measured := e.Verdict == "VALID" && (e.Kind == "run" || e.Kind == "trials")
		if e.UnderWay != want.UnderWay || e.UnderWay && (e.Result != want.Result || e.State() != "under way") {
			t.Errorf("%s: under way %v, %s", id, e.UnderWay, e.Result)
		}
		if (e.OpsPerS > 0) != measured || e.Started.IsZero() {
			t.Errorf("%s: %v ops/s, started %v", id, e.OpsPerS, e.Started)
		}
	}
	if len(got) > 0 {
		t.Errorf("entries of no run: %v", got)
	}
	if !slices.IsSortedFunc(all, func(a, b Entry) int { return b.Started.Compare(a.Started) }) {
		t.Error("the newest is not first")
	}
}

// Every line fits, and nothing is lost where there is room.
func TestText(t *testing.T) {
	all, err := Read(runs(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, width := range []int{80, 160, 0} {
		text := Text(all, width)
		if n := strings.Count(text, "\n"); n != len(all)+1 {
			t.Errorf("%d lines of %d entries", n, len(all))
		}
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(line) - 1; width > 0 && n > width {
				t.Errorf("%d columns, not %d: %s", n, width, line)
			}
		}
		if whole := strings.Contains(text, "; alice leads with 2."); whole != (width != 80) {
			t.Errorf("in %d columns:\n%s", width, text)
		}
	}
}

// The page is well-formed, links to every folder, and escapes what it shows.
func TestPage(t *testing.T) {
	logs := runs(t)
	if err := os.WriteFile(filepath.Join(logs, "trials", "report.html"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Write(logs); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(logs, Name))
	if err != nil {
		t.Fatal(err)
	}
	foldertest.CheckXML(t, Name, bytes.Replace(page, []byte("<!DOCTYPE html>"), nil, 1))
	for _, want := range []string{`href="./trials/report.html"`, `href="./empty/"`, `href="./a%20b%27%22%3Cscript%3Ex%252F%3F%23%F0%9F%98%80/"`, "default-src &#39;none&#39;", "16 runs"} {
		if !bytes.Contains(page, []byte(want)) && !bytes.Contains(page, []byte(strings.ReplaceAll(want, "&#39;", "'"))) {
			t.Errorf("the page has no %s", want)
		}
	}
	live, err := Page(logs, true)
	if n, now := bytes.Count(page, []byte(`>under way</td><td class="rate">`)), bytes.Count(live, []byte(`>under way</td><td class="rate">`)); n != 0 || now != 2 || err != nil {
		t.Errorf("%d runs are under way on the page, %d on the live one (%v), want 0 and 2", n, now, err)
	}
	if bytes.Contains(page, []byte("<script")) {
		t.Error("the page has a script")
	}
}

// A folder is read again only if its files have changed.
func TestCache(t *testing.T) {
	logs := t.TempDir()
	plan := foldertest.Gallery["cluster"]
	foldertest.WriteFolder(t, filepath.Join(logs, "a"), foldertest.MakeRun(t, plan))
	read := func() string {
		all, err := Read(logs)
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		return all[0].Verdict
	}
	if v := read(); v != "VALID" {
		t.Fatal(v)
	}
	file := filepath.Join(logs, "a", "run.json")
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, bytes.Repeat([]byte("x"), int(info.Size())), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(file, time.Time{}, info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if v := read(); v != "VALID" {
		t.Errorf("%q: the folder was read again, and has not changed", v)
	}
	if err := os.WriteFile(filepath.Join(logs, cacheFile), []byte(`{"version": 1}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if v := read(); v != "" {
		t.Errorf("%q: what is no cache was believed", v)
	}
	if err := os.Chtimes(file, time.Time{}, info.ModTime().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	foldertest.WriteFolder(t, filepath.Join(logs, "a"), foldertest.MakeRun(t, plan))
	if v := read(); v != "VALID" {
		t.Errorf("%q: the folder was not read again", v)
	}
	if err := os.RemoveAll(filepath.Join(logs, "a")); err != nil {
		t.Fatal(err)
	}
	if all, err := Read(logs); err != nil || len(all) != 0 {
		t.Errorf("%v, %v after the folder was removed", all, err)
	}
}

// BenchmarkWrite is the page of 1,000 runs after one more: what a launcher waits for. Of
// cold, there is no cache.
func BenchmarkWrite(b *testing.B) {
	logs := b.TempDir()
	files := foldertest.MakeRun(b, foldertest.Gallery["cluster"])
	var run map[string]any
	if err := json.Unmarshal(files["run.json"].Data, &run); err != nil {
		b.Fatal(err)
	}
	run["filling"] = strings.Split(strings.Repeat("0123456789,", 4000), ",") // to 57 kB, as of real runs
	for i := range 1000 {
		foldertest.WriteJSON(b, filepath.Join(logs, fmt.Sprintf("20261121-%06d", i), "run.json"), run)
	}
	for _, cold := range []bool{true, false} {
		b.Run(map[bool]string{true: "cold", false: "next"}[cold], func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				if cold {
					os.Remove(filepath.Join(logs, cacheFile))
				} else {
					foldertest.WriteJSON(b, filepath.Join(logs, "20261121-000999", "run.json"), run)
				}
				if err := Write(logs); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
