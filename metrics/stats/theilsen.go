package stats

// TheilSen returns the slope of a line through points: the median of the slopes between each
// two points with different x (Sen, Journal of the American Statistical Association 63,
// 1968). Up to 29 % of outliers do not move it. Time and memory grow with the square of
// the number of points. The slope is NaN without two such points. xs and ys must have the
// same length.
func TheilSen(xs, ys []float64) float64 {
	slopes := make([]float64, 0, len(xs)*(len(xs)-1)/2)
	for i := range xs {
		for j := range i {
			if xs[i] != xs[j] {
				slopes = append(slopes, (ys[i]-ys[j])/(xs[i]-xs[j]))
			}
		}
	}
	return Median(slopes)
}
