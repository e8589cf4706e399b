package workload

import "math"

const (
	// headRanks is the number of ranks with one segment each.
	headRanks = 4096
	// widthShift makes the width of a segment past the head 2^-9 of its first rank.
	// The mass of a rank then falls by about theta/512 inside the segment.
	widthShift = 9
)

// zipf is Zipf's law: rank k has mass (k+1)^-theta / zeta(n, theta).
type zipf struct {
	n     uint64
	theta float64
	zeta  float64 // 1^-theta + 2^-theta + ... + n^-theta
}

func newZipf(n uint64, theta float64) zipf {
	return zipf{n, theta, powerSum(0, n, theta)}
}

func (z zipf) mass(from, to uint64) float64 {
	return powerSum(from, to, z.theta) / z.zeta
}

// cuts gives each head rank one segment. The other segments grow with their rank.
func (z zipf) cuts() []uint64 {
	cuts := []uint64{0}
	for at := uint64(0); at < z.n; {
		if at < headRanks {
			at++
		} else {
			at = min(at+at>>widthShift, z.n)
		}
		cuts = append(cuts, at)
	}
	return cuts
}

// ycsbZipf is the distribution of YCSB's ZipfianGenerator (Gray et al., "Quickly
// Generating Billion-Record Synthetic Databases", SIGMOD 1994). The generator turns one
// uniform number into a rank with one power. Ranks 0 and 1 have the mass of Zipf's law.
// The ranks from 2 on share the rest in proportion to the integral of x^-theta from k to
// k+1, not to (k+1)^-theta. With 10^6 records and theta 0.99, rank 2 has 2.614 %, and by
// Zipf's law 2.190 %.
//
// In the generator's terms, with eta = (1-(2/n)^(1-theta)) / (1-zeta2/zetan), the mass of
// ranks 0 to k is 1 + (((k+1)/n)^(1-theta) - 1) / eta. The integral is equal to that, has
// a limit at theta = 1, and loses no digits in the far tail.
type ycsbZipf struct {
	zipf         // ranks 0 and 1
	tail float64 // mass of all ranks from 2 on
	area float64 // integral of (x/2)^-theta over the tail, by d(x/2)
}

func newYCSBZipf(n uint64, theta float64) ycsbZipf {
	y := ycsbZipf{zipf: newZipf(n, theta)}
	if n > 2 {
		y.tail = y.zipf.mass(2, n)
		y.area = powerIntegral(1, float64(n)/2, theta)
	}
	return y
}

func (y ycsbZipf) mass(from, to uint64) float64 {
	m := 0.0
	if from < 2 {
		m = y.zipf.mass(from, min(to, 2))
		from = 2
	}
	if to > from {
		// Halved ranks start at 1, so no power underflows.
		m += y.tail * powerIntegral(float64(from)/2, float64(to)/2, y.theta) / y.area
	}
	return m
}

// powerSum returns the sum of k^-theta over k = from+1, ..., to, to about 15 digits. It
// adds the head's terms one by one. For the rest it uses the Euler-Maclaurin formula about
// midpoints, sum f = integral of f from a+1/2 to b+1/2 - (f'(b+1/2)-f'(a+1/2))/24. The
// formula's next term is theta^4/head^4/800 of the sum.
func powerSum(from, to uint64, theta float64) float64 {
	sum := 0.0
	if start := max(from, headRanks); to > start {
		a, b := float64(start)+0.5, float64(to)+0.5
		sum = powerIntegral(a, b, theta) - theta*(math.Pow(a, -theta)/a-math.Pow(b, -theta)/b)/24
	}
	for k := min(to, headRanks); k > from; k-- { // smallest terms first
		sum += math.Pow(float64(k), -theta)
	}
	return sum
}

// powerIntegral returns the integral of x^-theta from a to b, for 0 < a < b.
// Expm1 and Log1p keep all digits if a and b, or theta and 1, are close.
func powerIntegral(a, b, theta float64) float64 {
	logRatio := math.Log1p((b - a) / a)
	if theta == 1 {
		return logRatio
	}
	s := 1 - theta
	return math.Pow(a, s) * math.Expm1(s*logRatio) / s
}
