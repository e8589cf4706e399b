package pages

import (
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"kvlab/extra/grade/evening"
	"kvlab/kvs/verdict/answer"
	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/plots/chart"
	"kvlab/plots/figure"
)

// entry is the page of one entry. Of the others it has the reference alone.
type entry struct {
	Board  *board
	Row    row
	Answer answer.Answer  // of its valid trials
	Beside answer.Answer  // of the reference's
	Failed *metrics.Trial // the first that is not valid; nil for none
}

// entry returns the page of a row.
func (b *board) entry(r row) entry {
	e := entry{Board: b, Row: r, Answer: b.answer(r.Entry), Beside: b.answer(b.Class.Reference)}
	trials := b.TrialsOf(r.Entry)
	if i := slices.IndexFunc(trials, func(t metrics.Trial) bool { return !t.Verdict.Valid }); i >= 0 {
		e.Failed = &trials[i]
	}
	return e
}

// Standing returns the place of the entry, in sentences.
func (e entry) Standing() string {
	r, k := e.Row, e.Board.Among()
	switch {
	case r.Reference:
		return "The reference has no rank: the others are compared with it."
	case !r.Verdict.Valid:
		return "An entry that is INVALID has no rank."
	case k == 1:
		return "It was measured beside the reference alone, so it has no rank."
	case !e.Board.Decided():
		return fmt.Sprintf("There is no rank before round %d.", e.Board.Class.Looks[0])
	}
	text := fmt.Sprintf("Rank %d of %d, with all whose ranges overlap. Entries that are surely faster: %d. Entries that are surely slower: %d.", r.Rank, k, len(r.Faster), len(r.Slower))
	if r.RankLow < r.RankHigh {
		text += fmt.Sprintf(" Entries that the rounds cannot tell from yours: %d. So the true rank is one of %d to %d.", k-1-len(r.Faster)-len(r.Slower), r.RankLow, r.RankHigh)
	}
	return text
}

// Ratio returns how the throughput compares with that of the reference; "" if it was not
// measured.
func (e entry) Ratio() string {
	r := e.Row
	switch {
	case !r.Measured() || r.Reference:
		return ""
	case r.RatioHigh == 0:
		return fmt.Sprintf("%s times the reference's throughput, too few rounds for an interval", format.Count(r.Ratio))
	}
	return fmt.Sprintf("%s times the reference's throughput (95 %% interval %s to %s)", format.Count(r.Ratio), format.Count(r.RatioLow), format.Count(r.RatioHigh))
}

// Advice returns what to do about an entry that is INVALID.
func (e entry) Advice() string {
	if e.Row.Of.Broken != "" {
		return "Your entry could not be built or started. Build it in a fresh clone of what you handed in: a file that was not handed in is missing here too. Nothing is downloaded here, so use only what is in kvlab's go.mod."
	}
	return evening.Advice(e.Row.Verdict)
}

// Try returns the command by which the entry's author measures it as the class does.
func (e entry) Try() string {
	file, from := "class.toml", e.Row.Of.From
	if i := slices.Index(e.Board.Command, "grade"); i >= 0 && i+1 < len(e.Board.Command) {
		file = filepath.Base(e.Board.Command[i+1])
	}
	if filepath.Ext(from) == ".toml" {
		from = filepath.Dir(from)
	}
	return format.CommandLine([]string{"./run-cluster.sh", "grade", file, "--check-one", filepath.Base(from)})
}

// Lines returns what the compiler said. The launcher keeps them in one line, with bars between
// them.
func (e entry) Lines() string { return strings.ReplaceAll(e.Row.Of.Broken, " | ", "\n") }

// Limits returns what limited the entry in the last trial that says so.
func (e entry) Limits() (sentences []string) {
	for _, t := range slices.Backward(e.Board.valid(e.Row.Entry)) {
		if b := t.Run.Bottleneck; b != nil && b.Kind != metrics.LimitOther { // which is the instructor's
			return append(sentences, fmt.Sprintf("in round %d: %s", t.Round, b.Sentence))
		}
	}
	return sentences
}

// Caveats are those that a student can do something about.
func (e entry) Caveats() []answer.Caveat {
	return slices.DeleteFunc(e.Answer.Caveats, ofMachine)
}

// ScoreFigure returns the score with the entry's place.
func (e entry) ScoreFigure() figure.Figure {
	return chart.ScoreFigure(e.Board.Class.Score, e.Row.Standing)
}

// RoundsFigure returns the throughput in each round beside the reference's.
func (e entry) RoundsFigure() figure.Figure { return chart.RoundsFigure(e.Board.Sweep, e.Row.Entry) }

// Log returns LogOf of the first trial that is not valid.
func (e entry) Log() string {
	if e.Failed == nil {
		return ""
	}
	return LogOf(e.Board.Dir, *e.Failed)
}

// LogOf returns the end of what a server's store has printed in a trial of a class's folder, or of
// the server's log; "" if there is none.
func LogOf(class string, failed metrics.Trial) string {
	dir := filepath.Join(class, failed.Folder)
	var logs []string
	for _, program := range []string{"store", "kvsserver"} {
		all, _ := fs.Glob(os.DirFS(dir), program+"-*.log") // the pattern is right
		if i := slices.Index(all, program+"-"+failed.Verdict.Node+".log"); i > 0 {
			all = all[i:]
		}
		logs = append(logs, all...)
	}
	if len(logs) == 0 {
		return ""
	}
	f, err := os.Open(filepath.Join(dir, logs[0]))
	if err != nil {
		return ""
	}
	defer f.Close()
	const most = 4096
	if size, err := f.Seek(0, io.SeekEnd); err == nil {
		_, _ = f.Seek(max(0, size-most), io.SeekStart)
	}
	text, _ := io.ReadAll(io.LimitReader(f, most)) // what can be read is shown
	var lines []string
	for line := range strings.Lines(string(text)) { // a submitted program's bytes may move a terminal's cursor
		lines = append(lines, format.Label(strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "\t", "    "), most))
	}
	return strings.Join(lines, "\n")
}

// unsafe matches text that the name of a folder does not have.
var unsafe = regexp.MustCompile(`[^A-Za-z0-9._+-]+|^[.-]+`)

// folderOf returns the name of an entry's folder: the entry's, unless it is not safe as one.
func folderOf(name string) string {
	short := unsafe.ReplaceAllString(name, "_")
	if short = short[:min(len(short), 60)]; short == name {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return fmt.Sprintf("%s~%x", short, sum[:4])
}
