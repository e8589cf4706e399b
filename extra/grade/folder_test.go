package grade

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kvlab/extra/grade/evening"
	"kvlab/internal/fakecluster"
	"kvlab/kvs/cluster"
	"kvlab/kvs/cluster/trial"
	"kvlab/metrics"
	"kvlab/plots/verify"
)

// termClass is a class of fake nodes that all are right.
const termClass = `title = "Fakes"
budget = "1ms"
[work]
workload = "YCSB-B"
records = 1
value_size = 128
least_secs = 1
args = "1 1 --server-args '-fake-clients node1'"
allow = ["ONE MACHINE", "memory", "disk", "governor", "clock", "CLOCK-RATE", "rtt"]
[reference]
name = "base"
[[entry]]
name = "good"
args = "--batch 9"
[[entry]]
name = "other"
args = "--batch 8"
[score]
steps = ["0.5x 60 %", "2x 100 %"]
`

const lateEntry = "[[entry]]\nname = \"late\"\nargs = \"--batch 7\"\n"

// A class's folder gets another scale, a late entry, one once more, another submission of one, and
// an evening that was measured elsewhere. It is as recorded each time.
func TestClassFolder(t *testing.T) {
	t.Parallel()
	tr := fakecluster.New(t, Kind)
	file := classFile(t, termClass)
	for range 2 { // the second evening is joined
		if err := tr.Run(context.Background(), "grade", file); err != nil {
			t.Fatalf("%v\n%s%s", err, tr.Stdout.String(), tr.Stderr.String())
		}
	}
	folders, _ := filepath.Glob(filepath.Join(tr.Out, "2*"))
	dir, second := folders[0], folders[1]
	plan, err := os.ReadFile(filepath.Join(dir, metrics.SweepFile))
	if err != nil {
		t.Fatal(err)
	}
	run := func(want string, words ...string) metrics.Standings {
		t.Helper()
		err := tr.Launcher.Run(context.Background(), append([]string{"grade", dir}, words...))
		if want != "" {
			if cluster.ExitStatus(err) == 0 || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v, want %q", words, err, want)
			}
			return metrics.Standings{}
		}
		if err != nil {
			t.Fatalf("%q: %v\n%s", words, err, tr.Stderr.String())
		}
		results, err := verify.Run(dir, evening.Row)
		for _, r := range results {
			if !strings.Contains(r.Folder, "/trial-") && len(r.Differences) > 0 || err != nil {
				t.Errorf("%q: %v, %v", words, r, err)
			}
		}
		var s metrics.Standings
		if err := metrics.ReadJSON(filepath.Join(dir, metrics.StandingsFile), &s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	page := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	names := func(s metrics.Standings) (all []string) {
		for _, e := range s.Entries {
			name, hash, _ := strings.Cut(e.Entry, "@")
			all = append(all, name+strings.Repeat("@", min(1, len(hash))))
		}
		slices.Sort(all)
		return all
	}
	other := filepath.Join(filepath.Dir(file), "other.toml")
	for text, want := range map[string]string{
		"value_size = 128\n#value_size = 64": "work or reference: ", "name = \"base\"\n#name = \"bass\"": "reference: base of ", "[score]\n#[gates]\nmemory = '2GB'\n[score]": "gate memory: 0 MB, and 2000 MB",
	} {
		was, now, _ := strings.Cut(text, "#")
		if err := os.WriteFile(other, []byte(strings.Replace(termClass, strings.TrimSpace(was), now, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
		run("what is measured has changed, which needs another evening: "+want, "--scale", other)
	}
	if _, err := os.Stat(filepath.Join(dir, evening.ScaleFile)); err == nil {
		t.Error("a scale that was refused is there")
	}
	scaled := strings.NewReplacer("Fakes", "Graded", "60 %", "10 %", "100 %", "20 %", `"other"`, `"renamed"`).Replace(termClass)
	if err := os.WriteFile(other, []byte(scaled), 0o644); err != nil {
		t.Fatal(err)
	}
	s := run("", "--scale", other)
	if top := s.Entries[0].Score; top < 10 || top > 20 || !slices.Equal(names(s), []string{"base", "good", "renamed"}) {
		t.Errorf("another scale: %+v", s)
	}
	if page := page("leaderboard.html"); !strings.Contains(page, "Graded: leaderboard") || !strings.Contains(page, "renamed") || strings.Contains(page, "Which trials are whose") {
		t.Errorf("the leaderboard has the old scale:\n%.1500s", page)
	}
	if err := os.WriteFile(other, []byte(strings.NewReplacer("[score]", lateEntry+"[score]", "1ms", "1s").Replace(scaled)), 0o644); err != nil {
		t.Fatal(err)
	}
	run("--add lat: "+other+" has no such entry; did you mean late?", "--add", "lat")
	run("--regrade late: the class has not measured it: --add does", "--regrade", "late")
	run("--add good: this submission is measured already: --regrade measures it again", "--add", "good")
	run("--out: another evening of a class is measured in the class's folder", "--out", tr.Out)
	if s = run("", "--add", "late"); !slices.Equal(names(s), []string{"base", "good", "late", "renamed"}) || s.Entries[0].Score > 20 {
		t.Errorf("a late entry: %+v", s)
	}
	if s = run("", "--regrade", "renamed"); s.Rounds < 3 {
		t.Errorf("once more: %+v", s)
	}
	if err := os.WriteFile(other, []byte(strings.Replace(scaled, "--batch 9", "--batch 6", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	run("--regrade good: its files have changed since, so it is another submission: --add measures it, and then it counts", "--regrade", "good")
	if s = run("", "--add", "good"); !slices.Equal(names(s), []string{"base", "good", "good@", "late", "renamed"}) {
		t.Errorf("another submission: %q", names(s))
	}
	run("", "--join", second)
	run("want an evening that has no others, and that the class does not have", "--join", second)
	board := page("leaderboard.html")
	for _, want := range []string{"Which trials are whose", ", of all entries, in the folder .", ", of late, in the folder 2", "of good, in the folder 2", "<small>earlier</small>"} {
		if !strings.Contains(board, want) {
			t.Errorf("the leaderboard lacks %q:\n%s", want, board[strings.Index(board, "</header>"):])
		}
	}
	late, _ := filepath.Glob(filepath.Join(dir, "2*-late"))
	for _, edit := range []struct{ file, path, want string }{{evening.ScaleFile, "score", "standings.json: entries[0].score: "}, {late[0], "", "standings.json: "}} {
		if edit.path != "" {
			set(t, filepath.Join(dir, edit.file), edit.path, []metrics.ScoreStep{{Ratio: 1, Percent: 77}})
		} else if err := os.RemoveAll(edit.file); err != nil {
			t.Fatal(err)
		}
		if err := trial.Folder(dir).WriteManifest(); err != nil {
			t.Fatal(err)
		}
		if lines := found(t, dir); !slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, edit.want) }) {
			t.Errorf("%s edited: %q", edit.file, lines)
		}
	}
	if now, err := os.ReadFile(filepath.Join(dir, metrics.SweepFile)); err != nil || string(now) != string(plan) {
		t.Errorf("the plan of the first evening has changed: %v", err)
	}
}
