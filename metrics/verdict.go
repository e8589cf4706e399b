package metrics

import (
	"slices"
	"strings"
)

// Verdict says whether a run's result is valid.
type Verdict struct {
	Valid   bool   `json:"valid"`
	Claimed bool   `json:"claimed,omitempty"` // of a team's own system: nothing refutes what it claims, and nobody has verified it
	Check   string `json:"check,omitempty"`   // which check failed, by its ID in run.Checks; "" when none did
	Reason  string `json:"reason,omitempty"`  // why not
	Node    string `json:"node,omitempty"`    // which node is the reason; "" when it is not one node
}

// CheckOutcome is what came of a check.
type CheckOutcome string

// The outcomes of a check.
const (
	CheckPassed       CheckOutcome = "passed"
	CheckFailed       CheckOutcome = "failed"       // the run is INVALID
	CheckDoubted      CheckOutcome = "doubted"      // the result stands, with a caveat
	CheckInapplicable CheckOutcome = "inapplicable" // a flag or a capability says so
	CheckNotMade      CheckOutcome = "not made"     // an earlier one failed
)

// CheckResult is what one check of a run found.
type CheckResult struct {
	ID       string       `json:"id"` // its row in the table of checks
	Outcome  CheckOutcome `json:"outcome"`
	Node     string       `json:"node,omitempty"` // whose the evidence is; "" when it is not one node's
	Evidence string       `json:"evidence"`       // the figures that it compared, or why there are none
}

// Stands reports whether the result is one: VALID, or CLAIMED and not refuted.
func (v Verdict) Stands() bool { return v.Valid || v.Claimed }

// Word returns VALID, CLAIMED or INVALID.
func (v Verdict) Word() string {
	switch {
	case v.Valid:
		return "VALID"
	case v.Claimed:
		return "CLAIMED"
	}
	return "INVALID"
}

// String returns the verdict's line on the terminal without the leading word:
// "VALID", "CLAIMED", or "INVALID(reason, node)".
func (v Verdict) String() string {
	switch {
	case v.Stands():
		return v.Word()
	case v.Node == "":
		return "INVALID(" + v.Reason + ")"
	}
	return "INVALID(" + v.Reason + ", " + v.Node + ")"
}

// Together returns the verdict on trials that all stand: CLAIMED if one of them is.
func Together(trials []Trial) Verdict {
	claimed := slices.ContainsFunc(trials, func(t Trial) bool { return t.Verdict.Claimed })
	return Verdict{Valid: !claimed, Claimed: claimed}
}

// ResultWord returns what the trials with a result are: "valid", "CLAIMED", or "valid or CLAIMED".
func ResultWord(trials []Trial) string {
	var is []string
	if !Together(trials).Claimed || slices.ContainsFunc(trials, func(t Trial) bool { return t.Verdict.Valid }) {
		is = append(is, "valid")
	}
	if together := Together(trials); together.Claimed {
		is = append(is, together.Word())
	}
	return strings.Join(is, " or ")
}
