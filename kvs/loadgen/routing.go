package loadgen

import (
	"kvlab/kvs/route"
	"kvlab/workload"
)

// newRouter returns the configuration's router, which is the same for every client and
// phase of a run.
func newRouter(c Config, plan *workload.Plan) (route.Router, error) {
	return route.New(c.Router, c.Servers(), popularity(c, plan))
}

// popularity returns the hashes and shares of the most popular keys, for the router.
func popularity(c Config, plan *workload.Plan) route.Popularity {
	return func(yield func(hash, share uint64) bool) {
		keys := newKeys(c.KeyPrefix)
		for id, share := range plan.Popular() {
			if _, hash := keys.key(id); !yield(hash, share) {
				return
			}
		}
	}
}
