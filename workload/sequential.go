package workload

import "kvlab/metrics/format"

// newSequential returns the shares in the long run.
func newSequential(c Config) (distribution, error) {
	return flat{c.Records}, format.Want(!c.Scramble, "-scramble", c.Scramble, "false with -distribution %s", Sequential)
}

// fillSequential sets ops to the next records in order, and draws the kinds.
func (s *Source) fillSequential(ops []Op) {
	for i := range ops {
		op := s.operation(s.walk, s.random.Uint64())
		if op.Kind != Insert {
			if s.walk++; s.walk == s.plan.config.Records {
				s.walk = 0
			}
		}
		ops[i] = op
	}
}
