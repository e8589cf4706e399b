package workload

import "kvlab/internal/cli"

// newSequential returns the distribution in the long run.
func newSequential(c Config) (distribution, error) {
	return flat{c.Records}, cli.Want(!c.Scramble, "-scramble", c.Scramble, "false with -distribution %s", Sequential)
}

// fillSequential sets ops to the next records in order, and draws the kinds.
func (s *Source) fillSequential(ops []Op) {
	if s.plan.mix.paired {
		s.fillPairs(ops)
		return
	}
	for i := range ops {
		if ops[i] = s.operation(s.walk, s.random.Uint64()); ops[i].Kind != Insert {
			s.walk = s.after(s.walk)
		}
	}
}

// fillPairs sets ops as fillSequential does, for a pair of kinds.
func (s *Source) fillPairs(ops []Op) {
	pair, walk, digest := s.plan.mix.pair, s.walk, s.digest
	for i := range ops {
		kind := pair.kind(s.random.Uint64())
		ops[i] = Op{Kind: kind, Key: walk}
		digest = fold(digest, 4*walk+uint64(kind))
		walk = s.after(walk)
	}
	s.walk, s.digest = walk, digest
}

// after returns the record after another one.
func (s *Source) after(record uint64) uint64 {
	if record++; record == s.plan.config.Records {
		return 0
	}
	return record
}
