package verdict

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"kvlab/kvs/verdict/bottleneck"
	"kvlab/kvs/verdict/work"
	"kvlab/metrics"
	"kvlab/metrics/stats"
	"kvlab/workload"
	"kvlab/workload/size"
)

// checkBytes: the operations carried values of their sizes, and the servers stored such
// values.
func checkBytes(run *judged) finding {
	if run.replays() {
		return inapplicable("-replay: a client checks the size of each value that it reads")
	}
	var law size.Law
	if law.Set(run.Workload.ValueSize()) != nil || law.CheckValues() != nil {
		return failed("", "the clients' flags do not say how large values are")
	}
	work, _, _, _ := work.Of(run.Workload) // expect reports its error
	sizes := law.Values(work.Seed)
	each, drawn := sizesOf(sizes), drawnSizes(run, sizes)
	var evidence []string
	for _, node := range run.Clients() {
		s := node.Summary
		load, later := metrics.Counts{}, metrics.Counts{}
		for _, peer := range s.Peers {
			load, later = load.Add(peer.Load), later.Add(peer.Drawn())
		}
		audit := s.Total.Sub(load).Sub(later)
		least := func(values func(metrics.Counts) uint64) uint64 {
			return each.bytes(values(load)) + drawn.bytes(values(later)) + each.least*values(audit)
		}
		sent, received := least(metrics.Counts.Values)+headsOf(s.Total), least(reads)
		if run.Workload.SavesBytes() {
			received = resultsOf(s.Total, run.Workload.Caches())
		}
		evidence = append(evidence, fmt.Sprintf("%s sent %d bytes, %d at least, and received %d, %d at least", node.Name, s.Bytes.Sent, sent, s.Bytes.Received, received))
		if s.Bytes.Sent < sent {
			return failed(node.Name, "%d bytes were sent with %d operations, which with %d values of %s bytes have %d", s.Bytes.Sent, s.Total.Ops(), s.Total.Values(), &law, sent)
		}
		switch {
		case s.Bytes.Received >= received:
		case run.Workload.SavesBytes():
			return failed(node.Name, "%d bytes were received for %d operations, whose results have at least %d", s.Bytes.Received, s.Total.Ops(), received)
		default:
			return failed(node.Name, "%d bytes were received with %d values read, which of %s bytes have %d", s.Bytes.Received, reads(s.Total), &law, received)
		}
	}
	for _, node := range run.Servers() {
		seen := cmp.Or(node.Summary.Seen, &metrics.Seen{})
		for _, v := range []metrics.Values{seen.Before, seen.Values} {
			if v.Bytes < v.Count*min(each.least, keptOfValue) || v.Bytes > v.Count*min(uint64(sizes.Most), keptOfValue) {
				return failed(node.Name, "%d sampled values that were stored have %d bytes, which values of %s bytes do not have", v.Count, v.Bytes, &law)
			}
		}
		if run.unsampled(node, seen) {
			return failed(node.Name, "the server samples one operation in %d, and says nothing of the values that were stored in the window", sampledEvery)
		}
	}
	return passed("%s", strings.Join(evidence, "; "))
}

// sampledEvery is how many operations of a batch a server samples one of, from a random one of
// as many on.
const sampledEvery = 32

// unsampled reports whether a server's sample of the window has no value that was stored,
// though it must have some: what is sampled is drawn with the kinds' shares. A sample of
// what came before may have none, as of a warm-up that only reads.
func (run *judged) unsampled(node metrics.RunNode, seen *metrics.Seen) bool {
	sampled, all := uint64(0), run.InWindow()
	for _, n := range seen.Groups {
		sampled += n
	}
	all.Deletes = 0 // they have no value
	return node.Summary.Seen != nil && !run.Restart.Of(node.Name) && seen.Values.Count == 0 && !byChanceReads(all, sampled)
}

// headsOf returns what operations have at least in a batch besides their values: kind, key, and
// the length of a value or of the key, or the version of a held value. A Delete in a batch
// of a client with a cache has no third byte.
func headsOf(c metrics.Counts) uint64 { return 3*c.Ops() - c.Deletes }

// resultsOf returns what replies that leave out values have at least: a byte for an operation,
// and to a cache a version for each write and a digest of 8 bytes for each call.
func resultsOf(c metrics.Counts, caches bool) uint64 {
	if !caches {
		return c.Ops()
	}
	return c.Ops() + c.Writes() + 8*c.Calls
}

// keptOfValue is how much of a value a server's sample keeps at most.
const keptOfValue = 4 << 10

// callsShare is the accepted error of a server's share of the operations: the owners of
// the least popular records are not known.
const callsShare = 0.01

// checkBatches: the rounds of a closed loop had as many calls as batches of that size make,
// or with -batch-bytes no more operations.
// A server that owns none of a round's keys gets no call, unless the round scans.
func checkBatches(run *judged) finding {
	batch := run.Workload.Batch()
	servers := run.Count(metrics.Server)
	if batch == 0 || run.Workload.Txn() > 0 || servers > 1 && (run.expected.cells == nil || run.expected.moves()) { // -batch auto, or not drawn independently
		return inapplicable("-batch %s, -txn %d, %d servers: the calls of a round are not known", run.Workload["batch"], run.Workload.Txn(), servers)
	}
	ops := float64(batch) * float64(servers)
	mean, variance, slope := 0.0, 0.0, 0.0
	for i := range servers {
		share := 1.0
		if servers > 1 {
			share = stats.Total(run.expected.cells[i])
			share += (1 - share) * run.expected.kinds[workload.Scan]
		}
		none := math.Pow(1-share, ops)
		mean, variance, slope = mean+1-none, variance+none*(1-none), slope+ops*share*none
	}
	if run.Offered != nil {
		return inapplicable("-rate: an open loop")
	}
	rounds, calls := uint64(0), uint64(0)
	for _, node := range run.Clients() {
		s, sums := node.Summary, roundsOf(node)
		if s.Offered != nil {
			continue
		}
		rounds, calls = rounds+sums.Rounds, calls+sums.Calls
		n, drawn := float64(sums.Rounds), sums.Ops+sums.Unknown+sums.Spots
		short := 0
		for _, w := range s.Workers { // the last round of one without more operations is smaller
			if r := w.Rounds; r != nil && r.EndS > 0 {
				lacks := float64(r.Rounds)*ops - float64(r.Ops+r.Unknown+r.Spots)
				if short++; lacks > 0 && lacks < ops {
					drawn += uint64(lacks)
				}
			}
		}
		if limit := run.Workload.BatchBytes(); limit > 0 {
			if float64(drawn) > n*ops {
				return failed(node.Name, "%d rounds had %d operations, -batch %d with -batch-bytes %d allows %.0f", sums.Rounds, drawn, batch, limit, n*ops)
			}
			continue
		}
		if math.Abs(float64(sums.Calls)-n*mean) > rareDeviations*math.Sqrt(n*variance)+callsShare*n*slope+float64(short*servers) || float64(drawn) != n*ops {
			return failed(node.Name, "%d rounds had %d calls of %.1f operations, -batch %d makes %.0f of %.1f",
				sums.Rounds, sums.Calls, stats.Portion(float64(drawn), float64(sums.Calls)), batch, n*mean, ops/mean)
		}
	}
	return passed("%d rounds had %d calls", rounds, calls)
}

// checkCarried: a client's network interface carried at least the bytes that its calls had,
// but for those of calls from before the window, which its longest call bounds.
// It knows one interface of each node, which carries all where every process has a machine
// or all share one.
func checkCarried(run *judged) finding {
	if machines := run.Machines(); machines > 1 && machines < len(run.Nodes) || run.Workload.SavesBytes() {
		return inapplicable("one interface does not carry all calls as they were counted")
	}
	for _, node := range run.Clients() {
		s, h, sums := node.Summary, node.Heard, roundsOf(node)
		if node.Config.Flags.SampleEvery() == 0 || strings.HasPrefix(node.Config.Flags.Hosts(), "/") { // a Unix socket
			continue
		}
		if s.Usage.DataInterface == "" {
			return failed(node.Name, "the client does not say which network interface carried its calls")
		}
		missed := float64(sums.MostOps)/float64(max(1, s.InWindow.Ops())) +
			stats.Portion(secondsApart(h.Start, s.WindowStart)+s.Latency[metrics.CallLatency].Max/1e6, s.WindowLengthS)
		for _, way := range []struct {
			what    string
			payload uint64
			perS    float64
		}{{"sent", s.BytesInWindow.Sent, s.Usage.TxBytesPerS.Avg}, {"received", s.BytesInWindow.Received, s.Usage.RxBytesPerS.Avg}} {
			if carried := way.perS * h.LengthS; carried < (0.95-missed)*float64(way.payload) {
				return failed(node.Name, "the client's calls %s %d bytes in the window, its network interface %s %.0f", way.what, way.payload, s.Usage.DataInterface, carried)
			}
		}
	}
	return passed("the interfaces carried at least what the calls had")
}

// valueSizes are what bounds the bytes of many values: the least size of one, and the mean
// of their sizes and of the sizes' squares.
type valueSizes struct {
	least        uint64
	mean, square float64
}

// sizesOf are those of the records' values, each of which counts once.
func sizesOf(sizes *size.Sizes) valueSizes {
	mean, square := sizes.Moments()
	return valueSizes{uint64(sizes.Least), mean, square}
}

// drawnSizes are those of the values of operations, by their records' popularity. Only the
// least size is known where operations are not drawn independently, move to other records
// as these are inserted and deleted, or expire, or read a server without a store.
func drawnSizes(run *judged, sizes *size.Sizes) valueSizes {
	v := valueSizes{least: uint64(sizes.Least)}
	if run.expected == nil || run.expected.cells == nil || run.Total.Inserts+run.Total.Deletes > 0 || run.Workload.TTL() > 0 || slices.ContainsFunc(run.Nodes, metrics.RunNode.Storeless) {
		return v
	}
	h := run.expected.hot
	for _, r := range h.records {
		bytes, share := float64(sizes.At(r.hash)), fraction(r.share)
		v.mean, v.square = v.mean+share*bytes, v.square+share*bytes*bytes
	}
	if h.all {
		return v
	}
	mean, square := sizes.Moments()
	v.mean += h.rest*mean - deviation(h.rest*fraction(h.records[len(h.records)-1].share)*square)
	v.square += h.rest * square
	return v
}

// bytes returns what n values have at least.
func (v valueSizes) bytes(n uint64) uint64 {
	return max(n*v.least, uint64(max(0, float64(n)*v.mean-deviation(float64(n)*v.square))))
}

// deviation returns how far a sum of independent numbers, none below 0, falls below its mean at
// most, given the sum of the means of their squares (A. Maurer, "A bound on the deviation
// probability for sums of non-negative random variables", Journal of Inequalities in Pure
// and Applied Mathematics 4(1), 2003). One of 10^12 sums exceeds it with probability 1e-9.
func deviation(squares float64) float64 { return math.Sqrt(2 * math.Log(1e21) * squares) }

// reads returns the number of values that gets and read-modify-writes read at least. A delete's
// hit has no value, and that of a scan any number.
func reads(c metrics.Counts) uint64 {
	return c.Hits - min(c.Hits, c.Deletes+c.Scans+c.ScanParts)
}

// shaperBytes is what the shaper of a virtual host's link lets pass at once beside its rate:
// its bucket, up to 1 Gb/s.
const shaperBytes = 256 << 10

// checkLink: each machine's link carries in the window, in either direction, the payload of
// the operations that are counted in it, but for those that were in flight when it opened.
func checkLink(run *judged) finding {
	rate := run.Preflight.SlowestLink()
	if run.Lab != nil {
		rate = run.Lab.LinkBitsPerS
	}
	if rate == 0 {
		return inapplicable("the rate of the links is not known")
	}
	sent, received, name := bottleneck.LinkBytes(&run.Run)
	if name == "" {
		return inapplicable("-local or -symmetric: servers and clients share machines")
	}
	inFlightBytes := 0.0
	for _, node := range run.Clients() {
		if sums := roundsOf(node); sums != nil {
			b, ops := node.Summary.BytesInWindow, max(1, node.Summary.InWindow.Ops())
			inFlightBytes += inFlight(run, sums) * float64(max(b.Sent, b.Received)) / float64(ops)
		}
	}
	raw := float64(rate) / 8 * run.WindowS // no frame has headers only: payload is less
	carries := raw
	if run.Lab != nil {
		carries = stats.Goodput(rate, true)*run.WindowS + shaperBytes
		raw += shaperBytes
	}
	switch counted := max(sent, received); {
	case counted > raw+inFlightBytes:
		return failed(name, "the operations counted in the window have %.1f MB of payload, its link carries %.1f MB, and %.1f MB were in flight", counted/1e6, raw/1e6, inFlightBytes/1e6)
	case counted > carries:
		return doubted(name, "the operations counted in the window have %.1f MB of payload on the link of %s, which carries %.1f MB: the others were in flight when it opened", counted/1e6, name, carries/1e6)
	default:
		return passed("the operations counted in the window have %.1f MB of payload on the link of %s, which carries %.1f MB", counted/1e6, name, carries/1e6)
	}
}
