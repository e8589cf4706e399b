package stats

import (
	"math"
	"testing"
)

func TestTheilSen(t *testing.T) {
	xs := []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	ys := make([]float64, len(xs))
	for i, x := range xs {
		ys[i] = 5 - 2*x
	}
	if got := TheilSen(xs, ys); got != -2 {
		t.Errorf("slope %v of a line, want -2", got)
	}
	ys[0], ys[9] = 1e9, -1e9 // 2 of 10 are below the breakdown point
	if got := TheilSen(xs, ys); got != -2 {
		t.Errorf("slope %v with two outliers, want -2", got)
	}
	// The six slopes are 1, 2, 7/3, 3, 3, 3.
	if got := TheilSen([]float64{0, 1, 2, 3}, []float64{0, 1, 4, 7}); math.Abs(got-8.0/3) > 1e-12 {
		t.Errorf("slope %v, want 8/3", got)
	}
	if got := TheilSen([]float64{1, 1}, []float64{2, 3}); !math.IsNaN(got) {
		t.Errorf("slope %v of points above each other, want NaN", got)
	}
}
