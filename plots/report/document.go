package report

import (
	"encoding/json"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"kvlab/kvs/verdict/answer"
	"kvlab/metrics"
	"kvlab/plots/compare"
	"kvlab/plots/folder"
)

// Document is what --json prints in place of a command's text: its answer, for scripts. A field
// that does not apply is absent. The methods do nothing on a nil Document, which a command line
// without --json has.
type Document struct {
	*metrics.Preflight // of --preflight: what was found on the machines

	Verdict *metrics.Verdict `json:"verdict,omitempty"`
	Answer  *answer.Answer   `json:"answer,omitempty"`
	Figures []compare.Figure `json:"figures,omitempty"`
	Lines   []string         `json:"lines,omitempty"`  // the text that the command prints before or without an answer
	List    any              `json:"list,omitempty"`   // of kvsplot list the folders, of verify its results
	Folder  string           `json:"folder,omitempty"` // of the result
	Page    string           `json:"report,omitempty"` // the file that shows it

	Error  string `json:"error,omitempty"` // why the exit status is not 0, unless the verdict says it
	Status int    `json:"exit_status"`
}

// AsksJSON reports whether a command line has the flag --json.
func AsksJSON(args []string) bool {
	return slices.ContainsFunc(args, func(word string) bool {
		return slices.Contains([]string{"--json", "-json", "--json=true", "-json=true"}, word)
	})
}

// Conclude takes over the answer of a folder, whose files have the figures, and the text before
// it.
func (d *Document) Conclude(dir string, a answer.Answer, v metrics.Verdict, text string) {
	if d == nil {
		return
	}
	d.Verdict, d.Folder = &v, dir
	if page := folder.Page(dir); page != "" {
		d.Page = filepath.Join(dir, page)
	}
	if a.Caveats = slices.Concat([]answer.Caveat{}, a.Caveats); a.Verdict != "" {
		d.Answer = &a
	}
	if v.Stands() {
		d.Figures, _ = compare.Measured(dir) // none of a folder without records, as of the self-test
	}
	d.Say(text)
}

// Of takes over the answer of a folder that has ended.
func (d *Document) Of(dir string) {
	if d == nil {
		return
	}
	if s, err := folder.LoadSweep(dir); err == nil {
		a := AnswerOf(s)
		v := metrics.Together(s.Trials)
		if !a.Good {
			v = metrics.Verdict{Reason: a.Headline}
		}
		d.Conclude(dir, a, v, "")
	} else if r, err := folder.LoadResult(dir); err == nil {
		d.Conclude(dir, answer.Of(r.Run), r.Verdict, "")
	}
}

// Say takes over the lines of a text.
func (d *Document) Say(text string) {
	if text = strings.Trim(text, "\n"); d != nil && text != "" {
		d.Lines = append(d.Lines, strings.Split(text, "\n")...)
	}
}

// Compared takes over a comparison of folders.
func (d *Document) Compared(c compare.Comparison) {
	if d != nil {
		headline, basis := c.Headline()
		d.Answer, d.Figures = &answer.Answer{Headline: headline, Basis: basis, Caveats: []answer.Caveat{}}, c.Figures()
		if text := c.Claimed(); text != "" {
			d.Answer.Caveats = append(d.Answer.Caveats, answer.Caveat{Name: "CLAIMED", Text: text, Do: "measure with --target or --client, which verify"})
		}
	}
}

// Items takes over a list: a record for each folder.
func (d *Document) Items(all any) {
	if d != nil {
		d.List = all
	}
}

// Found takes over what a preflight found.
func (d *Document) Found(p metrics.Preflight) {
	if d != nil {
		d.Preflight = &p
	}
}

// Write writes the document as one JSON object, with the error that ended the command and its
// exit status.
func (d *Document) Write(w io.Writer, ended error, status int) error {
	if d == nil {
		return nil
	}
	if d.Status = status; ended != nil && (d.Verdict == nil || d.Verdict.Stands()) {
		d.Error = ended.Error()
	}
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(d)
}
