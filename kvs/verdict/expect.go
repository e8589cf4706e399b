package verdict

import (
	"slices"

	"kvlab/kvs/route"
	"kvlab/kvs/verdict/replayed"
	"kvlab/kvs/verdict/work"
	"kvlab/metrics"
	"kvlab/metrics/stats"
	"kvlab/workload"
)

// expectation is what a run's flags predict for its operations.
type expectation struct {
	metrics.Skew         // what is known before the run
	kinds        kindLaw // their shares of all operations, 0 to 1

	// cells are the shares of all operations by server and key group; nil where
	// records have no fixed shares.
	cells [][]float64
	// variance is that of one cell's share, caused by the records beyond
	// workload.KnownRanks and the inserted ones, whose keys are not all looked up.
	variance float64

	top []topRecord // the most popular records that stand out, the first one first

	stream  *workload.Plan // of the flags; nil in tests without any
	plan    *workload.Plan // the same, where records have fixed shares
	hot     hotRecords
	squares []float64 // by server, the probability that two draws are on the same record of it
}

// moves reports whether records have shares that change as the workload goes on. Over all its
// operations they are known, and not over those of a server's window.
func (e *expectation) moves() bool { return e.plan != nil && e.plan.Moves() }

// topRecord is where one of the most popular records lies, and its share.
type topRecord struct {
	server    int     // its number, in the clients' order
	cell      int     // of its key, which few other keys are in
	share     float64 // of all operations, 0 to 1
	cellShare float64 // that of all keys of its server in its cell
}

// kindLaw has a number for each kind, in the order of metrics.KindNames.
type kindLaw [len(metrics.KindNames)]float64

// expect returns what the flags of a run predict, whose workers drew so many operations each. It
// takes about 0.2 s for 10^6 records.
func expect(flags map[string]string, servers int, drawn ...uint64) (*expectation, error) {
	config, router, keys, err := work.Of(flags)
	if err != nil {
		return nil, err
	}
	plan, err := workload.New(config)
	if err != nil {
		return nil, err
	}
	e := &expectation{
		Skew: metrics.Skew{Law: config.Flags(), Router: router, Records: config.Records, Replay: replayed.Describe(plan)},
	}
	for kind := range workload.Kind(workload.Kinds) {
		e.kinds[kind] = plan.Share(kind) // the workload's kinds have the same order
	}
	e.stream = plan
	if !plan.Fixed() && !plan.Moves() {
		return e, nil
	}
	hot, err := findHot(plan, router, keys, servers, config.Records, drawn)
	if err != nil {
		return nil, err
	}
	e.cells, e.variance = hot.groups(servers)
	e.plan, e.hot, e.TopShare = plan, hot, plan.Mass(0)
	top := e.TopShare
	if plan.Moves() {
		top, e.Moves = fraction(hot.records[0].share), int(stats.Total(drawn)/config.HotMove)
	} else {
		e.top, e.squares = hot.top(servers, plan), hot.squares(servers, plan, config.Records)
	}
	e.Balances = hot.balances(servers, top)
	return e, nil
}

// hotRecords are the most popular records, the first one first.
type hotRecords struct {
	records []hotRecord
	all     bool    // there are no others
	rest    float64 // the share of the others
	inserts inserts
}

type hotRecord struct {
	hash   uint64 // of its key
	share  uint64 // in 1/route.WholeShare
	server int
}

func findHot(plan *workload.Plan, router string, keys route.Keys, servers int, records uint64, drawn []uint64) (hotRecords, error) {
	h := hotRecords{records: make([]hotRecord, 0, min(workload.KnownRanks, records)), all: records <= workload.KnownRanks, rest: 1}
	by, err := route.New(router, servers, keys.Popularity(plan.Popular()))
	if err != nil {
		return h, err
	}
	h.inserts = newInserts(plan, by, keys, servers, records)
	var key []byte
	popular := plan.Popular()
	if places := plan.Places(drawn); places != nil {
		popular = plan.PopularAt(places)
	}
	for id, share := range popular {
		var hash uint64
		key, hash = keys.Append(key[:0], id)
		h.records = append(h.records, hotRecord{hash, share, by.Server(key, hash)})
		h.rest -= fraction(share)
	}
	h.rest -= h.inserts.share
	return h, nil
}

// inserts are the operations that insert a record. No two have the same key.
type inserts struct {
	share float64     // of all operations, 0 to 1
	cells [][]float64 // of all operations, by server and key group
}

// knownInserts is the number of inserted records whose keys are looked up.
const knownInserts = 1 << 18

func newInserts(plan *workload.Plan, by route.Router, keys route.Keys, servers int, records uint64) inserts {
	in := inserts{share: plan.Share(workload.Insert), cells: make([][]float64, servers)}
	for i := range in.cells {
		in.cells[i] = make([]float64, route.Groups)
	}
	if in.share == 0 {
		return in
	}
	var key []byte
	for id := records; id < records+knownInserts; id++ {
		var hash uint64
		key, hash = keys.Append(key[:0], id)
		in.cells[by.Server(key, hash)][route.Group(hash)] += in.share / knownInserts
	}
	return in
}

// popularity yields the hashes and shares that a router may use.
func (h hotRecords) popularity(yield func(hash, share uint64) bool) {
	for _, r := range h.records {
		if !yield(r.hash, r.share) {
			return
		}
	}
}

// fraction returns a share of a router's as a number from 0 to 1.
func fraction(share uint64) float64 { return float64(share) / route.WholeShare }

// groups returns the expected share per server and key group, and the variance of a
// share caused by the other records. They fall into the cells independently, each
// with at most the popularity of the last hot record, so the variance is that
// popularity times their total share, divided by the number of cells. So it is for the
// inserted records whose keys are looked up, which stand for all.
func (h hotRecords) groups(servers int) (shares [][]float64, variance float64) {
	shares = make([][]float64, servers)
	for i := range shares {
		shares[i] = slices.Clone(h.inserts.cells[i])
	}
	for _, r := range h.records {
		shares[r.server][route.Group(r.hash)] += fraction(r.share)
	}
	n := float64(len(shares) * route.Groups)
	variance = h.inserts.share * h.inserts.share / knownInserts / n
	if h.all {
		return shares, variance
	}
	for _, groups := range shares {
		for i := range groups {
			groups[i] += h.rest / n
		}
	}
	return shares, variance + h.rest*fraction(h.records[len(h.records)-1].share)/n
}

const (
	// topRecords is how many of the most popular records a run's servers are
	// asked for.
	topRecords = 10
	// standsOut is the least share of a record, in mean cell shares, that puts its
	// cell among a server's busiest for certain.
	standsOut = 8
)

// top returns the most popular records, as far as they stand out.
func (h hotRecords) top(servers int, plan *workload.Plan) []topRecord {
	var top []topRecord
	in := make(map[int][]int) // the records' ranks by cell
	for rank, r := range h.records[:min(topRecords, len(h.records))] {
		share := plan.Mass(uint64(rank))
		if share < standsOut/float64(route.Cells) {
			break
		}
		cell := route.Cell(r.hash)
		in[cell] = append(in[cell], rank)
		top = append(top, topRecord{server: r.server, cell: cell, share: share, cellShare: h.unknown() / float64(servers*route.Cells)})
	}
	for _, r := range h.records {
		for _, rank := range in[route.Cell(r.hash)] {
			if top[rank].server == r.server {
				top[rank].cellShare += fraction(r.share)
			}
		}
	}
	return top
}

// unknown returns the share of the operations on records whose keys are not looked up.
func (h hotRecords) unknown() float64 { return h.rest + h.inserts.share }

// compared are the numbers of servers that routers are compared for.
var compared = []int{2, 4, 8, 16, 32}

// balances returns the routers' balances for these numbers of servers and the run's.
func (h hotRecords) balances(servers int, top float64) []metrics.RouterBalance {
	few := h.thinned()
	numbers := append(slices.Clone(compared), servers)
	slices.Sort(numbers)
	var all []metrics.RouterBalance
	for _, n := range slices.Compact(numbers) {
		all = append(all, metrics.RouterBalance{Servers: n, Best: stats.BestBalance(n, top),
			FNV: h.balance("fnv", n), Balanced: few.balance("balanced", n)})
	}
	return all
}

// The balanced router is tried with the first allOf records, and one in oneIn of the
// others, which stands for its neighbours. That changes no balance of 32 servers by
// more than 0.2 % and takes a quarter of the time.
const allOf, oneIn = 1 << 17, 8

func (h hotRecords) thinned() hotRecords {
	if len(h.records) <= allOf {
		return h
	}
	q := hotRecords{records: slices.Clone(h.records[:allOf]), rest: h.rest, inserts: h.inserts}
	for i := allOf; i < len(h.records); i += oneIn {
		neighbours := h.records[i:min(i+oneIn, len(h.records))]
		r := neighbours[0]
		r.share *= uint64(len(neighbours))
		q.records = append(q.records, r)
	}
	return q
}

// balance returns the stats.Balance of a router's theoretical shares; 0 where it does not
// support that number of servers.
func (h hotRecords) balance(name string, servers int) float64 {
	router, err := route.New(name, servers, h.popularity)
	if err != nil {
		return 0
	}
	shares := make([]uint64, servers)
	for _, r := range h.records {
		shares[router.Server(nil, r.hash)] += r.share // neither router looks at the key
	}
	for i := range shares {
		shares[i] += uint64(h.unknown() * route.WholeShare / float64(servers))
	}
	return stats.Balance(shares)
}
