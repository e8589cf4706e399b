package foldertest

import (
	"fmt"
	"path/filepath"
	"testing"

	"kvlab/metrics"
)

// MakeStudy makes up the folder of a study with a claim of each kind, of any outcome, and
// one that was not tested, and writes it below root.
func MakeStudy(t testing.TB, root string) string {
	t.Helper()
	points := []string{"batch-1", "batch-64", "batch-8192"}
	dir := MakeSweep(t, root, SweepPlan{ID: "study", Knobs: []metrics.Knob{Knob(metrics.PointKnob, points...)}, Trials: 6, Law: Law{1e5, 0, 0},
		Factor: map[string]float64{"batch-64": 1.9, "batch-8192": 3.1}, Noise: 0.03, Seed: 71})
	sweep, trials, err := metrics.ReadSweep(dir)
	if err != nil {
		t.Fatal(err)
	}
	sweep.Study = &metrics.Study{Names: []string{"made-up"}, Alpha: 0.05}
	values := make(map[string]metrics.ClaimValue)
	for _, p := range metrics.Summarize(sweep, trials) {
		e, _ := p.Estimate()
		sweep.Study.Points = append(sweep.Study.Points, metrics.StudyPoint{Name: p.Values[0], Args: "--" + p.Values[0]})
		values[p.Values[0]] = metrics.ClaimValue{Point: p.Values[0], Value: e.Median, Low: e.Low, High: e.High}
	}
	var results []metrics.ClaimResult
	for i, kind := range []metrics.ClaimKind{metrics.ClaimRatio, metrics.ClaimAtLeast, metrics.ClaimAtMost, metrics.ClaimOrder, metrics.ClaimPeak, metrics.ClaimLinear, metrics.ClaimSame} {
		c := metrics.Claim{Study: "made-up", Name: fmt.Sprintf("claim-%d", i), Text: "A sentence of a report <b>" + string(kind) + "</b>.", Source: "someone/store at 0123456, README.md, Results",
			Kind: kind, Points: points, Measure: "ops/s", Tolerance: 0.1}
		switch kind {
		case metrics.ClaimRatio, metrics.ClaimAtLeast, metrics.ClaimAtMost:
			c.Points, c.Value = points[:2], 2
		case metrics.ClaimLinear:
			c.Sizes = []float64{1, 2, 3}
		}
		r := metrics.ClaimResult{Claim: c, Outcome: []metrics.Outcome{metrics.Reproduced, metrics.Contradicted, metrics.CannotTell}[i%3], Reason: fmt.Sprintf("reason %d", i), Rounds: 6, P: 1}
		for j, name := range c.Points {
			if r.Values = append(r.Values, values[name]); j > 0 {
				ratio := values[name].Value / values[c.Points[j-1]].Value
				r.Pairs = append(r.Pairs, metrics.ClaimPair{A: c.Points[j-1], B: name, Value: ratio, Low: 0.97 * ratio, High: 1.03 * ratio})
			}
		}
		results = append(results, r)
	}
	untested := metrics.Claim{Study: "made-up", Name: "untested", Text: "Another one.", Source: "someone/store", Kind: metrics.ClaimOrder, Measure: "ops/s", Cannot: "not built: it would be large"}
	results = append(results, metrics.ClaimResult{Claim: untested, Outcome: metrics.CannotTell, Reason: untested.Cannot, P: 1})
	for _, r := range results {
		sweep.Study.Claims = append(sweep.Study.Claims, r.Claim)
	}
	WriteJSON(t, filepath.Join(dir, metrics.SweepFile), sweep)
	WriteJSON(t, filepath.Join(dir, metrics.ClaimsFile), results)
	return dir
}
