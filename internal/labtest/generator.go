package labtest

import "math"

// zipf is the course's generator of keys (Gray et al., "Quickly Generating Billion-Record
// Synthetic Databases", SIGMOD 1994).
type zipf struct {
	n                      int
	theta, zeta, eta, half float64
}

func newZipf(n int, theta float64) *zipf {
	z := &zipf{n: n, theta: theta, half: 1 + math.Pow(0.5, theta)}
	for k := 1; k <= n; k++ {
		z.zeta += math.Pow(float64(k), -theta)
	}
	z.eta = (1 - math.Pow(2/float64(n), 1-theta)) / (1 - z.half/z.zeta)
	return z
}

// draw returns the key of a uniform number.
func (z *zipf) draw(u float64) int {
	switch uz := u * z.zeta; {
	case uz < 1:
		return 0
	case uz < z.half:
		return 1
	}
	return min(z.n-1, int(float64(z.n)*math.Pow(z.eta*u-z.eta+1, 1/(1-z.theta))))
}
