package verdict

import (
	"fmt"
	"math"
	"math/bits"

	"kvlab/kvs/route"
	"kvlab/metrics"
	"kvlab/metrics/stats"
	"kvlab/workload"
)

// rankBin is what is known of the records of some popularity ranks, as far as the servers
// count their keys.
type rankBin struct {
	first, last uint64      // ranks, from 1; no rank in a bin of inserted records
	ops         stats.Count // sampled operations on them
	keys        stats.Count // of the keys, those that were sampled at all
}

// keySample is the servers' sample of some operations.
type keySample struct {
	what    string // they are
	keys    func(*metrics.Seen) *metrics.KeyCounts
	inserts bool // inserts are among them
}

// keySamples are the samples that servers count by key. What holds of all operations and of the
// writes holds of the reads, too.
var keySamples = []keySample{
	{"operations", func(s *metrics.Seen) *metrics.KeyCounts { return s.Keys }, true},
	{"writes", func(s *metrics.Seen) *metrics.KeyCounts { return s.Writes }, false},
}

// rankBins compares the sampled operations on the keys that the servers count with
// theory, in bins of popularity: ranks 1, 2 to 3, 4 to 7, ... The records beyond
// workload.KnownRanks, whose keys are not looked up, and those that are inserted are one bin.
// unknown is the number of operations on the keys of no record. There are no bins when a
// server counts no keys.
func rankBins(run *judged, sample keySample) (bins []rankBin, unknown uint64, fault finding) {
	e := run.expected
	servers, observed, fault := countedKeys(run, sample)
	if servers == nil || e.cells == nil || e.moves() {
		return nil, 0, fault
	}
	for rank, r := range e.hot.records {
		s := servers[r.server]
		number, counted := s.keys.Number(route.Thin(r.hash))
		if !counted {
			continue
		}
		at := bits.Len(uint(rank+1)) - 1
		for len(bins) <= at {
			bins = append(bins, rankBin{first: 1 << len(bins), last: min(2<<len(bins)-1, uint64(len(e.hot.records)))})
		}
		b := &bins[at]
		p := fraction(r.share) / s.share
		b.ops.Add(s.sampled, p)
		b.keys.Add(1, -math.Expm1(s.sampled*math.Log1p(-p)))
		if n := observed[number]; n > 0 {
			b.ops.Observed += n
			b.keys.Observed++
			delete(observed, number)
		}
	}
	rest := rankBin{first: uint64(len(e.hot.records)) + 1, last: e.Records}
	for _, n := range observed {
		rest.ops.Observed += n
		rest.keys.Observed++
	}
	if e.hot.all && (e.hot.inserts.share == 0 || !sample.inserts) {
		return bins, rest.ops.Observed, fault
	}
	rest.expect(e, servers)
	return append(bins, rest), 0, fault
}

// countedServer is a server's sample.
type countedServer struct {
	keys    *metrics.KeyCounts
	sampled float64 // operations
	share   float64 // of all operations that may be in such a sample, in theory; their kinds do not depend on the record
	inserts float64 // the part of share that are inserts
}

// countedKeys returns the servers' samples, and all their counts by the number of the
// key; none when a server counts no keys.
func countedKeys(run *judged, sample keySample) (servers []countedServer, observed map[uint64]uint64, fault finding) {
	observed = make(map[uint64]uint64)
	for i, node := range run.Servers() {
		seen := node.Summary.Seen
		if seen == nil || sample.keys(seen) == nil || i >= len(run.expected.cells) {
			return nil, nil, finding{}
		}
		keys := sample.keys(seen)
		counts, err := keys.Counts()
		if err != nil {
			return nil, nil, failed(node.Name, "%v", err)
		}
		for number, n := range counts {
			observed[number] += n
		}
		s := countedServer{keys, float64(keys.Of), stats.Total(run.expected.cells[i]), stats.Total(run.expected.hot.inserts.cells[i])}
		if !sample.inserts {
			s.share, s.inserts = s.share-s.inserts, 0
		}
		servers = append(servers, s)
	}
	return servers, observed, finding{}
}

// String names the bin's records.
func (b rankBin) String() string {
	if b.first > b.last {
		return "records that are inserted"
	}
	return fmt.Sprintf("records of popularity ranks %d to %d", b.first, b.last)
}

// expect adds the expectation of the inserted records, and of those beyond the known ones.
// Each is on any server, and counted there, by the chance of its hash. Their popularity is
// that of the middle of steps of a 512th.
func (b *rankBin) expect(e *expectation, servers []countedServer) {
	for _, s := range servers {
		chance := math.Ldexp(s.inserts/s.share, -int(s.keys.Bits))
		b.ops.Add(s.sampled, chance)
		b.keys.Add(s.sampled, chance)
	}
	for rank := b.first - 1; rank < b.last; {
		step := min(max(1, rank>>9), b.last-rank)
		mass := e.plan.Mass(rank + step/2)
		for _, s := range servers {
			chance := math.Ldexp(1/float64(len(servers)), -int(s.keys.Bits))
			p := mass / s.share
			ops, n := s.sampled*p, float64(step)*chance
			b.ops.Mean += n * ops
			b.ops.Variance += n * ops * (1 + ops)
			b.ops.Largest = max(b.ops.Largest, 1+ops)
			b.keys.Add(float64(step), chance*-math.Expm1(s.sampled*math.Log1p(-p)))
		}
		rank += step
	}
}

// checkRanks: the records of every range of popularity get their share of the operations, and
// of the writes, down to the last record, and as many of them are asked for as of independent
// draws.
func checkRanks(run *judged) finding {
	ranges := 0
	for _, sample := range keySamples {
		bins, unknown, err := rankBins(run, sample)
		if err.failed() {
			return err
		}
		if bins == nil {
			return inapplicable("records have no fixed shares in a window, or the servers count no keys")
		}
		if unknown > 0 {
			return failed("", "%d of the servers' sampled %s were on keys of no record", unknown, sample.what)
		}
		checks := 2 * len(bins) * len(keySamples)
		for _, b := range bins {
			if b.ops.Improbable(checks) {
				return failed("", "the %v got %d of the servers' sampled %s where %s gives them %.0f: the skew is wrong there",
					b, b.ops.Observed, sample.what, run.expected.Law, b.ops.Mean)
			}
			if b.keys.Improbable(checks) {
				return failed("", "of the %v, the servers' samples of %s have %d where %s gives %.0f: the skew is wrong (some records are never asked for, or draws repeat each other)",
					b, sample.what, b.keys.Observed, run.expected.Law, b.keys.Mean)
			}
		}
		ranges = len(bins)
	}
	return passed("%d ranges of popularity have their shares of the operations and of the writes", ranges)
}

// checkSuccessors: successive operations, other than inserts, are on one key as often as
// independent draws.
func checkSuccessors(run *judged) finding {
	e := run.expected
	if e.cells == nil || e.moves() || len(run.Servers()) > len(e.cells) {
		return inapplicable("records have no fixed shares in a window")
	}
	var equal stats.Count
	pairs := uint64(0)
	for i, node := range run.Servers() {
		seen := node.Summary.Seen
		if seen == nil || seen.Pairs == 0 {
			continue
		}
		share := stats.Total(e.cells[i]) - stats.Total(e.hot.inserts.cells[i])
		equal.Add(float64(seen.Pairs), min(1, e.squares[i]/(share*share)))
		equal.Observed += seen.EqualPairs
		pairs += seen.Pairs
	}
	if equal.Improbable(1) {
		return failed("", "of %d sampled operations, %d are followed by one on the same key where %s gives %.0f: successive draws are not independent",
			pairs, equal.Observed, e.Law, equal.Mean)
	}
	return passed("%d of %d sampled operations are followed by one on the same key, expected %.0f", equal.Observed, pairs, equal.Mean)
}

// squares returns, by server, the sum of its records' squared shares of all operations:
// the probability that two draws are on the same record of that server.
func (h hotRecords) squares(servers int, plan *workload.Plan, records uint64) []float64 {
	sums := make([]float64, servers)
	for _, r := range h.records {
		sums[r.server] += fraction(r.share) * fraction(r.share)
	}
	for rank := uint64(len(h.records)); rank < records; {
		step := min(max(1, rank>>9), records-rank)
		mass := plan.Mass(rank + step/2)
		for i := range sums {
			sums[i] += float64(step) * mass * mass / float64(servers)
		}
		rank += step
	}
	return sums
}
