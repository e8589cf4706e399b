package chart

import (
	"math"
	"testing"

	"kvlab/internal/foldertest"
	"kvlab/metrics"
	"kvlab/plots/folder"
)

// What a claim allows of each point, by the definitions of the kinds.
func TestAllows(t *testing.T) {
	inf := math.Inf(1)
	for _, test := range []struct {
		kind   metrics.ClaimKind
		values []float64
		want   [][2]float64
	}{
		{metrics.ClaimRatio, []float64{10, 40}, [][2]float64{{}, {15, 25}}},
		{metrics.ClaimAtLeast, []float64{10, 40}, [][2]float64{{}, {20, inf}}},
		{metrics.ClaimAtLeast, []float64{10}, [][2]float64{{2, inf}}},
		{metrics.ClaimAtMost, []float64{10, 40}, [][2]float64{{}, {0, 20}}},
		{metrics.ClaimAtMost, []float64{10}, [][2]float64{{0, 2}}},
		{metrics.ClaimOrder, []float64{10, 40, 30}, [][2]float64{{}, {10, inf}, {40, inf}}},
		{metrics.ClaimPeak, []float64{30, 40, 10}, [][2]float64{{}, {0, 40}, {0, 40}}},
		{metrics.ClaimLinear, []float64{10, 40, 30}, [][2]float64{{}, {15, 25}, {30, 50}}},
		{metrics.ClaimSame, []float64{10, 40, 30}, [][2]float64{{}, {8, 12.5}, {32, 50}}},
	} {
		r := metrics.ClaimResult{Claim: metrics.Claim{Kind: test.kind, Value: 2, Tolerance: 0.25, Sizes: []float64{1, 2, 4}}}
		for _, v := range test.values {
			r.Values = append(r.Values, metrics.ClaimValue{Value: v})
		}
		for i, want := range test.want {
			if low, high := allows(r, i); low != want[0] || high != want[1] {
				t.Errorf("%s of %v: point %d may have %v to %v, want %v", test.kind, test.values, i, low, high, want)
			}
		}
	}
}

// Every claim that was tested has a figure, all of whose values lie in its panel.
func TestClaimFigures(t *testing.T) {
	s, err := folder.LoadSweep(foldertest.MakeStudy(t, t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	invalid := s.Claims[0] // all trials of one of its points are INVALID
	invalid.Rounds, invalid.Values = 0, []metrics.ClaimValue{{Point: "batch-1"}, {Point: "batch-64"}}
	if name := ClaimName(invalid); name != "" {
		t.Errorf("%s is the figure of a claim without a round", name)
	}
	figures := ScalingFigures(s)
	if len(figures) != len(s.Claims)-1 {
		t.Fatalf("%d figures of %d claims, one of which was not tested", len(figures), len(s.Claims))
	}
	for i, f := range figures {
		p, r := f.Panels[0], s.Claims[i]
		if f.Name != ClaimName(r) || f.Subtitle != r.Reason {
			t.Errorf("figure %d is %s: %s", i, f.Name, f.Subtitle)
		}
		for _, v := range r.Values {
			if v.Low <= p.Y.Min || v.High >= p.Y.Max {
				t.Errorf("%s: %v to %v is not inside of %v to %v", f.Name, v.Low, v.High, p.Y.Min, p.Y.Max)
			}
		}
	}
}
