package loadgen

import (
	"fmt"
	"iter"
	"slices"

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
		for r := range popular(c, plan) {
			if !yield(r.hash, r.share) {
				return
			}
		}
	}
}

// ranked is one of the most popular records.
type ranked struct {
	key   []byte // valid until the next one
	hash  uint64
	share uint64 // of all operations, in 1/kvs.WholeShare
}

func popular(c Config, plan *workload.Plan) iter.Seq[ranked] {
	return func(yield func(ranked) bool) {
		keys := newKeys(c.KeyPrefix)
		for id, share := range plan.Popular() {
			r := ranked{share: share}
			if r.key, r.hash = keys.key(id); !yield(r) {
				return
			}
		}
	}
}

// Forecast is the expected spread of a run's load, as shares of all operations, 0 to
// 1. The busiest server bounds the total throughput to Even/Busiest of the servers'
// capacity.
type Forecast struct {
	Busiest float64 // of the server that gets the most
	Even    float64 // of every server, if all got the same
	Record  float64 // of the most popular record: no router can bring Busiest below it
}

// forecast sums the shares that a router gives to each server.
func forecast(c Config, plan *workload.Plan, router route.Router) Forecast {
	shares, rest := make([]uint64, c.Servers()), uint64(route.WholeShare)
	for r := range popular(c, plan) {
		shares[router.Server(r.key, r.hash)] += r.share
		rest -= min(r.share, rest)
	}
	even := 1 / float64(c.Servers())
	return Forecast{
		Busiest: (float64(slices.Max(shares)) + float64(rest)*even) / route.WholeShare,
		Even:    even,
		Record:  plan.Mass(0),
	}
}

// String returns the forecast as text for the log.
func (f Forecast) String() string {
	text := fmt.Sprintf("the busiest server should get %.1f %% of the operations, where %.1f %% would be even", 100*f.Busiest, 100*f.Even)
	if f.Record > f.Even {
		text += fmt.Sprintf("; one record alone has %.1f %%, so no router can make it even", 100*f.Record)
	}
	return text
}
