package pages

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"html"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"kvlab/internal/cli"
	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/plots/report"
)

// CheckGradebook returns an error if the gradebook of a class cannot be filled in: the
// file, and what it lacks. A class without a gradebook has none.
func CheckGradebook(g *metrics.Gradebook) error {
	if g == nil {
		return nil
	}
	_, err := fillAll(*g, nil)
	return err
}

// gradebooks returns canvas.csv and moodle.csv, if the class asks for them and its evening has
// ended well: grades that may still change, and those of a reference that failed, are none to
// import.
func (b *board) gradebooks() ([]report.File, error) {
	if b.Class.Gradebook == nil || b.Standings.Ended == "" || b.Standings.Void != "" {
		return nil, nil
	}
	if fewest := b.Class.Looks[0]; b.Standings.Rounds < fewest {
		return nil, fmt.Errorf("no gradebook is filled in: %s, and grades need %d: give the class a larger budget, and --resume", format.Plural(b.Standings.Rounds, "round"), fewest)
	}
	return fillAll(*b.Class.Gradebook, b.Rows)
}

// fillAll fills in each gradebook.
func fillAll(g metrics.Gradebook, rows []row) (files []report.File, err error) {
	for _, book := range []struct {
		name, from string
		fill       func(*sheet, metrics.Gradebook, []row) error
	}{{"canvas.csv", g.Canvas, fillCanvas}, {"moodle.csv", g.Moodle, fillMoodle}} {
		if book.from == "" {
			continue
		}
		s, failed := readSheet(book.from)
		if failed == nil {
			failed = book.fill(s, g, rows)
		}
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", book.from, failed))
			continue
		}
		files = append(files, report.File{Name: book.name, Text: s.text()})
		for _, note := range s.notes {
			err = errors.Join(err, fmt.Errorf("%s: %s", book.name, note))
		}
	}
	return files, err
}

// sheet is the table of a gradebook. Its cells are the gradebook's own, which get them
// back as they are; only a number, and words that begin with one of ours, are filled in. So
// no cell that an entry's author chose can become a formula.
type sheet struct {
	cells [][]string // the first row has the names of the columns
	comma rune
	mark  string // the byte order mark, or ""
	crlf  bool
	notes []string
}

const byteOrderMark = "\ufeff"

// readSheet reads a file with commas, semicolons or tabs between its cells.
func readSheet(file string) (*sheet, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, errors.Unwrap(err) // the caller names the file
	}
	s := &sheet{crlf: bytes.Contains(content, []byte("\r\n"))}
	if rest, ok := bytes.CutPrefix(content, []byte(byteOrderMark)); ok {
		s.mark, content = byteOrderMark, rest
	}
	for _, comma := range ",;\t" {
		r := csv.NewReader(bytes.NewReader(content))
		r.Comma, r.FieldsPerRecord = comma, -1
		cells, failed := r.ReadAll()
		if failed == nil && len(cells) > 0 && (s.cells == nil || len(cells[0]) > len(s.cells[0])) {
			s.cells, s.comma = cells, comma
		} else if failed != nil {
			err = failed
		}
	}
	if s.cells == nil {
		return nil, fmt.Errorf("want a table with commas or semicolons between its cells: %w", cmp.Or(err, errors.New("it is empty")))
	}
	return s, nil
}

// text returns the file.
func (s *sheet) text() []byte {
	out := bytes.NewBufferString(s.mark)
	w := csv.NewWriter(out)
	w.Comma, w.UseCRLF = s.comma, s.crlf
	_ = w.WriteAll(s.cells) // a bytes.Buffer has no errors
	return out.Bytes()
}

// column returns the place of a column; -1 without one.
func (s *sheet) column(name string) int { return slices.Index(s.cells[0], name) }

// cell returns a cell of a row, which may be short.
func cell(row []string, column int) string {
	if column < 0 || column >= len(row) {
		return ""
	}
	return strings.TrimSpace(row[column])
}

// set sets a cell.
func (s *sheet) set(line, column int, text string) {
	for len(s.cells[line]) <= column {
		s.cells[line] = append(s.cells[line], "")
	}
	s.cells[line][column] = text
}

// fill calls write for the lines of each entry's students. They are looked for in the
// columns one after the other. A line that several entries claim stays as it is.
func (s *sheet) fill(rows []row, columns []string, write func(line int, r row)) {
	claims := make(map[int][]row)
	for _, r := range rows {
		keys := r.Of.Students
		if len(keys) == 0 && !r.Reference {
			keys = []string{r.Entry}
		}
		for _, key := range keys {
			lines := s.find(columns, strings.TrimSpace(key))
			if len(lines) != 1 {
				s.notes = append(s.notes, fmt.Sprintf("entry %q: %d lines are of %q", format.Label(r.Entry, 60), len(lines), format.Label(key, 60)))
			} else if line := lines[0]; !slices.ContainsFunc(claims[line], func(other row) bool { return other.Entry == r.Entry }) {
				claims[line] = append(claims[line], r)
			}
		}
	}
	for line, claimed := range s.cells {
		switch entries := claims[line]; {
		case len(entries) > 1:
			s.notes = append(s.notes, fmt.Sprintf("the line of %q stays as it is: entries %q and %q claim it", format.Label(claimed[0], 60), format.Label(entries[0].Entry, 60), format.Label(entries[1].Entry, 60)))
		case len(entries) == 1 && entries[0].Graded:
			write(line, entries[0])
		}
	}
}

// find returns the lines that have the key in the first of the columns where any has it.
func (s *sheet) find(columns []string, key string) (lines []int) {
	for _, name := range columns {
		at := s.column(name)
		for line := 1; line < len(s.cells); line++ {
			found := cell(s.cells[line], at)
			if found != "" && strings.EqualFold(found, key) && !strings.Contains(s.cells[line][0], pointsPossible) {
				lines = append(lines, line)
			}
		}
		if len(lines) > 0 {
			return lines
		}
	}
	return nil
}

// title matches the title of an assignment's column in Canvas.
var title = regexp.MustCompile(`\(\d+\)$`)

// pointsPossible is in the name of the row that has the assignments' points in Canvas.
const pointsPossible = "Points Possible"

// fillCanvas fills in the column of the assignment. Canvas makes a new assignment of a
// title that it does not know, so the column must be there.
func fillCanvas(s *sheet, g metrics.Gradebook, rows []row) error {
	head := s.cells[0]
	if !strings.Contains(head[0], "Student") && head[0] != "LastName" || s.column("ID") < 0 || s.column("Section") < 0 {
		return fmt.Errorf("the first row is %.80q: want a gradebook that Canvas exported, with columns Student, ID and Section", strings.Join(head, ","))
	}
	at := s.column(g.Assignment)
	if at < 0 {
		titles := slices.DeleteFunc(slices.Clone(head), func(name string) bool { return !title.MatchString(name) })
		return fmt.Errorf("there is no assignment %q%s; there are %q: make the assignment in Canvas, then export again", g.Assignment, cli.DidYouMean(g.Assignment, "", titles), titles)
	}
	for _, cells := range s.cells[1:] {
		if !strings.Contains(cells[0], pointsPossible) {
			continue
		}
		if err := samePoints(cell(cells, at), g.Points, "the row "+pointsPossible); err != nil {
			return err
		}
	}
	s.fill(rows, []string{"ID", "SIS User ID", "SIS Login ID", "Student"}, func(line int, r row) {
		if !strings.EqualFold(cell(s.cells[line], at), "EX") { // excused
			s.set(line, at, format.Shortest(r.Grade))
		}
	})
	return nil
}

// samePoints compares the points of an assignment, which may be absent, with those of the
// class.
func samePoints(text string, points float64, where string) error {
	there, err := strconv.ParseFloat(strings.Replace(text, ",", ".", 1), 64)
	switch {
	case text == "" || points == 0:
		return nil
	case err != nil:
		return fmt.Errorf("%s has %q for the assignment: want its points, which can be written", where, text)
	case there != points:
		return fmt.Errorf("%s has %s points for the assignment, the class file %s: want the same", where, format.Shortest(there), format.Shortest(points))
	}
	return nil
}

// The columns of a worksheet of Moodle.
const (
	moodleGrade    = "Grade"
	moodleMaximum  = "Maximum grade"
	moodleComments = "Feedback comments"
)

// fillMoodle fills in the grades and, if their column is there, the comments, which are
// HTML.
func fillMoodle(s *sheet, g metrics.Gradebook, rows []row) error {
	at, comments, maximum := s.column(moodleGrade), s.column(moodleComments), s.column(moodleMaximum)
	if s.column("Identifier") < 0 || at < 0 {
		return fmt.Errorf("its columns are %q: want Identifier and Grade, of a grading worksheet that was downloaded from Moodle in English", s.cells[0])
	}
	for _, cells := range s.cells[1:] {
		if err := samePoints(cell(cells, maximum), g.Points, "the column "+moodleMaximum); err != nil {
			return err
		}
	}
	s.fill(rows, []string{"Identifier", "ID number", "Email address", "Username", "Full name"}, func(line int, r row) {
		s.set(line, at, format.Shortest(r.Grade))
		if comments >= 0 {
			s.set(line, comments, strings.Join(format.NonEmpty(cell(s.cells[line], comments), comment(r)), "<br/>"))
		}
	})
	return nil
}

// comment returns a grade in a sentence.
func comment(r row) string {
	if !r.Verdict.Valid {
		return html.EscapeString(format.Label("INVALID: "+r.Reason, 400))
	}
	return fmt.Sprintf("%s times the throughput of the reference: a score of %s.", format.Count(r.Ratio), r.Worth())
}
