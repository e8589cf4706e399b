package metrics

import (
	"fmt"
	"slices"
)

// RerunFile holds the Rerun of a folder whose command was that of another folder.
const RerunFile = "rerun.json"

// Rerun says whether a result that was measured again is as it was.
type Rerun struct {
	Of      string      `json:"of"`               // the id of the first run
	Command []string    `json:"command"`          // its argv
	Left    []string    `json:"left_out"`         // of Command: what names its machines and folders
	Given   []string    `json:"given"`            // in place of it
	Margin  float64     `json:"margin_share"`     // within which a figure agrees: 0.1 is from 1/1.1 to 1.1
	Note    string      `json:"note,omitempty"`   // why nothing is compared
	Figures []Agreement `json:"figures"`          // none with a Note
	Differ  []string    `json:"differ,omitempty"` // unless all agree: facts that are not the same, the most telling first
}

// Agreement compares a figure with the same figure of the first run.
type Agreement struct {
	Figure  string         `json:"figure"`
	Before  string         `json:"before"` // the first run's, with its interval
	Now     string         `json:"now"`
	Outcome AgreementClass `json:"outcome"`
	Reason  string         `json:"reason"`
	Ratio   float64        `json:"ratio,omitempty"` // now over before
	Low     float64        `json:"low,omitempty"`   // 95 % interval; 0 unknown, as High
	High    float64        `json:"high,omitempty"`
	Low90   float64        `json:"low_90,omitempty"` // 90 % interval, of two one-sided tests
	High90  float64        `json:"high_90,omitempty"`
	Needed  int            `json:"needed,omitempty"` // trials of each that would decide; 0 if unknown, or more than 1000
}

// AgreementClass is the outcome of a comparison with the first run.
type AgreementClass string

// The outcomes of a comparison with the first run.
const (
	Agrees    AgreementClass = "agrees"
	Differs   AgreementClass = "differs"
	Undecided AgreementClass = "cannot tell"
)

// Outcome is that of all figures: one that differs decides, then one that cannot be told.
func (r Rerun) Outcome() AgreementClass {
	for _, outcome := range []AgreementClass{Differs, Undecided} {
		if slices.ContainsFunc(r.Figures, func(a Agreement) bool { return a.Outcome == outcome }) {
			return outcome
		}
	}
	if len(r.Figures) == 0 {
		return Undecided
	}
	return Agrees
}

// Counts counts the figures by outcome: "3 agrees, 1 differs, 0 cannot tell".
func (r Rerun) Counts() string {
	n := make(map[AgreementClass]int)
	for _, a := range r.Figures {
		n[a.Outcome]++
	}
	return fmt.Sprintf("%d %s, %d %s, %d %s", n[Agrees], Agrees, n[Differs], Differs, n[Undecided], Undecided)
}
