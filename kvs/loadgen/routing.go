package loadgen

import (
	"fmt"
	"iter"
	"slices"

	"kvlab/kvs/route"
	"kvlab/workload"
)

// newRouter returns the configuration's router. Every client of a run, and
// every phase of it, routes by the same.
func newRouter(c Config, plan *workload.Plan) (route.Router, error) {
	return route.New(c.Router, c.Servers(), popularity(c, plan))
}

// popularity returns what a router may know of the keys: the hash and the share
// of the most popular ones.
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
	key   []byte // good until the next one
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

// Forecast is how even a run's load can be expected to be, each a share of all
// operations, 0 to 1. What servers make together is bound by the busiest: it is
// Even/Busiest of what they could make.
type Forecast struct {
	Busiest float64 // of the server that gets the most
	Even    float64 // of every server, if all got the same
	Record  float64 // of the most popular record: no router can bring Busiest below it
}

// forecast adds up what a router gives each server.
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

// String says it in words, for the log.
func (f Forecast) String() string {
	text := fmt.Sprintf("the busiest server should get %.1f %% of the operations, where %.1f %% would be even", 100*f.Busiest, 100*f.Even)
	if f.Record > f.Even {
		text += fmt.Sprintf("; one record alone has %.1f %%, so no router can make it even", 100*f.Record)
	}
	return text
}
