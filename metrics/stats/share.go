package stats

// Portion returns a part's share of the whole; 0 without a whole.
func Portion[N uint64 | float64](part, whole N) float64 {
	if whole <= 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// Total returns the sum of the numbers.
func Total[N uint64 | float64](numbers []N) (all N) {
	for _, n := range numbers {
		all += n
	}
	return all
}
