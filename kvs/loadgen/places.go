package loadgen

import (
	"slices"

	"kvlab/kvs/route"
	"kvlab/metrics"
	"kvlab/metrics/stats"
	"kvlab/workload"
)

// places are where the most popular records lie, and what theory gives them: the
// most popular first.
type places struct {
	records []place
	rest    float64 // the share of those that are not among them
}

// place is one record's.
type place struct {
	hash   uint64 // of its key
	share  uint64 // in 1/kvs.WholeShare
	server int
}

func newPlaces(c Config, plan *workload.Plan, router route.Router) places {
	p := places{records: make([]place, 0, min(knownRanks, c.Workload.Records)), rest: 1}
	for r := range popular(c, plan) {
		p.records = append(p.records, place{r.hash, r.share, router.Server(r.key, r.hash)})
		p.rest -= fraction(r.share)
	}
	return p
}

// fraction is a share of a router's as a number from 0 to 1.
func fraction(share uint64) float64 { return float64(share) / route.WholeShare }

// groups returns the share of each server and key group, and the variance of a
// share for want of the records that are not among the places. These fall into the
// cells independently, each with at most the popularity of the last that is known:
// the variance is that popularity times what they have together, over the cells.
func (p places) groups(c Config) (shares [][]float64, spread float64) {
	shares = make([][]float64, c.Servers())
	for i := range shares {
		shares[i] = make([]float64, route.Groups)
	}
	for _, r := range p.records {
		shares[r.server][route.Group(r.hash)] += fraction(r.share)
	}
	if c.Workload.Records <= knownRanks {
		return shares, 0
	}
	n := float64(len(shares) * route.Groups)
	for _, groups := range shares {
		for i := range groups {
			groups[i] += p.rest / n
		}
	}
	return shares, p.rest * fraction(p.records[len(p.records)-1].share) / n
}

const (
	// headRecords is how many of the most popular records a run's servers are
	// asked for.
	headRecords = 10
	// standsOut is how many times the mean cell's share a record has at least for
	// its own cell to be among a server's busiest for certain.
	standsOut = 8
)

// head returns the most popular records, as far as they stand out.
func (p places) head(c Config, plan *workload.Plan) []metrics.HeadRecord {
	var head []metrics.HeadRecord
	in := make(map[int][]int) // the records' ranks by cell
	for rank, r := range p.records[:min(headRecords, len(p.records))] {
		share := plan.Mass(uint64(rank))
		if share < standsOut/float64(route.Cells) {
			break
		}
		cell := route.Cell(r.hash)
		in[cell] = append(in[cell], rank)
		head = append(head, metrics.HeadRecord{Server: r.server, Cell: cell, Share: share, CellShare: p.rest / float64(c.Servers()*route.Cells)})
	}
	for _, r := range p.records {
		for _, rank := range in[route.Cell(r.hash)] {
			if head[rank].Server == r.server {
				head[rank].CellShare += fraction(r.share)
			}
		}
	}
	return head
}

// compared are the numbers of servers that routers are compared for.
var compared = []int{2, 4, 8, 16, 32}

// balances returns what the routers make of these numbers of servers, and of the
// run's own.
func (p places) balances(servers int, top float64) []metrics.RouterBalance {
	few := p.thinned()
	numbers := append(slices.Clone(compared), servers)
	slices.Sort(numbers)
	var all []metrics.RouterBalance
	for _, n := range slices.Compact(numbers) {
		all = append(all, metrics.RouterBalance{Servers: n, Best: stats.BestBalance(n, top),
			FNV: p.balance("fnv", n), Balanced: few.balance("balanced", n)})
	}
	return all
}

// The balanced router is tried with all of the most popular records, and one in so
// many of the others, which stands for its neighbours: that moves no balance of 32
// servers by more than 0.2 %, and takes a quarter of the time.
const allOf, oneIn = 1 << 17, 8

func (p places) thinned() places {
	if len(p.records) <= allOf {
		return p
	}
	q := places{records: slices.Clone(p.records[:allOf]), rest: p.rest}
	for i := allOf; i < len(p.records); i += oneIn {
		neighbours := p.records[i:min(i+oneIn, len(p.records))]
		r := neighbours[0]
		r.share *= uint64(len(neighbours))
		q.records = append(q.records, r)
	}
	return q
}

// balance is the metrics.Balance of a router's shares, in theory; 0 where it
// cannot have so many servers.
func (p places) balance(name string, servers int) float64 {
	router, err := route.New(name, servers, func(yield func(hash, share uint64) bool) {
		for _, r := range p.records {
			if !yield(r.hash, r.share) {
				return
			}
		}
	})
	if err != nil {
		return 0
	}
	shares := make([]uint64, servers)
	for _, r := range p.records {
		shares[router.Server(nil, r.hash)] += r.share // neither router looks at the key
	}
	for i := range shares {
		shares[i] += uint64(p.rest * route.WholeShare / float64(servers))
	}
	return stats.Balance(shares)
}
