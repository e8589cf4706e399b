package workload

import "fmt"

// Sequential makes each worker visit all records in order, again and again.
const Sequential = "sequential"

func checkSequential(c Config) error {
	if c.Scramble {
		return fmt.Errorf("-scramble: a scrambled -distribution %s would not be sequential; drop one of them", Sequential)
	}
	return nil
}

// fillSequential sets ops to the next records in order. It draws the kinds.
func (s *Source) fillSequential(ops []Op) {
	for i := range ops {
		op := Op{s.plan.mix.kind(s.random.Uint64()), s.walk}
		if s.walk++; s.walk == s.plan.config.Records {
			s.walk = 0
		}
		ops[i] = op
		s.digest = fold(s.digest, op)
	}
}
