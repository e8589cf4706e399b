package fakenode

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"kvlab/kvs/history"
	"kvlab/kvs/node"
	"kvlab/kvs/route"
	"kvlab/kvs/value"
	"kvlab/metrics"
	"kvlab/metrics/latency"
	"kvlab/workload"
	"kvlab/workload/size"
)

// Pair has the invented counts between one client and one server.
var Pair = metrics.Counts{Gets: 950, Puts: 50, Hits: 950, Calls: 10}

// loadPair has those of the load among them: a record, which was stored and read back.
var loadPair = metrics.Counts{Gets: 1, Puts: 1, Hits: 1, Calls: 2}

// joint reports the client's part of a slice in which this client has replaced
// its value, and the other reads it: after that, if it is "stale".
func (n *fake) joint(which string) {
	client, _ := strconv.Atoi(n.arg("-client"))
	old, next := metrics.MakeWriteID(0, 0, 1), metrics.MakeWriteID(0, 0, 2)
	read := metrics.HistoryOp{Client: 1, Read: &next, CallNs: 50, ReturnNs: 60}
	if which == "stale" {
		read.Read = &old
	}
	h := metrics.History{Key: "7", Spans: []metrics.WorkerSpan{{Client: client, Last: 2, EndedNs: 100}}, Ops: []metrics.HistoryOp{read}}
	if client == 0 {
		h.Ops = []metrics.HistoryOp{{Wrote: old, CallNs: 10, ReturnNs: 20}, {Wrote: next, CallNs: 30, ReturnNs: 40}}
	}
	s := metrics.Slice{Number: 1, Client: client, Clock: "this"}
	if err := s.Pack([]metrics.History{h}); err != nil {
		panic(err)
	}
	n.record(metrics.Record{Slice: &s})
}

// audit reports that the client's records have the values that it loaded, but for the
// last one of a client that lost it.
func (n *fake) audit(records uint64, secret string, selects uint64) {
	client, _ := strconv.Atoi(n.arg("-client"))
	clients, _ := strconv.Atoi(n.arg("-clients"))
	r := metrics.AuditRecord{Client: client, Each: metrics.AuditEach(n.arg("-joint") != ""), TickNs: 1, Loaded: []uint32{uint32(records)}}
	keys := metrics.AuditKeys{First: client * int(records)}
	work := workload.DefaultConfig()
	work.Distribution, work.Records, work.Seed = "sequential", uint64(clients)*records, seed
	plan, _ := workload.New(work)    // no error for this one
	key, _ := value.ParseKey(secret) // of the launcher
	of := route.NewKeys(work, "", size.Law{})
	for i := range records {
		v := metrics.MakeWriteID(client, 0, uint32(i+1))
		if n.has("lost") && i == records-1 {
			v = metrics.NoWrite
		} else {
			_, hash := of.Append(nil, plan.Key(uint64(client)*records+i))
			r.Checks += key.Check(hash, v, 128)
		}
		keys.Found = append(keys.Found, v)
	}
	for _, number := range workload.SampleSpots(selects, clients*int(records)) {
		v := metrics.MakeWriteID(int(number)/int(records), 0, number%uint32(records)+1)
		keys.Spots = append(keys.Spots, metrics.Spot{Key: int32(number), Found: v})
	}
	if err := r.Pack(keys); err != nil {
		panic(err)
	}
	n.record(metrics.Record{Audit: &r})
}

// A fake client has one worker, whose rounds have a batch.
const batch, rounds, seed = 47, 20, 42

// account says of the invented operations what a client says of real ones. Of an open loop
// each takes 1 ms / (1 - rate/Peak), as a queue would have it; beyond the peak it is
// saturated.
func (n *fake) account(s *metrics.Summary) {
	servers := uint64(len(s.Peers))
	clients, _ := strconv.Atoi(n.arg("-clients"))
	client, _ := strconv.Atoi(n.arg("-client"))
	c := workload.DefaultConfig() // with the flags that it says it has
	c.Workload, c.Distribution, c.Seed, c.Records = workload.YCSBB, workload.Sequential, seed, uint64(clients)*servers*loadPair.Puts
	plan, err := workload.New(c)
	if err != nil {
		panic(err)
	}
	drawn := func(ops uint64) (digest string) {
		source := plan.Source(workload.Place{Node: client, Nodes: clients, Workers: 1})
		source.Fill(make([]workload.Op, ops))
		return fmt.Sprintf("%016x", source.Digest())
	}
	opening := drawn(1024)
	took := time.Duration(s.WindowLengthS / rounds * float64(time.Second))
	sums := metrics.Rounds{Ops: batch * rounds, Rounds: rounds, Calls: rounds * servers, BusyS: s.WindowLengthS, MostOps: batch}
	if text := n.arg("-rate"); text != "" {
		rate, _ := strconv.ParseFloat(strings.Replace(text, "k", "e3", 1), 64)
		s.Offered = &metrics.Offered{Arrivals: workload.Poisson, OpsPerS: rate / float64(clients), RunOpsPerS: rate, ClosesNs: int64(s.WindowLengthS * 1e9)}
		took = time.Duration(float64(time.Millisecond) / max(1-rate/Peak, 0.001))
		arrivals := workload.NewArrivals(workload.Poisson, rate, seed, workload.Place{Node: client, Nodes: clients, Workers: 1})
		answered, digest := uint64(1e9), uint64(0)
		if rate >= Peak {
			answered = uint64(0.9 * Peak / float64(clients) * s.WindowLengthS)
		}
		sums.Ops = 0
		for ; int64(arrivals.Next()) < s.Offered.ClosesNs; s.Offered.Ops++ {
			var due [1]time.Duration
			if arrivals.Due(arrivals.Next(), due[:]); sums.Ops < answered {
				digest = workload.Dues(digest, due[0])
				sums.Ops++
			}
		}
		sums.Offered, sums.Dues, sums.Calls = s.Offered.Ops, fmt.Sprintf("%016x", digest), max(sums.Ops, 1000)
	}
	puts := sums.Ops / 20
	tally := metrics.Counts{Gets: sums.Ops - puts, Puts: puts, Calls: sums.Calls}
	s.InWindow = tally
	s.InWindow.Hits = tally.Gets
	s.Peers[0].Window, s.Peers[0].Latency = s.InWindow, metrics.Tally{Due: tally, Replied: tally}
	s.Edges = &metrics.Edges{SlotS: s.WindowLengthS / (20 * metrics.EdgeSlots), First: make([]uint64, metrics.EdgeSlots), Last: make([]uint64, metrics.EdgeSlots)}
	s.Saturation = &metrics.Saturation{ProcessCPUPercent: 1}
	s.Bytes = metrics.Bytes{Sent: 1024 * s.Total.Ops(), Received: 1024 * s.Total.Ops()}
	s.BytesInWindow = s.Bytes
	s.Verification.Checked = s.Total.Hits
	s.Verification.Examined = s.Total.Ops()
	s.Digests = []string{drawn(s.Total.Ops() - servers*loadPair.Ops())}
	s.Workers = []metrics.WorkerAccount{{Loaded: servers * loadPair.Ops(), Drawn: s.Total.Ops() - servers*loadPair.Ops(), Verified: s.Total.Ops(),
		OpeningOps: 1024, Opening: opening, Redrawn: opening, Rounds: &sums}}
	rest := s.InWindow
	const parts = 8
	for left := uint64(parts); left > 0; left-- {
		part := metrics.Counts{Gets: rest.Gets / left, Puts: rest.Puts / left, Hits: rest.Hits / left, Calls: rest.Calls / left}
		rest = rest.Sub(part)
		n.record(metrics.Record{Interval: &metrics.Interval{Phase: metrics.Window, LengthS: s.WindowLengthS / parts, Counts: part}})
	}
	collector, recorders := latency.NewCollector(1, 1)
	for i := range sums.Calls {
		ops := latency.Kinds{tally.Gets / sums.Calls, tally.Puts / sums.Calls}
		if i == 0 {
			ops[0], ops[1] = ops[0]+tally.Gets%sums.Calls, ops[1]+tally.Puts%sums.Calls
		}
		recorders[0].Observe(&latency.Timing{Phase: metrics.Window, Ops: ops, Call: took, Op: took})
	}
	histograms, _ := collector.Collect(0, 1) // of one range and precision: encodes
	for _, h := range histograms {
		n.record(metrics.Record{Histogram: &h})
	}
	s.Latency = collector.Window.Quantiles()
	s.Stamps = map[string]metrics.Stamps{metrics.OpLatency: stamps(took, sums.Ops), metrics.CallLatency: stamps(took, sums.Calls)}
}

// stamps are those of a number of equal latencies.
func stamps(took time.Duration, n uint64) metrics.Stamps {
	var octaves [metrics.Octaves]uint64
	octaves[metrics.Octave(took)] = n
	seconds := took.Seconds()
	return metrics.Stamps{SumS: float64(n) * seconds, SquaresS2: float64(n) * seconds * seconds, LongestS: seconds, Octaves: metrics.TrimOctaves(octaves)}
}

// finish reports the summary, with the numbers that the faults ask for.
func (n *fake) finish(s metrics.Summary) {
	switch {
	case n.has("no-summary"):
		n.send(node.Event{Event: node.Done})
		return
	case n.has("one-more"):
		s.Peers[0].Counts.Gets++
		s.Total.Gets++
	case n.has("lost-total"):
		s.Total.Puts--
	case n.has("miss"):
		s.InWindow.Misses = 3
	case n.has("corrupt"):
		s.Verification.Failures, s.Verification.First = 2, "key 7: wrong length"
	case n.has("unlinear"):
		v := unlinear()
		s.Check = &metrics.Check{Keys: 1, Slices: 1, Ops: 3, Illegal: 1, First: v.Why}
		n.record(metrics.Record{Violation: &v})
	case n.has("other-time"):
		s.WindowStart = s.WindowStart.Add(-time.Hour)
	case n.has("no-ops"):
		s.InWindow = metrics.Counts{}
	}
	n.record(metrics.Record{Summary: &s})
	n.send(node.Event{Event: node.Done})
}

// Peak is what all fake clients together can be answered, in ops/s. Their closed loops
// make a little less.
const Peak = 20

// unlinear returns a history in which a replaced value comes back.
func unlinear() metrics.Violation {
	old, next := metrics.MakeWriteID(0, 0, 1), metrics.MakeWriteID(0, 1, 1)
	ops := []metrics.HistoryOp{
		{Wrote: old, CallNs: 10, ReturnNs: 20},
		{Wrote: next, Worker: 1, CallNs: 30, ReturnNs: 40},
		{Read: &old, CallNs: 50, ReturnNs: 60},
	}
	h := metrics.History{Key: "7", Slice: 1, Ops: ops}
	r := history.Verify(h)
	return metrics.Violation{Why: r.Why, History: h, Part: r.Part}
}
