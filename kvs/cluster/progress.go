package cluster

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"kvlab/kvs/cluster/trial"
	"kvlab/metrics/format"
)

// plainEvery is the time between two progress lines without a terminal.
const plainEvery = 10 * time.Second

// progress shows how far a command is, in one line for all of its trials: on a terminal in
// place of the line before, elsewhere as a plain line now and then. It is also the writer
// of everything else that goes to standard error. Its methods are safe for concurrent use,
// and ignore write errors.
type progress struct {
	w     io.Writer
	width int // of the terminal; 0: none

	mu     sync.Mutex
	began  time.Time
	number int           // of the current trial, from 1
	of     int           // trials in all; 0: not known
	label  string        // what the current trial is for; may be empty
	each   time.Duration // the expected length of a trial
	trial  time.Time     // when the current trial began
	made   int           // trials that have ended since began
	share  float64       // that was shown last: it never falls
	shown  time.Time     // when a plain line was written last
	drawn  bool          // the terminal's last line is the progress
}

func newProgress(w io.Writer) *progress {
	now := time.Now()
	return &progress{w: w, width: format.Width(w), began: now, shown: now}
}

// Write removes the progress and writes a text.
func (p *progress) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.remove()
	return p.w.Write(text)
}

func (p *progress) remove() {
	if p.drawn {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.drawn = false
	}
}

// begin says that trial number of some begins, what for, and how long one takes until the
// first has ended.
func (p *progress) begin(number, of int, label string, each time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.made > 0 {
		each = now.Sub(p.began) / time.Duration(p.made)
	} else {
		p.began = now
	}
	p.number, p.of, p.label, p.each, p.trial = number, of, label, each, now
}

// end says that a number of trials have ended, and removes the progress from the terminal.
func (p *progress) end(trials int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.remove()
	p.made += trials
}

// show shows the state of the current trial.
func (p *progress) show(s trial.Status) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	text := p.text(s, now)
	switch {
	case p.width > 0:
		fmt.Fprint(p.w, "\r\x1b[K"+cut(text, p.width-1))
		p.drawn = true
	case now.Sub(p.shown) >= plainEvery:
		p.shown = now
		fmt.Fprintln(p.w, cut(text, format.Columns))
	}
}

// text returns the line: " 42 %  1m10s to go  7.04M ops/s  p99 12.3 ms  trial 3/12, window 12/30 s".
// A trial's label, such as "round 2, team-7", stands in place of its numbers.
func (p *progress) text(s trial.Status, now time.Time) string {
	left := max(p.each-now.Sub(p.trial), s.Left, time.Second)
	left += p.each * time.Duration(max(p.of-p.number, 0))
	elapsed := now.Sub(p.began)
	p.share = max(p.share, float64(elapsed)/float64(elapsed+left))
	parts := []string{fmt.Sprintf("%3.0f %%", 100*p.share), left.Round(time.Second).String() + " to go"}
	trials := ""
	switch {
	case p.of > 1:
		trials = fmt.Sprintf("trial %d/%d", p.number, p.of)
	case p.of == 0: // the result decides how many follow
		parts, trials = nil, fmt.Sprintf("trial %d", p.number)
	}
	if p.label != "" {
		parts, trials = append(parts, p.label), ""
	}
	if s.OpsPerS > 0 {
		parts = append(parts, format.Count(s.OpsPerS)+" ops/s")
	}
	if s.P99 != nil {
		parts = append(parts, "p99 "+format.Milliseconds(*s.P99)+" ms")
	}
	return strings.Join(append(parts, strings.Join(format.NonEmpty(trials, s.Phase), ", ")), "  ")
}

// cut returns at most width characters of a text.
func cut(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:max(width, 0)])
}
