package workload

import "math/bits"

// pcg is the generator of math/rand/v2's PCG, word for word: PCG-DXSM with 128
// bits of state (M. E. O'Neill, "PCG: A Family of Simple Fast Space-Efficient
// Statistically Good Algorithms for Random Number Generation", HMC-CS-2014-0905).
// Its fill makes many words at once, which costs less than separate calls.
type pcg struct{ hi, lo uint64 }

// A step multiplies the state by a factor and adds an addend, modulo 2^128. Two steps
// equal one step with the factor's square, and with the addend times the factor plus 1.
const (
	stepHi, stepLo       = 2549297995355413924, 4865540595714422341
	addHi, addLo         = 6364136223846793005, 1442695040888963407
	twoStepHi, twoStepLo = 1710491942223705148, 5953435361322512025
	twoAddHi, twoAddLo   = 5220163216168088568, 12402783752613479834
)

// cheap is the multiplier of the output function.
const cheap = 0xda942042e4dd58b5

// times returns factor*p + addend.
func (p pcg) times(factorHi, factorLo, addendHi, addendLo uint64) pcg {
	hi, lo := bits.Mul64(p.lo, factorLo)
	hi += p.hi*factorLo + p.lo*factorHi
	lo, carry := bits.Add64(lo, addendLo, 0)
	hi, _ = bits.Add64(hi, addendHi, carry)
	return pcg{hi, lo}
}

// word returns the output of the state.
func (p pcg) word() uint64 {
	w := (p.hi ^ p.hi>>32) * cheap
	return (w ^ w>>48) * (p.lo | 1)
}

// Uint64 returns the next word.
func (p *pcg) Uint64() uint64 {
	*p = p.times(stepHi, stepLo, addHi, addLo)
	return p.word()
}

// fill sets all pairs to the next words. Both words of a pair are computed from the
// state before it, so the processor computes them in parallel.
func (p *pcg) fill(pairs [][2]uint64) {
	s := *p
	for i := range pairs {
		first := s.times(stepHi, stepLo, addHi, addLo)
		s = s.times(twoStepHi, twoStepLo, twoAddHi, twoAddLo)
		pairs[i] = [2]uint64{first.word(), s.word()}
	}
	*p = s
}
