package loadgen

import (
	"math/rand/v2"
	"slices"

	"kvlab/workload"
)

// recordedHot and recordedAny are how many of the hottest keys, and of keys chosen
// at random, have their operations recorded.
const recordedHot, recordedAny = 8, 8

// recordedKeys returns the keys whose operations are recorded: the same for every
// client of a seed.
func recordedKeys(c Config, plan *workload.Plan) (names []string) {
	keys := newKeys(c.KeyPrefix)
	random := rand.New(rand.NewPCG(c.Workload.Seed, 0))
	for i := range uint64(recordedHot + recordedAny) {
		rank := i
		if i >= recordedHot {
			rank = random.Uint64N(c.Workload.Records)
		}
		if rank >= c.Workload.Records {
			continue
		}
		key, _ := keys.key(plan.Key(rank))
		if name := string(key); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
