package pages

import (
	"bytes"
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kvlab/internal/foldertest"
	"kvlab/metrics"
)

// book writes a gradebook's file.
func book(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "export.csv")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// cells returns the cells of a CSV file.
func cells(t *testing.T, text string, comma rune) [][]string {
	t.Helper()
	r := csv.NewReader(strings.NewReader(strings.TrimPrefix(text, byteOrderMark)))
	r.Comma, r.FieldsPerRecord = comma, -1
	all, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// canvas is an export as Canvas makes one: students s2 and s10 by SIS User ID, s4 by login,
// fern and elm by name, and one whom no entry is of.
const canvas = `Student,ID,SIS User ID,SIS Login ID,Section,Lab 1 (77),KV lab 2 (1234),Current Score
,,,,,,Manual Posting,
    Points Possible,,,,,10,50,(read only)
"Doe, ""Jo""",101,s2,jo@example.edu,"A, B",9,,90.00
=1+1,102,,s4@example.edu,A,8,12,80.00
"Elm",103,x9,s9x,A,EX,EX,
fern,104,,,A,,,
Nobody,105,s99,nobody,A,1,2,3.00
ginkgo,106,,,A,,,
ginkgo,107,,,A,,,
`

func TestCanvas(t *testing.T) {
	for _, form := range []struct {
		mark  string
		comma rune
		crlf  bool
	}{{"", ',', false}, {byteOrderMark, ';', true}} {
		s := load(t, foldertest.ClassPlan{Rounds: 6, Ended: ended, Seed: 6})
		before := cells(t, canvas, ',')
		var export bytes.Buffer
		export.WriteString(form.mark)
		w := csv.NewWriter(&export)
		w.Comma, w.UseCRLF = form.comma, form.crlf
		_ = w.WriteAll(before)
		s.Class.Gradebook = &metrics.Gradebook{Canvas: book(t, export.String()), Assignment: "KV lab 2 (1234)", Points: 50}
		files, err := Files(s)
		if err == nil || !strings.Contains(err.Error(), `canvas.csv: entry "ginkgo": 2 lines are of "ginkgo"`) || !strings.Contains(err.Error(), `entry "fern": 0 lines are of "s6"`) {
			t.Errorf("the entries that the gradebook lacks: %v", err)
		}
		text := byName(t, files)["canvas.csv"]
		if !strings.HasPrefix(text, form.mark) || strings.Contains(text, "\r\n") != form.crlf {
			t.Errorf("canvas.csv begins with %.10q", text)
		}
		after := cells(t, text, form.comma)
		const at = 6
		want := map[string]string{"birch": "", "dahlia": "", "elm": "EX"}
		for _, r := range s.Standings.Entries {
			if _, ok := want[r.Entry]; ok && r.Entry != "elm" {
				want[r.Entry] = shortest(r.Score / 2)
			}
		}
		for i := range before {
			wanted := slices.Clone(before[i])
			switch before[i][1] {
			case "101":
				wanted[at] = want["birch"]
			case "102":
				wanted[at] = want["dahlia"]
			}
			if !slices.Equal(after[i], wanted) {
				t.Errorf("row %d is %q, want %q", i, after[i], wanted)
			}
		}
	}
}

func shortest(v float64) string { return measured(twoDecimals(v)) }

const worksheet = `Identifier,"Full name","ID number","Email address",Status,Grade,"Maximum grade","Last modified (grade)","Feedback comments"
"Participant 11","Jo Doe",s2,jo@example.edu,Submitted,-,50.00,-,
"Participant 12",Ann,,S4@EXAMPLE.EDU,Submitted,12.00,50.00,-,"Well done"
"Participant 13",Laurel,laurel,,Submitted,,50.00,-,
"Participant 14",Nobody,s99,,Submitted,7.00,50.00,-,keep
`

func TestMoodle(t *testing.T) {
	s := load(t, foldertest.ClassPlan{Rounds: 6, Ended: ended, Seed: 7})
	s.Class.Gradebook = &metrics.Gradebook{Moodle: book(t, worksheet), Points: 50}
	files, err := Files(s)
	if err == nil || !strings.Contains(err.Error(), `moodle.csv: entry "maple": 0 lines are of "`) || strings.Contains(err.Error(), "base") {
		t.Errorf("the entries that the worksheet lacks: %v", err)
	}
	before, after := cells(t, worksheet, ','), cells(t, byName(t, files)["moodle.csv"], ',')
	score := map[string]float64{}
	for _, r := range s.Standings.Entries {
		score[r.Entry] = r.Score
	}
	for i, want := range []struct{ grade, comment string }{
		{before[0][5], before[0][8]},
		{shortest(score["birch"] / 2), "times the throughput of the reference"},
		{shortest(score["dahlia"] / 2), "Well done<br/>"},
		{"0", "INVALID: trial"},
		{before[4][5], "keep"},
	} {
		if after[i][5] != want.grade || !strings.HasPrefix(after[i][8], want.comment) && !strings.Contains(after[i][8], want.comment) {
			t.Errorf("row %d has grade %q and comment %q, want %q and %q", i, after[i][5], after[i][8], want.grade, want.comment)
		}
		if !slices.Equal(slices.Delete(slices.Clone(after[i]), 5, 6)[:7], slices.Delete(slices.Clone(before[i]), 5, 6)[:7]) {
			t.Errorf("row %d is %q, was %q", i, after[i], before[i])
		}
	}
}

// A row that two entries claim, and that of the points, stay as they are.
func TestGradebookClaims(t *testing.T) {
	s := load(t, foldertest.ClassPlan{Names: []string{"base", "    Points Possible", "b", "lossy", "broken"}, Rounds: 6, Ended: ended, Seed: 8})
	s.Class.Entries[1].Students, s.Class.Entries[2].Students = nil, []string{"s2", "lossy"}
	text := "Student,ID,SIS User ID,SIS Login ID,Section,L (1)\n    Points Possible,,,,,100\nJo,1,s2,,A,\nlossy,2,lossy,,A,3\n"
	s.Class.Gradebook = &metrics.Gradebook{Canvas: book(t, text), Assignment: "L (1)", Points: 100}
	files, err := Files(s)
	if err == nil || !strings.Contains(err.Error(), `the line of "lossy" stays as it is: entries "b" and "lossy" claim it`) {
		t.Error(err)
	}
	after := cells(t, byName(t, files)["canvas.csv"], ',')
	if after[1][5] != "100" || after[2][5] == "" || after[3][5] != "3" {
		t.Errorf("%q", after)
	}
}

func TestGradebookErrors(t *testing.T) {
	head := "Student,ID,SIS User ID,SIS Login ID,Section,Lab 1 (7),KV lab 2 (1234)\n"
	for _, test := range []struct {
		canvas, moodle, assignment string
		want                       string
	}{
		{head, "", "KV lab 3 (1234)", `there is no assignment "KV lab 3 (1234)"; did you mean KV lab 2 (1234)?; there are ["Lab 1 (7)" "KV lab 2 (1234)"]`},
		{"a,b,c\n", "", "x", `the first row is "a,b,c": want a gradebook that Canvas exported`},
		{head + "  Points Possible,,,,,10,20\n", "", "KV lab 2 (1234)", "the row Points Possible has 20 points for the assignment, the class file 100: want the same"},
		{head + "  Points Possible,,,,,10,(read only)\n", "", "KV lab 2 (1234)", `has "(read only)" for the assignment`},
		{"", "", "x", "want a table with commas or semicolons"},
		{"a,\"b\n", "", "x", "want a table with commas or semicolons"},
		{"", "ID,Name,Bewertung\n", "", "want Identifier and Grade, of a grading worksheet"},
		{"", "Identifier,Grade,Maximum grade\nParticipant 1,,20.00\n", "", "the column Maximum grade has 20 points"},
	} {
		g := metrics.Gradebook{Assignment: test.assignment, Points: 100}
		if test.moodle != "" {
			g.Moodle = book(t, test.moodle)
		} else {
			g.Canvas = book(t, test.canvas)
		}
		if err := CheckGradebook(&g); err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "export.csv: ") {
			t.Errorf("%q: %v, want %q", test.canvas+test.moodle, err, test.want)
		}
	}
	if err := CheckGradebook(&metrics.Gradebook{Canvas: "/none/x.csv"}); err == nil || err.Error() != "/none/x.csv: no such file or directory" {
		t.Error(err)
	}
	if err := CheckGradebook(nil); err != nil {
		t.Error(err)
	}
}
