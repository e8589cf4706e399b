//go:build !amd64

package workload

// fillLanes does nothing on processors whose instructions are not given here.
func (p *pcg) fillLanes([][2]uint64) int { return 0 }
