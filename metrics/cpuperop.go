package metrics

// CPUPerOp is the processor time in nanoseconds per operation, in the window, of each
// role's processes, summed over the roles. It is 0 when a node did not report it. On a
// machine with other work it is steadier than operations per second, because it does
// not count the time of other processes.
func (r Run) CPUPerOp(roles ...Role) float64 {
	sum := 0.0
	for _, role := range roles {
		seconds, ops := 0.0, uint64(0)
		for _, node := range r.InRole(role) {
			if node.Summary == nil || node.Summary.Saturation == nil {
				return 0
			}
			seconds += node.Summary.Saturation.ProcessCPUPercent / 100 * node.Summary.WindowLengthS
			ops += node.Summary.InWindow.Ops()
		}
		if ops == 0 {
			return 0
		}
		sum += 1e9 * seconds / float64(ops)
	}
	return sum
}
