package workload

import "golang.org/x/sys/cpu"

// lanes are eight successive states, and what they are multiplied by and added
// to become the eight after them: eight steps in one.
type lanes struct {
	hi, lo             [8]uint64
	factorHi, factorLo uint64
	addendHi, addendLo uint64
	cheap              uint64
}

// hasLanes says whether the processor multiplies eight words of 64 bits at a time.
var hasLanes = cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ

// fillLanes sets the first pairs to the next words, as many as come in groups of
// four, and returns how many that are: none on processors that cannot.
func (p *pcg) fillLanes(pairs [][2]uint64) int {
	groups := len(pairs) / 4
	if !hasLanes || groups == 0 {
		return 0
	}
	l := lanes{factorHi: 7153879460792015094, factorLo: 15105872440209047521, addendHi: 282696244483416232, addendLo: 7314892979311180040, cheap: cheap}
	for i := range l.hi {
		*p = p.times(stepHi, stepLo, addHi, addLo)
		l.hi[i], l.lo[i] = p.hi, p.lo
	}
	words(&l, &pairs[0], groups)
	p.hi, p.lo = l.hi[7], l.lo[7]
	return 4 * groups
}

// words sets groups of four pairs, at least one, to the words of the states and of
// those that follow them, and leaves the last eight states.
//
//go:noescape
func words(l *lanes, pairs *[2]uint64, groups int)
