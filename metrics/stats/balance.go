package stats

// Balance returns the mean of the servers' shares over the largest. It is 1 when all shares
// are equal, and for no operations. A Balance of 0.9 means that a tenth of the servers'
// time is lost while they wait for the busiest.
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

// BestBalance returns the best Balance that any router can reach when the most popular record
// has the share top of all operations, above 0. The server of that record has at least
// that share.
func BestBalance(servers int, top float64) float64 { return min(1, 1/(float64(servers)*top)) }
