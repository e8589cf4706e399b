package metrics

import (
	"fmt"

	"kvlab/metrics/format"
)

// ClaimsFile holds the []ClaimResult of a study's folder, which is a sweep's.
const ClaimsFile = "claims.json"

// PointKnob is the knob of a study. Its values are the names of the study's points.
const PointKnob = "point"

// Study is what a sweep tests: claims over points. Several studies that are run together
// share the points that are the same.
type Study struct {
	Names  []string     `json:"names"` // of the studies
	Quick  bool         `json:"quick,omitempty"`
	Alpha  float64      `json:"alpha"` // of a page: the probability that one claim or more that hold are called contradicted
	Points []StudyPoint `json:"points"`
	Claims []Claim      `json:"claims"`
}

// StudyPoint is one configuration.
type StudyPoint struct {
	Name string `json:"name"`
	Args string `json:"args"` // launcher flags, as a variant has them
}

// Claim is a sentence of a report that can be tested.
type Claim struct {
	Study     string    `json:"study"`
	Name      string    `json:"name"`   // unique in its study
	Text      string    `json:"text"`   // the sentence, in plain words
	Source    string    `json:"source"` // the report: repository, revision, page
	Kind      ClaimKind `json:"kind"`
	Points    []string  `json:"points"`           // names, in the order that Kind says
	Sizes     []float64 `json:"sizes,omitempty"`  // of ClaimLinear: the size of each point, such as its nodes
	Measure   string    `json:"measure"`          // what is compared: a name of study.Measures, such as ops/s
	Value     float64   `json:"value,omitempty"`  // of ClaimRatio, ClaimAtLeast, ClaimAtMost
	Tolerance float64   `json:"tolerance"`        // a share: 0.1 is 10 %
	Cannot    string    `json:"cannot,omitempty"` // why this machine or this release does not test it; "" if it does
}

// Condition returns what a claim says of its points' measure, in a few words.
func (c Claim) Condition() string {
	of, within := " x the first", fmt.Sprintf("%.3g %%", 100*c.Tolerance)
	if len(c.Points) == 1 {
		of = " " + c.Measure
	}
	switch c.Kind {
	case ClaimRatio:
		return format.Count(c.Value) + of + ", within " + within
	case ClaimAtLeast:
		return "at least " + format.Count(c.Value) + of
	case ClaimAtMost:
		return "at most " + format.Count(c.Value) + of
	case ClaimOrder:
		return "each above the one before it"
	case ClaimPeak:
		return "none above the first by more than " + within
	case ClaimLinear:
		return "in proportion to the size, within " + within
	case ClaimSame:
		return "within " + within + " of the one before it"
	}
	return ""
}

// ClaimKind is the form of a claim.
type ClaimKind string

// The forms of a claim. m(p) is the mean of a point's measure, and tolerance t.
const (
	ClaimRatio   ClaimKind = "ratio"    // m(second) / m(first) is within value (1 - t) and value (1 + t)
	ClaimAtLeast ClaimKind = "at-least" // m(second) / m(first) is at least value; of one point, m(first) is
	ClaimAtMost  ClaimKind = "at-most"  // m(second) / m(first) is at most value; of one point, m(first) is
	ClaimOrder   ClaimKind = "order"    // each point is above the one before it
	ClaimPeak    ClaimKind = "peak"     // the first point is not below any other by more than t
	ClaimLinear  ClaimKind = "linear"   // the measure grows as the size: exponent 1 within t, and the last point keeps 1 - t of the first's share
	ClaimSame    ClaimKind = "same"     // no two neighbours differ by more than t
)

// Outcome is what a study's trials say of a claim.
type Outcome string

// The outcomes of a claim.
const (
	Reproduced   Outcome = "reproduced"
	Contradicted Outcome = "contradicted"
	CannotTell   Outcome = "cannot tell" // here; the reason says why
)

// ClaimResult is a claim's outcome.
type ClaimResult struct {
	Claim   Claim   `json:"claim"`
	Outcome Outcome `json:"outcome"`
	Reason  string  `json:"reason"`           // one sentence, with the figures that decided
	Rounds  int     `json:"rounds"`           // in which all points of the claim were valid
	Needed  int     `json:"needed,omitempty"` // of CannotTell: rounds that would decide; 0 if unknown or none would
	P       float64 `json:"p"`                // of Contradicted before Holm's correction; 1 without trials

	// Pairs are the comparisons that the claim consists of: one of a ratio; each
	// neighbour of an order; each rival of a peak; of linear, the exponent first.
	Pairs []ClaimPair `json:"pairs"`
	// Values are the measures of the claim's points, in their order.
	Values []ClaimValue `json:"values"`
}

// ClaimPair is one comparison of a claim, paired by round, on logarithms.
type ClaimPair struct {
	A      string  `json:"a,omitempty"` // a point; "" where B stands alone
	B      string  `json:"b"`
	Value  float64 `json:"value"` // m(B) / m(A), or the exponent
	Low    float64 `json:"low"`   // 95 % interval
	High   float64 `json:"high"`
	Low90  float64 `json:"low_90"` // 90 % interval, of two one-sided tests
	High90 float64 `json:"high_90"`
}

// ClaimValue is the measure of a point: the geometric mean and its 95 % interval.
type ClaimValue struct {
	Point string  `json:"point"`
	Value float64 `json:"value"`
	Low   float64 `json:"low"` // 0 with fewer than 3 trials, as High
	High  float64 `json:"high"`
}

// OutcomesOf counts claims by their outcome: "3 reproduced, 1 contradicted, 2 cannot tell".
func OutcomesOf(results []ClaimResult) string {
	count := make(map[Outcome]int)
	for _, r := range results {
		count[r.Outcome]++
	}
	return fmt.Sprintf("%d %s, %d %s, %d %s", count[Reproduced], Reproduced, count[Contradicted], Contradicted, count[CannotTell], CannotTell)
}
