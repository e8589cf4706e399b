package metrics

// CPUPerOp is the processor time, in nanoseconds, that the processes of the roles
// used in their windows for each operation of theirs, all of the roles' added up; 0
// when a node has not said. On a machine with other work it is steadier than
// operations per second: it does not count the time that others had.
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
