package stats

// TheilSen is the slope of a line through points that outliers, up to 29 % of
// them, do not move: the median of the slopes between each two points with
// different x (Sen, Journal of the American Statistical Association 63, 1968).
// Its time and memory grow with the square of their number. NaN without two such
// points. xs and ys must be of one length.
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
