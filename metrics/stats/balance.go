package stats

// Balance is the mean of the servers' shares over the largest: 1 when all do the
// same, and what it is below 1 is lost while the others wait for the busiest. It
// is 1 for no operations at all.
func Balance(ops []uint64) float64 {
	var sum, most float64
	for _, n := range ops {
		sum += float64(n)
		most = max(most, float64(n))
	}
	if most == 0 {
		return 1
	}
	return sum / float64(len(ops)) / most
}

// BestBalance is the best Balance that any router can give a number of servers
// when the most popular record has a share of all operations, above 0: that
// record is on one server, which has no less. It is min(1, 1/(servers top)).
func BestBalance(servers int, top float64) float64 { return min(1, 1/(float64(servers)*top)) }
