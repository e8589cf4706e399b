package metrics

import (
	"fmt"
	"slices"
	"strings"

	"kvlab/metrics/format"
)

// Attempt is a trial that was made again and does not count. What it measured is never the
// reason.
type Attempt struct {
	Folder  string  `json:"folder"`
	Verdict Verdict `json:"verdict"`
	Outside bool    `json:"outside,omitempty"` // see Trial; otherwise a later trial needed a longer window, or a smaller batch
}

// mostRepeats is how often a trial that broke for an outside reason is made again; once more
// with each --resume.
const mostRepeats = 2

// attempts returns how many earlier attempts broke for an outside reason, and how many had
// too short a window, or too large a batch.
func (t Trial) attempts() (outside, short int) {
	for _, a := range t.Earlier {
		if a.Outside {
			outside++
		} else {
			short++
		}
	}
	return outside, short
}

// Broken reports whether the trial broke for an outside reason and is to be made again.
func (t Trial) Broken() bool {
	outside, _ := t.attempts()
	return t.Outside && (t.Resumed || outside < mostRepeats)
}

// Insert returns the trials with t, which replaces the one with its number and has that as
// an earlier attempt.
func Insert(trials []Trial, t Trial) []Trial {
	i := slices.IndexFunc(trials, func(other Trial) bool { return other.Number == t.Number })
	if i < 0 {
		return append(trials, t)
	}
	old := trials[i]
	t.Earlier = append(slices.Clone(old.Earlier), Attempt{old.Folder, old.Verdict, old.Outside})
	trials = slices.Clone(trials)
	trials[i] = t
	return trials
}

// MadeAgain lists the trials that were made again, with the reasons; "" for none.
func MadeAgain(trials []Trial) string {
	var broken, short []string
	for _, t := range trials {
		outside, windows := t.attempts()
		if outside > 0 {
			last := slices.IndexFunc(t.Earlier, func(a Attempt) bool { return a.Outside })
			broken = append(broken, fmt.Sprintf("trial %d %s, as it broke: %s", t.Number, format.Plural(outside, "time"), t.Earlier[last].Verdict.Reason))
		}
		if windows > 0 {
			short = append(short, fmt.Sprint(t.Number))
		}
	}
	if len(short) > 0 {
		broken = append(broken, "for the longer window or smaller batch of a later trial: "+strings.Join(short, ", "))
	}
	if len(broken) == 0 {
		return ""
	}
	return "made again: " + strings.Join(broken, "; ")
}
