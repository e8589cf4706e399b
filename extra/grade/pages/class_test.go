package pages

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kvlab/internal/foldertest"
	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/plots"
	"kvlab/plots/folder"
	"kvlab/plots/report"
)

// names are those of a class of 12 and its reference, the last two of them INVALID.
var names = []string{"base", "amber", "birch", "cedar", "dahlia", "elm", "fern", "ginkgo", "hazel", "iris", "juniper", "laurel", "maple"}

const ended = "every pair of entries is told apart, or equal"

// load makes up a class and loads it.
func load(t *testing.T, p foldertest.ClassPlan) *folder.Sweep {
	t.Helper()
	p.ID = "class"
	if p.Names == nil {
		p.Names = names
	}
	s, err := folder.LoadSweep(foldertest.MakeClass(t, t.TempDir(), p))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// filesOf returns the files of a class by name. Its pages are well formed.
func filesOf(t *testing.T, s *folder.Sweep) map[string]string {
	t.Helper()
	files, err := Files(s)
	if err != nil {
		t.Fatal(err)
	}
	return byName(t, files)
}

func byName(t *testing.T, files []report.File) map[string]string {
	t.Helper()
	all := make(map[string]string)
	for _, f := range files {
		if all[f.Name] != "" || !filepath.IsLocal(f.Name) {
			t.Errorf("file %q is there twice, or not below the folder", f.Name)
		}
		all[f.Name] = string(f.Text)
		if strings.HasSuffix(f.Name, ".html") {
			foldertest.CheckXML(t, f.Name, f.Text)
		}
	}
	return all
}

// wants reports each text that a file lacks.
func wants(t *testing.T, name, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%s lacks %q:\n%.3000s", name, w, text)
		}
	}
}

func TestLeaderboard(t *testing.T) {
	s := load(t, foldertest.ClassPlan{Rounds: 10, Ended: ended, Seed: 1})
	files := filesOf(t, s)
	if want := 2 + 2*len(names); len(files) != want {
		t.Errorf("%d files, want %d", len(files), want)
	}
	page := files["leaderboard.html"]
	wants(t, "the leaderboard", page, "KV lab 2 &lt;b&gt;&amp;", "after 10 rounds: "+ended, "In at most 5 % of such evenings",
		"memory=2GB,processes=256", "The wall <b>disk</b> did not hold: no tmpfs can be mounted without root.", "These walls held in every trial: memory, processes, network.",
		"./run-cluster.sh grade &#39;class &lt;1&gt;.toml&#39;", "The seed of the random order was 1.", "0.5x gives 60 %, 1x gives 80 %, 2x gives 100 %", "It does not build: build: kvs/engine/mine.go:12:2: undefined: &lt;atomic&gt;", "misses in the window")
	if strings.Contains(page, "Ranks and scores may still change") || strings.Contains(page, "Not contained") {
		t.Error("the leaderboard of an evening that has ended says that it has not, or that an entry was not contained")
	}
	tied := 0
	for _, group := range boardOf(s).Ranked() {
		for _, r := range group {
			if r.Rank != group[0].Rank {
				t.Errorf("%s has rank %d in the group of %d", r.Entry, r.Rank, group[0].Rank)
			}
		}
		if len(group) > 1 {
			tied++
			wants(t, "the leaderboard", page, fmt.Sprintf(`rowspan="%d">%d<small>%d tied</small>`, len(group), group[0].Rank, len(group)))
		}
	}
	if tied < 2 {
		t.Errorf("%d ranks are shared, want 2 or more", tied)
	}
	at := -1
	for _, r := range s.Standings.Entries { // each entry once, in the order of the standings, and its interval if it has a rank
		next := strings.Index(page, `<bdi title="`+r.Entry+`">`)
		if next <= at || strings.Count(page, `title="`+r.Entry+`"`) != 1 {
			t.Errorf("%s is not once on the leaderboard, behind those before it", r.Entry)
		}
		at = next
		if line := page[max(0, strings.LastIndex(page[:max(0, at)], "<tr>")):max(0, at)]; r.Rank > 0 && !strings.Contains(line, fmt.Sprintf("<td>%d to %d</td>", r.RankLow, r.RankHigh)) && !strings.Contains(line, fmt.Sprintf("<td>%d</td>", r.RankLow)) {
			t.Errorf("the line of %s has no range of ranks: %s", r.Entry, line)
		}
	}
}

// An entry's page has nothing of the others but the reference.
func TestEntryPages(t *testing.T) {
	s := load(t, foldertest.ClassPlan{Rounds: 10, Ended: ended, Seed: 2})
	files := filesOf(t, s)
	for _, name := range names {
		for _, file := range []string{"report.html", "results.json"} {
			text := files["entries/"+name+"/"+file]
			if text == "" {
				t.Fatalf("%s has no %s", name, file)
			}
			for _, other := range names[1:] {
				if other != name && strings.Contains(text, other) {
					t.Errorf("%s of %s has %s", file, name, other)
				}
			}
			if file == "results.json" {
				checkResults(t, name, text)
			}
		}
	}
	wants(t, "a page", files["entries/amber/report.html"], "100 ±0 %</p>", "times the reference&#39;s throughput (95 % interval ", "Rank 1 of 10, with all whose ranges overlap.", "In round 10: limited by server CPU", "The reference: of a call: p50",
		`id="figure-score"`, `id="figure-rounds"`)
	tied := files["entries/birch/report.html"]
	wants(t, "a page", tied, "Entries that are surely faster: 1.", "Entries that the rounds cannot tell from yours: 2. So the true rank is one of 2 to 4.")
	wants(t, "the page of an INVALID entry", files["entries/laurel/report.html"], `bad">INVALID`, "look for eviction", "panic: &lt;script&gt;alert(2)&lt;/script&gt; at key 77\n?[2J??goodbye", "Until then the score is 0 %",
		"./run-cluster.sh grade &#39;class &lt;1&gt;.toml&#39; --check-one laurel\n")
	wants(t, "the page of one that is not built", files["entries/maple/report.html"], "kvs/engine/mine.go:12:2: undefined: &lt;atomic&gt;\nkvs/engine/mine.go:40:9: missing return", "fresh clone")
	wants(t, "the page of the reference", files["entries/base/report.html"], "The reference has no rank")
}

// checkResults holds results.json against Gradescope's specification.
func checkResults(t *testing.T, name, text string) {
	t.Helper()
	var r struct {
		Score            *float64
		Output           *string
		Visibility       string
		StdoutVisibility string `json:"stdout_visibility"`
		Tests            []struct {
			Name, Status, Output string
			Score                *float64
			MaxScore             *float64 `json:"max_score"`
		}
		Leaderboard []struct {
			Name  string
			Value any
			Order string
		}
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, text)
	}
	visible := []string{"hidden", "after_due_date", "after_published", "visible"}
	if r.Score == nil || *r.Score < 0 || *r.Score > 100 || r.Output == nil || !slices.Contains(visible, r.Visibility) || !slices.Contains(visible, r.StdoutVisibility) || len(r.Tests) == 0 {
		t.Errorf("%s: %s", name, text)
	}
	for _, test := range r.Tests {
		if test.Name == "" || test.Status != "passed" && test.Status != "failed" || (test.Score == nil) != (test.MaxScore == nil) {
			t.Errorf("%s: test %+v", name, test)
		}
	}
	for _, c := range r.Leaderboard {
		_, number := c.Value.(float64)
		_, word := c.Value.(string)
		if c.Name == "" || !number && !word || c.Order != "" && c.Order != "asc" {
			t.Errorf("%s: column %+v", name, c)
		}
	}
}

// Before the first look there are no ranks, and before the end no gradebooks.
func TestInterruptedEvening(t *testing.T) {
	for rounds, want := range map[int]string{0: "not measured yet", 3: "3 rounds so far"} {
		s := load(t, foldertest.ClassPlan{Rounds: rounds, Seed: 3, Gradebook: &metrics.Gradebook{Canvas: "/none", Points: 10}})
		files := filesOf(t, s)
		wants(t, "the leaderboard", files["leaderboard.html"], want, "The evening has not ended", "./run-cluster.sh --resume "+s.Dir)
		wants(t, "a page", files["entries/amber/report.html"], "The evening has not ended")
		if strings.Contains(files["leaderboard.html"], " tied<") || files["canvas.csv"] != "" {
			t.Errorf("%d rounds have ranks, or grades for Canvas", rounds)
		}
		if rounds > 0 {
			wants(t, "a page", files["entries/amber/report.html"], "There is no rank before round 6")
		}
	}
}

// An evening whose reference failed makes no grades, and neither do fewer rounds than the first
// look's: none becomes a zero. A score that is known too little is a grade that says so.
func TestNoGrades(t *testing.T) {
	export := "Student,ID,SIS User ID,SIS Login ID,Section,L (1)\ngood,1,,,A,\nvague,2,,,A,\nlossy,3,,,A,\nbroken,4,,,A,\n"
	for name, test := range map[string]struct {
		void                    string
		said                    []string
		canvas, points, results string // points: of good, vague, lossy, broken
	}{
		"precise":   {"", nil, ",A,9", "90 70 0 0", "good vague lossy broken"},
		"imprecise": {"", []string{`the grade of "vague" is 72 ±9 %, and the class wants ±5 %: give the class a larger budget, and --resume`}, ",A,72\nlossy", "90 72 0 0", "good vague lossy broken"},
		"short": {"", []string{`no grade for "good": it has 5 rounds, and a grade needs 6: give the class a larger budget, and --resume`, `no grade for "vague": it has 5 rounds, and a grade needs 6: give the class a larger budget, and --resume`,
			"no gradebook is filled in: 5 rounds, and grades need 6: give the class a larger budget, and --resume"}, "", "  0 0", "lossy broken"},
		"void": {"the reference failed: trial 3: INVALID(died, node0)", []string{"no grades: the reference failed: trial 3: INVALID(died, node0)"}, "", "   ", ""},
	} {
		s := load(t, foldertest.ClassPlan{Names: []string{"base", "good", "vague", "lossy", "broken"}, Rounds: 6, Ended: ended, Seed: 9})
		for i := range s.Class.Entries {
			s.Class.Entries[i].Students = nil
		}
		for i := range s.Standings.Entries {
			switch e := &s.Standings.Entries[i]; {
			case e.Entry == "good":
				e.Score, e.ScoreLow, e.ScoreHigh = 90, 88, 91
			case e.Entry == "vague" && name == "imprecise":
				e.Score, e.ScoreLow, e.ScoreHigh = 72, 63, 80
			case e.Entry == "vague":
				e.Score, e.ScoreLow, e.ScoreHigh = 70, 69, 71
			}
			if name == "short" {
				s.Standings.Rounds, s.Standings.Entries[i].Valid = 5, 5
			}
		}
		s.Standings.Void, s.Standings.Dropped = test.void, []int{2, 4}
		s.Class.Gradebook = &metrics.Gradebook{Canvas: book(t, export), Assignment: "L (1)", Points: 100}
		if good, lossy := len(s.TrialsOf("good")), len(s.TrialsOf("lossy")); good != 4 || lossy != 6 { // which fails from round 2 on
			t.Errorf("%d and %d trials count", good, lossy)
		}
		made, err := Files(s)
		if said := strings.Split(fmt.Sprint(err), "\n"); (err != nil || test.said != nil) && !slices.Equal(said, test.said) {
			t.Errorf("%s: %q, want %q", name, said, test.said)
		}
		files := byName(t, made)
		if !strings.Contains(files["canvas.csv"], test.canvas) || (files["canvas.csv"] == "") != (test.canvas == "") {
			t.Errorf("%s: %s", name, files["canvas.csv"])
		}
		var points, results []string
		rows := cells(t, files["grades.csv"], ',')
		at, half := slices.Index(rows[0], "points"), slices.Index(rows[0], "score_plus_minus")
		for _, entry := range []string{"good", "vague", "lossy", "broken"} {
			row := rows[slices.IndexFunc(rows, func(r []string) bool { return r[0] == entry })]
			if points = append(points, row[at]); entry == "good" && row[half] != "2" {
				t.Errorf("%s: %q", name, row)
			}
			if files["entries/"+entry+"/results.json"] != "" {
				results = append(results, entry)
			}
		}
		if strings.Join(points, " ") != test.points || strings.Join(results, " ") != test.results {
			t.Errorf("%s: points %q, results of %q", name, points, results)
		}
		wants(t, "the leaderboard", files["leaderboard.html"], "<td>90 ±2 %</td>", fmt.Sprintf("after %d rounds", s.Standings.Rounds), " and 2 that other processes disturbed, which count for no entry: ")
		if strings.Contains(files["leaderboard.html"], "<td>0 %</td>") != (name != "void") {
			t.Errorf("%s: the leaderboard has zeros", name)
		}
		wants(t, "a page", files["entries/good/report.html"], "90 ±2 %</p>")
		for page, words := range map[string]string{"leaderboard.html": "<small>wants ±5 %</small>", "entries/vague/report.html": "The class wants ±5 %: this grade is known less well."} {
			if said := strings.Contains(files[page], words); said != (name == "imprecise") {
				t.Errorf("%s: %s says that the grade is known too little: %t", name, page, said)
			}
		}
		if asked := strings.Contains(files["entries/vague/report.html"], "No grade yet: too few rounds."); asked != (name == "short" || name == "void") {
			t.Errorf("%s: the page of vague says that it has no grade: %t", name, asked)
		}
	}
}

// hostile are names as strangers may choose them.
var hostile = []string{"base", `<script>alert(1)</script>`, `"'><img src=x onerror=alert(1)>`, "🦀 crab", "שלום", "\u202egnp.exe", `=cmd|' /C calc'!A0`, "+1+1", "-2", "@SUM(A1)", "../../etc/passwd",
	"..", "a/b", "{{.Command}}", "\x00\xff\n=1", strings.Repeat("very long ", 60), "    Points Possible", "lossy", "</pre><script>alert(3)</script>"}

// What strangers choose never becomes part of a page, a formula, or a path.
func TestHostileNames(t *testing.T) {
	s := load(t, foldertest.ClassPlan{Names: hostile, Rounds: 6, Ended: ended, Seed: 4})
	files := filesOf(t, s)
	if want := 2 + 2*len(hostile); len(files) != want {
		t.Errorf("%d files, want %d: %q", len(files), want, hostile)
	}
	for name, text := range files {
		if strings.Count(name, "/") != 2*min(1, strings.Count(name, "/")) || strings.HasPrefix(name, "entries/.") {
			t.Errorf("file %q", name)
		}
		for _, bad := range []string{"<script", "<img", "\x00", "\u202e", "[kvscluster"} {
			if strings.HasSuffix(name, ".html") && strings.Contains(text, bad) {
				t.Errorf("%s has %q", name, bad)
			}
		}
		if strings.HasSuffix(name, "results.json") {
			checkResults(t, name, text)
		}
	}
	rows, err := csv.NewReader(strings.NewReader(files["grades.csv"])).ReadAll()
	if err != nil || len(rows) != len(hostile) { // a header, and none of the reference
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for _, row := range rows[1:] {
		for _, cell := range row {
			if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
				t.Errorf("a spreadsheet runs %q", cell)
			}
		}
		if !slices.ContainsFunc(hostile, func(name string) bool {
			return strings.TrimPrefix(row[0], "'") == strings.TrimPrefix(format.Label(name, 300), "'")
		}) {
			t.Errorf("an entry is named %q", row[0])
		}
	}
}

// A file that cannot be read is an error that names it.
func TestStandingsThatCannotBeRead(t *testing.T) {
	dir := foldertest.MakeClass(t, t.TempDir(), foldertest.ClassPlan{ID: "class", Names: names, Rounds: 1, Seed: 5})
	file := filepath.Join(dir, metrics.StandingsFile)
	if err := os.WriteFile(file, []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := folder.LoadSweep(dir); err == nil || !strings.Contains(err.Error(), file) || errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// A class has pages and tables instead of figures. What a gradebook lacks is an error, and
// everything else is written.
func TestRow(t *testing.T) {
	export := filepath.Join(t.TempDir(), "export.csv")
	if err := os.WriteFile(export, []byte("Student,ID,SIS User ID,SIS Login ID,Section,L (1)\nann,1,,,A,\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	dir := foldertest.MakeClass(t, t.TempDir(), foldertest.ClassPlan{ID: "class", Names: []string{"base", "ann", "lossy", "broken"}, Rounds: 6, Ended: "enough", Seed: 31,
		Gradebook: &metrics.Gradebook{Canvas: export, Assignment: "L (1)", Points: 100}})
	files, err := plots.Pages{Row}.Draw(dir)
	if err == nil || !strings.Contains(err.Error(), `canvas.csv: entry "broken": 0 lines are of "broken"`) {
		t.Error(err)
	}
	want := []string{"leaderboard.html", "grades.csv", "canvas.csv"}
	for _, name := range []string{"base", "ann", "lossy", "broken"} {
		want = append(want, "entries/"+name+"/report.html", "entries/"+name+"/results.json")
	}
	if len(files) != len(want) {
		t.Errorf("it wrote %v, want %v", files, want)
	}
	for _, name := range want {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}
