package workload

import "math/bits"

// affine maps k to mul*k + add modulo n. It is a bijection on 0, ..., n-1 if mul and n
// have no common divisor. All maps from ranks to record ids are affine.
type affine struct {
	n, mul, add uint64 // mul, add < n <= 2^62
	quotient    uint64 // floor(mul * 2^64 / n)
}

func newAffine(n, mul, add uint64) affine {
	quotient, _ := bits.Div64(mul, 0, n)
	return affine{n, mul, add, quotient}
}

// at returns the image of k, for k < n. In place of dividing it multiplies with the
// precomputed quotient (V. Shoup's method; D. Harvey, "Faster arithmetic for
// number-theoretic transforms", 2014). The remainder is then at most one n too large. The
// products may exceed 2^64, but their difference does not.
func (a affine) at(k uint64) uint64 {
	q, _ := bits.Mul64(a.quotient, k)
	r := a.mul*k - q*a.n
	if r >= a.n {
		r -= a.n
	}
	r += a.add
	if r >= a.n {
		r -= a.n
	}
	return r
}

// identity reports whether at returns k for every k.
func (a affine) identity() bool { return a.add == 0 && (a.mul == 1 || a.n == 1) }

// newKeys returns the map from ranks to record ids of a valid configuration.
func newKeys(c Config, newestFirst bool) affine {
	n := c.Records
	mul, add := 1%n, uint64(0)
	if c.Scramble {
		mul, add = scramble(n, c.Seed)
	}
	if newestFirst { // rank k is id n-1-k, which is then scrambled
		mul, add = (n-mul)%n, (add+n-mul)%n
	}
	return newAffine(n, mul, add)
}

// scramble returns the multiplier and offset that spread consecutive ranks over all ids.
// The multiplier is the first number from the golden section of n on that is coprime to
// n. The multiples of the golden section are the most evenly spread (D. E. Knuth, The Art
// of Computer Programming 3, section 6.4). The offset depends on the seed.
func scramble(n, seed uint64) (mul, add uint64) {
	const goldenSection = 0x9e3779b97f4a7c15 // 2^64 * 0.618...
	mul, _ = bits.Mul64(n, goldenSection)
	for gcd(mul, n) != 1 { // n-1 is coprime to n
		mul++
	}
	add, _ = bits.Mul64(Child(seed, keyBranch), n)
	return mul, add
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
