package pages

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"kvlab/metrics/format"
)

// results is results.json of Gradescope
// (https://gradescope-autograders.readthedocs.io/en/latest/specs/).
type results struct {
	Score            float64  `json:"score"` // points; it counts instead of the tests' sum
	Output           string   `json:"output"`
	Visibility       string   `json:"visibility"`
	StdoutVisibility string   `json:"stdout_visibility"`
	Tests            []test   `json:"tests"`
	Leaderboard      []column `json:"leaderboard,omitempty"`
}

// test is one of its tests.
type test struct {
	Name     string   `json:"name"`
	Status   string   `json:"status"`          // passed or failed
	Score    *float64 `json:"score,omitempty"` // points; nil of a gate
	MaxScore float64  `json:"max_score,omitempty"`
	Output   string   `json:"output"`
}

// column is a value of its leaderboard, which sorts each column by itself and knows no
// ties: so the interval is a column too.
type column struct {
	Name  string `json:"name"`
	Value any    `json:"value"`
	Order string `json:"order,omitempty"`
}

// gradescope returns results.json. Students see it when the grades are published, because a
// rank is of a whole evening.
func (e entry) gradescope() ([]byte, error) {
	r, full := e.Row, e.Board.points()
	gates := test{Name: "It is measured, and every trial is VALID", Status: "passed", Output: format.Plural(r.Valid, "valid trial")}
	if reason := r.Reason; !r.Verdict.Valid {
		if r.Of.Broken != "" {
			reason = "" // the lines say it
		}
		gates.Status, gates.Output = "failed", strings.Join(format.NonEmpty(reason, e.Advice(), "To measure it as here: "+e.Try(), e.Lines(), e.Log()), "\n\n")
	}
	speed := test{Name: "Throughput over that of the reference", Status: "passed", Score: &r.Grade, MaxScore: full, Output: strings.Join(format.NonEmpty(r.Worth(), e.Ratio()), ", ")}
	if !r.Measured() {
		speed.Status = "failed"
	}
	out := results{Score: r.Grade, Output: strings.Join(format.NonEmpty(e.Board.State(), e.Ratio(), e.Standing()), "\n"), Visibility: "after_published", StdoutVisibility: "hidden",
		Tests: []test{gates, speed}}
	if r.Rank > 0 && e.Board.Decided() {
		out.Leaderboard = []column{{"Rank", r.Rank, "asc"}, {"True rank, from and to", fmt.Sprintf("%d-%d", r.RankLow, r.RankHigh), "asc"},
			{"Times the reference", twoDecimals(r.Ratio), ""}, {"Ops/s", math.Round(r.OpsPerS), ""}}
	}
	text, err := json.MarshalIndent(out, "", "  ")
	return append(text, '\n'), err
}

// twoDecimals rounds as gradebooks do.
func twoDecimals(v float64) float64 { return math.Round(100*v) / 100 }
