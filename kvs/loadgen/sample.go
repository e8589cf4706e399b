package loadgen

import (
	"math/rand/v2"

	"kvlab/workload"
)

// The keys of a sample are so many of the hottest, and so many that chance picks.
const sampleHot, sampleAny = 8, 8

// sample is the keys whose operations are recorded. It does not change.
type sample struct {
	names  []string
	index  map[uint64]int32 // by hash
	filter [64]uint64       // a bit for the low 12 of each hash
}

// newSample picks the keys: the same for every client of a seed.
func newSample(c Config, plan *workload.Plan) *sample {
	s := &sample{index: make(map[uint64]int32)}
	names := newKeys(c.KeyPrefix)
	random := rand.New(rand.NewPCG(c.Workload.Seed, 0))
	for i := range uint64(sampleHot + sampleAny) {
		rank := i
		if i >= sampleHot {
			rank = random.Uint64N(c.Workload.Records)
		}
		if rank >= c.Workload.Records {
			continue
		}
		key, hash := names.key(plan.Key(rank))
		if _, ok := s.index[hash]; !ok {
			s.index[hash] = int32(len(s.names))
			s.filter[hash>>6&63] |= 1 << (hash & 63)
			s.names = append(s.names, string(key))
		}
	}
	return s
}

// find is the number of the key with a hash, and false for most.
func (s *sample) find(hash uint64) (int32, bool) {
	if s.filter[hash>>6&63]>>(hash&63)&1 == 0 {
		return 0, false
	}
	key, ok := s.index[hash]
	return key, ok
}
