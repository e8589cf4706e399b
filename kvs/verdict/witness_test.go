package verdict

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"kvlab/metrics"
	"kvlab/metrics/account"
	"kvlab/workload"
	"kvlab/workload/profile"
)

// classes are those of the flags of a made-up run.
var classes = metrics.FlagClasses{Of: map[string]metrics.FlagClass{"workers": metrics.WorkFlag}}

// witnessed returns a run of a server and a client with 2 workers: 1000 rounds of 10 operations
// in a window of 10 s, each of 20 ms, 9 of 10 a get, with values of 100 bytes.
func witnessed() *judged {
	opens := time.Date(2026, 11, 21, 15, 0, 0, 0, time.UTC)
	window := metrics.Counts{Gets: 9000, Puts: 1000, Hits: 9000, Calls: 1000}
	tally := window
	tally.Hits = 0
	load := metrics.Counts{Gets: 1, Puts: 1, Hits: 1, Calls: 2}
	total := window.Add(window).Add(load)
	latencies := map[string]metrics.Quantiles{
		metrics.OpLatency:   {Count: 1000, Values: 10_000, Mean: 20_010, Max: 6.1e6, Octaves: inOctave(15, 10_000)},
		metrics.CallLatency: {Count: 1000, Values: 1000, Mean: 19_000, Max: 30_000, Octaves: inOctave(15, 1000)},
		"get":               {Count: 1000, Values: 9000, Mean: 20_000},
		"put":               {Count: 1000, Values: 1000, Mean: 20_100},
	}
	worker := metrics.WorkerAccount{Loaded: 2, Drawn: 10_000, Verified: 10_002}
	rounds := metrics.Rounds{Ops: 5000, Rounds: 500, Calls: 500, BusyS: 9.9, MostOps: 10}
	client := &metrics.Summary{
		WindowStart: opens, WindowLengthS: 10, InWindow: window, Total: total,
		Edges: &metrics.Edges{SlotS: 10. / 3000, First: slices.Repeat([]uint64{3}, metrics.EdgeSlots), Last: slices.Repeat([]uint64{3}, metrics.EdgeSlots)},
		Peers: []metrics.PeerCounts{{Peer: "s0", Counts: total, Load: load, Window: window, Latency: metrics.Tally{Due: tally, Replied: tally}}},
		Bytes: metrics.Bytes{Sent: 100*total.Puts + 3*total.Ops(), Received: 100 * total.Hits},
		Stamps: map[string]metrics.Stamps{
			metrics.OpLatency:   {SumS: 200, SquaresS2: 4, LongestS: 6.1, Octaves: inOctave(15, 10_000)},
			metrics.CallLatency: {SumS: 19, SquaresS2: 0.361, LongestS: 0.03, Octaves: inOctave(15, 1000)},
		},
		Latency: latencies, Saturation: &metrics.Saturation{ProcessCPUPercent: 10}, Verification: metrics.Verification{Checked: total.Hits},
		BytesInWindow: metrics.Bytes{Sent: 100_000, Received: 900_000},
		Usage:         metrics.Table{DataInterface: "eth1", TxBytesPerS: metrics.AvgPeak{Avg: 10_000}, RxBytesPerS: metrics.AvgPeak{Avg: 90_000}},
	}
	for i := range 2 {
		w, r := worker, rounds
		w.OpeningOps = 5000
		w.Rounds, w.Opening = &r, string(rune('a'+i))
		w.Redrawn = w.Opening
		w.Verified, w.Loaded = 10_000+uint64(2-2*i), uint64(2-2*i)
		client.Workers = append(client.Workers, w)
	}
	run := &judged{}
	run.Workload = map[string]string{"workers": "2", "inflight": "1", "batch": "10", "value-size": "100", "warmup": "5", "secs": "10", "codec": "binary"}
	run.Latency = maps.Clone(latencies)
	run.Nodes = []metrics.RunNode{
		{Name: "s0", Role: metrics.Server, Summary: &metrics.Summary{
			WindowStart: opens.Add(20 * time.Millisecond), WindowLengthS: 9.99, InWindow: metrics.Counts{Gets: 9000 - 12, Puts: 1000, Calls: 999},
			Opening: &metrics.Marks{Start: opens.Add(-20 * time.Millisecond), AtS: []float64{0, 0.01, 0.03}, Ops: []uint64{9983, 9992, 10_013}},
			Closing: &metrics.Marks{Start: opens.Add(9970 * time.Millisecond), AtS: []float64{0, 0.02, 0.06}, Ops: []uint64{19_972, 19_992, 20_003}},
			Total:   total, Peers: []metrics.PeerCounts{{Peer: "c0", Counts: total, Sessions: []metrics.Sessions{{Protocol: metrics.Protocol{Codec: "binary"}, Ops: []uint64{10_002, 10_000}, Keys: make([]uint64, 2)}}}}, Seen: &metrics.Seen{Records: 1, Groups: []uint64{300}, Values: metrics.Values{Count: 30, Bytes: 3000, Compressed: 3000}},
		}},
		{Name: "c0", Role: metrics.Client, Summary: client,
			Config: &metrics.Config{Classes: classes, Flags: map[string]string{"call-timeout": "10", "sample-every": "1s", "workers": "2"}},
			Heard:  &metrics.Heard{WarmUpS: 5.01, Start: opens.Add(time.Millisecond), LengthS: 10, Ops: 10_005}},
	}
	run.Nodes[0].Config = &metrics.Config{Classes: classes, Capabilities: &metrics.AllCapabilities}
	run.Audit, run.Window = &metrics.Audit{Keys: 1}, &metrics.WindowLength{AskedS: 10, UsedS: 10}
	run.Asked = map[metrics.Role]metrics.Settings{metrics.Server: {}, metrics.Client: {"workers": "2"}}
	run.expected = &expectation{Skew: metrics.Skew{Law: "-theta 1", Records: 1, TopShare: 0.01}, kinds: kindLaw{0.9, 0.1, 0}}
	read(run)
	return run
}

// inOctave returns n values in one octave.
func inOctave(k int, n uint64) []uint64 { return append(make([]uint64, k), n) }

// witnesses makes every check of the run.
func (r *judged) witnesses() metrics.Verdict {
	account.Total(&r.Run)
	return r.made(checks)
}

// openLoop makes the run that of an open loop of 1000 ops/s in all.
func openLoop(run *judged) { openLoopOf(run, 1000) }

// openLoopOf makes the run that of an open loop of a rate in all, at equal distances.
func openLoopOf(run *judged, rate float64) {
	run.Workload["rate"], run.Workload["arrivals"] = fmt.Sprint(rate), workload.Constant
	s := run.Nodes[1].Summary
	s.Offered = &metrics.Offered{Arrivals: workload.Constant, OpsPerS: rate, RunOpsPerS: rate, Ops: uint64(10 * rate), OpensNs: 5e9, ClosesNs: 15e9}
	for i := range s.Workers {
		offer(run, i)
	}
}

// openStages makes the run that of an open loop whose rate has two stages, 1000 ops/s in all.
func openStages(run *judged) {
	openLoop(run)
	run.Workload["rate"] = "500@5s,1500@5s"
	s := run.Nodes[1].Summary
	s.Offered.Stages = []metrics.Stage{{Due: 2500, Answered: 2400, Behind: 100}, {Due: 7500, Answered: 7500, Behind: 100}}
	for i := range s.Workers {
		offer(run, i)
	}
}

// longestCall sets the client's longest call in seconds.
func longestCall(run *judged, seconds float64) {
	s := run.Nodes[1].Summary
	q, w := s.Latency[metrics.CallLatency], s.Stamps[metrics.CallLatency]
	q.Max, w.LongestS = 1e6*seconds, seconds
	s.Latency[metrics.CallLatency], s.Stamps[metrics.CallLatency], run.Latency[metrics.CallLatency] = q, w, q
}

// offer sets what a worker of an open loop says of its due times.
func offer(run *judged, worker int) {
	s := run.Nodes[1].Summary
	r, digest := s.Workers[worker].Rounds, uint64(0)
	course := profile.Parsed(run.Workload.Rate()).Course(s.Offered.RunOpsPerS)
	arrivals := workload.NewArrivals(s.Offered.Arrivals, course.First(), 0, workload.Place{Nodes: 1, Worker: worker, Workers: len(s.Workers)})
	arrivals.Follow(course, time.Duration(s.Offered.OpensNs))
	due := make([]time.Duration, 20_000)
	r.Offered = 0
	for _, at := range due[:arrivals.Due(time.Duration(s.Offered.ClosesNs-1), due)] {
		if int64(at) >= s.Offered.OpensNs {
			if r.Offered++; r.Offered <= r.Ops {
				digest = workload.Dues(digest, at)
			}
		}
	}
	r.Dues = fmt.Sprintf("%016x", digest)
}

// Every witness accuses beyond its bound and not within it, and names both figures.
func TestWitnesses(t *testing.T) {
	latency := func(s *metrics.Summary, name string, change func(q *metrics.Quantiles)) {
		q := s.Latency[name]
		change(&q)
		s.Latency[name] = q
	}
	type part struct {
		run     *judged
		server  *metrics.Summary
		client  *metrics.Summary
		heard   *metrics.Heard
		workers []metrics.WorkerAccount
	}
	for _, test := range []struct {
		name  string
		spoil func(p part)
		want  string // "" for VALID
	}{
		{"nothing", func(part) {}, ""},
		{"three times the count", func(p part) { p.client.InWindow.Gets *= 3 }, "its counts in the window do not add up: those of its servers to 9000 gets, its own to 27000"},
		{"three times the count of a server", func(p part) { p.client.InWindow.Gets *= 3; p.client.Peers[0].Window.Gets *= 3 },
			"of server s0's replies in the window, the workers count 27000 gets and the latencies count 9000"},
		{"a call without a latency", func(p part) {
			p.client.Peers[0].Latency.Due.Gets -= 10
			p.client.Peers[0].Latency.Due.Calls--
		}, "10000 operations were due in the window and answered, the latencies count 9990"},
		{"a call out of the histogram", func(p part) {
			latency(p.client, metrics.CallLatency, func(q *metrics.Quantiles) { q.Values-- })
		}, "the histogram of calls holds 999 of 1000"},
		{"a call out of range", func(p part) {
			latency(p.client, metrics.CallLatency, func(q *metrics.Quantiles) { q.Values, q.OutOfRange = 999, 1 })
		}, ""},
		{"calls of twice the time in the histogram's tail, of half of it before", func(p part) {
			latency(p.client, metrics.CallLatency, func(q *metrics.Quantiles) { q.StdDev = 9000 })
		}, "the histogram's latencies of calls spread by 9000.0 us about their mean, those of the workers' sums by 0.0 us"},
		{"calls of half the time", func(p part) {
			latency(p.client, metrics.CallLatency, func(q *metrics.Quantiles) { q.Mean /= 2 })
		}, "the histogram's mean latency of calls is 9500.0 us, that of the workers' sums 19000.0 us"},
		{"calls capped", func(p part) {
			latency(p.client, metrics.CallLatency, func(q *metrics.Quantiles) { q.Max = 20_000 })
		}, "the histogram's maximum latency of calls is 20000.0 us, that of the workers 30000.0 us"},
		{"one call in another octave", func(p part) {
			latency(p.client, metrics.CallLatency, func(q *metrics.Quantiles) { q.Octaves = append(inOctave(14, 1), 999) })
		}, "the histogram holds 1 calls of less than 16.384ms and at least half of that, the workers count 0"},
		{"one call in another octave of the run's", func(p part) {
			q := p.run.Latency[metrics.CallLatency]
			q.Octaves = append(inOctave(14, 1), 999)
			p.run.Latency[metrics.CallLatency] = q
		}, "the histogram holds 1 calls of less than"},
		{"calls stamped early", func(p part) { p.workers[1].Rounds.Mistaken = 7 }, "of 7 calls, the send was stamped too late or the reply too early"},
		{"no stamps", func(p part) { p.client.Stamps = nil }, "that of the workers' sums 0.0 us"},
		{"operations longer than their rounds", func(p part) {
			q := metrics.Quantiles{Count: 1000, Values: 10_000, Mean: 40_000, Max: 6.1e6, Octaves: inOctave(16, 10_000)}
			p.client.Latency[metrics.OpLatency], p.run.Latency[metrics.OpLatency] = q, q
			setKinds(p.client.Latency, q.Mean)
			setKinds(p.run.Latency, q.Mean)
			p.client.Stamps[metrics.OpLatency] = metrics.Stamps{SumS: 400, SquaresS2: 16, LongestS: 6.1, Octaves: q.Octaves}
		}, "the operations' latencies are those of rounds of 40.000 s together, the rounds in the window took 19.800 s"},
		{"half of the operations out of the run's histogram", func(p part) {
			p.run.Latency[metrics.OpLatency] = metrics.Quantiles{Values: 5000}
		}, "the histogram of operations holds 5000 of 10000"},
		{"a get among the puts' latencies", func(p part) {
			latency(p.client, "get", func(q *metrics.Quantiles) { q.Values-- })
			latency(p.client, "put", func(q *metrics.Quantiles) { q.Values++ })
		}, "the histogram of gets holds 8999 of 9000 that were due in the window"},
		{"no latencies of puts", func(p part) { delete(p.run.Latency, "put") }, "the histogram of puts holds 0 of 1000"},
		{"puts of half the time", func(p part) {
			latency(p.client, "put", func(q *metrics.Quantiles) { q.Mean /= 2 })
		}, "the kinds' histograms have a mean latency of 19005.000 us together, that of all operations has 20010.000 us"},
		{"latencies a little lower", func(p part) {
			latency(p.client, metrics.OpLatency, func(q *metrics.Quantiles) { q.Mean = 19_970 })
			latency(p.client, "get", func(q *metrics.Quantiles) { q.Mean = (1e4*19_970 - 1e3*20_100) / 9e3 })
		}, ""},
		{"latencies capped", func(p part) {
			latency(p.client, metrics.OpLatency, func(q *metrics.Quantiles) { q.Mean = 19_900 })
		}, "the histogram's mean latency of operations is 19900.0 us, that of the workers' sums 20000.0 us"},
		{"servers apply what was in flight too", func(p part) { p.server.Closing.Ops[1] += 10; p.server.Closing.Ops[2] += 10 }, ""},
		{"servers apply less", func(p part) { p.server.Closing.Ops = []uint64{19_000, 19_100, 19_200} },
			"the servers applied 9087 to 9208 operations in the window, the clients counted 10000: they differ by more than the 23"},
		{"servers apply more", func(p part) { p.server.Opening.Ops = []uint64{9000, 9100, 9200} },
			"the servers applied 10792 to 10902 operations in the window, the clients counted 10000"},
		{"the servers hear of the close after two seconds", func(p part) {
			p.server.Closing = &metrics.Marks{Start: p.client.WindowStart.Add(12 * time.Second), AtS: []float64{0}, Ops: []uint64{20_003}}
		}, ""},
		{"the servers' last mark is before the close", func(p part) {
			p.server.Closing.AtS, p.server.Closing.Ops = p.server.Closing.AtS[:1], p.server.Closing.Ops[:1]
		}, ""},
		{"no marks", func(p part) { p.server.Opening, p.server.Closing = nil, nil }, "the server gives no account of its counts when the window began and ended"},
		{"other seconds", func(p part) { p.heard.Ops = 12_000 }, "the client counts 10000 operations in the window, its seconds 12000"},
		{"a short warm-up", func(p part) { p.heard.WarmUpS = 3.6 }, "the warm-up had 3.600 s by the launcher's clock, not 5.000 s"},
		{"a short warm-up, by its seconds too", func(p part) { p.heard.WarmUpS, p.heard.WarmUpLengthS = 3.6, 3.65 }, "the warm-up had 3.650 s"},
		{"a warm-up whose start is heard late", func(p part) { p.heard.WarmUpS, p.heard.WarmUpLengthS = 4.2, 5 }, ""},
		{"a warm-up that is heard late", func(p part) { p.heard.WarmUpS = 3.8 }, ""},
		{"a long warm-up", func(p part) { p.heard.WarmUpS = 9 }, ""},
		{"few rounds", func(p part) { p.workers[0].Rounds.BusyS = 7 }, "the rounds of the window took 16.900 s together, so 1.7 were in flight at a time, not 2"},
		{"fewer rounds by a processor's work", func(p part) { p.workers[0].Rounds.BusyS = 7.8 }, ""},
		{"fewer rounds on busy processors", func(p part) {
			p.workers[0].Rounds.BusyS = 0
			p.client.Saturation.OwnCoresPercent, p.run.Nodes[1].Config.MaxProcs = 95, 1
		}, ""},
		{"few rounds on busy processors", func(p part) {
			p.workers[0].Rounds.BusyS, p.workers[1].Rounds.BusyS = 0, 8
			p.client.Saturation.OwnCoresPercent, p.run.Nodes[1].Config.MaxProcs = 95, 1
		}, "so 0.8 were in flight at a time, not 2"},
		{"few rounds on busy processors, of which each takes one for long", func(p part) {
			p.workers[0].Rounds.BusyS, p.workers[1].Rounds.BusyS = 0, 8
			p.client.Saturation.OwnCoresPercent, p.run.Nodes[1].Config.MaxProcs = 95, 1
			onAnotherMachine(&p.run.Nodes[1])
			p.client.Saturation.ProcessCPUPercent = 100 * 1.1 * unbroken * 1000 / 10 // of 1000 rounds in 10 s
		}, ""},
		{"too many rounds", func(p part) { p.workers[0].Rounds.BusyS = 12 }, "so 2.2 were in flight at a time, not 2"},
		{"smaller values", func(p part) { p.client.Bytes.Sent-- }, "260105 bytes were sent with 20002 operations, which with 2001 values of 100 bytes have 260106"},
		{"smaller replies", func(p part) { p.client.Bytes.Received-- }, "bytes were received with 18001 values read, which of 100 bytes have 1800100"},
		{"smaller replies without repeated values", func(p part) { p.run.Workload["dedup"] = "true"; p.client.Bytes.Received /= 2 }, ""},
		{"replies of less than a byte", func(p part) { p.run.Workload["dedup"] = "true"; p.client.Bytes.Received = 20_001 }, "20001 bytes were received for 20002 operations, whose results have at least 20002"},
		{"replies to a cache", func(p part) { p.run.Workload["cache"] = "all"; p.client.Bytes.Received = 20_002 + 2001 + 8*2002 }, ""},
		{"replies to a cache without versions", func(p part) { p.run.Workload["cache"] = "64MiB"; p.client.Bytes.Received = 20_002 + 8*2002 }, "36018 bytes were received for 20002 operations, whose results have at least 38019"},
		{"the server stores half", func(p part) { p.server.Seen.Values.Bytes, p.server.Seen.Values.Compressed = 1500, 1500 }, "30 sampled values that were stored have 1500 bytes, which values of 100 bytes do not have"},
		{"the server says nothing of what it stored in the window", func(p part) { p.server.Seen.Values = metrics.Values{} }, "says nothing of the values that were stored in the window"},
		{"few sampled operations have no write by chance", func(p part) { p.server.Seen.Values, p.server.Seen.Groups = metrics.Values{}, []uint64{190} }, ""},
		{"the client says nothing of its interface", func(p part) { p.client.Usage = metrics.Table{} }, "which network interface carried its calls"},
		{"batches of twice the size", func(p part) { p.workers[0].Rounds.Rounds, p.workers[0].Rounds.Calls = 250, 250 }, "750 rounds had 750 calls of 13.3 operations, -batch 10 makes 750 of 10.0"},
		{"the interface carries too little", func(p part) { p.client.Usage.TxBytesPerS.Avg = 9000 }, "the client's calls sent 100000 bytes in the window, its network interface eth1 90000"},
		{"the interface carried a part before the window, as the longest call shows", func(p part) {
			p.client.Usage.TxBytesPerS.Avg = 6000
			longestCall(p.run, 4)
		}, ""},
		{"the interface carries nearly all", func(p part) { p.client.Usage.TxBytesPerS.Avg = 9600 }, ""},
		{"no samples", func(p part) {
			p.client.Usage.TxBytesPerS.Avg = 0
			p.run.Nodes[1].Config.Flags["sample-every"] = "0s"
		}, ""},
		{"a call beyond its limit", func(p part) {
			longestCall(p.run, 11.1)
		}, "a call took 11.100 s, -call-timeout is 10 s"},
		{"a call at its limit", func(p part) {
			longestCall(p.run, 10.9)
		}, ""},
		{"misses on one side", func(p part) { p.client.Total.Hits--; p.client.Peers[0].Counts.Hits-- }, "the client verified 18000 hits of server s0, which applied 18001 for it"},
		{"calls on one side", func(p part) { p.client.Total.Calls--; p.client.Peers[0].Counts.Calls-- }, "the client verified 2001 calls of server s0, which applied 2002 for it"},
		{"an open loop", func(p part) { openLoop(p.run) }, ""},
		{"an open loop in stages", func(p part) { openStages(p.run) }, ""},
		{"an open loop that leaves its stages out", func(p part) {
			openStages(p.run)
			stages := p.client.Offered.Stages
			openLoop(p.run)
			p.run.Workload["rate"], p.client.Offered.Stages = "500@5s,1500@5s", stages
		}, "were not timed from when the seed says that they were due"},
		{"an open loop in stages of another level", func(p part) { openStages(p.run); p.run.Workload["rate"] = "600@5s,1400@5s" }, "2500 operations were due in stage 1"},
		{"an open loop that does not tell of its stages", func(p part) { openStages(p.run); p.client.Offered.Stages = nil }, "the client does not tell of the stages of -rate"},
		{"an open loop that forgot one", func(p part) { openLoop(p.run); p.client.Offered.Ops-- }, "9999 operations were due in the window, of its workers 10000"},
		{"an open loop above its rate", func(p part) { openLoop(p.run); p.client.Offered.OpsPerS = 1010 }, "1010.0 ops/s were offered by one of 1 clients, -rate is 1000"},
		{"fewer arrivals than the rate", func(p part) {
			openLoop(p.run)
			p.client.Offered.Ops, p.workers[0].Rounds.Offered = 9300, 4300
		}, "9300 operations were due in the window, the rate gives 10000"},
		{"an open loop that forgot two of a worker", func(p part) {
			openLoop(p.run)
			p.workers[0].Rounds.Offered -= 2
			p.workers[1].Rounds.Offered += 2
		}, "operations of worker "},
		{"an open loop of another seed", func(p part) { openLoop(p.run); p.workers[1].Rounds.Dues = p.workers[0].Rounds.Dues },
			"the operations of worker 1 were not timed from when the seed says that they were due"},
		{"an open loop of another law", func(p part) { openLoop(p.run); p.run.Workload["arrivals"] = workload.Poisson }, "drawn again from the seed"},
		{"an open loop of another window", func(p part) { openLoop(p.run); p.client.Offered.OpensNs += 1e7 }, "due in a window of 9.990000 s, the client's has 10.000000 s"},
		{"an open loop whose clients differ", func(p part) { openLoop(p.run); p.client.Offered.RunOpsPerS *= 2 }, "all together offered 2000.0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			run := witnessed()
			client := run.Nodes[1].Summary
			test.spoil(part{run, run.Nodes[0].Summary, client, run.Nodes[1].Heard, client.Workers})
			run.Nodes[0].Summary.Peers[0].Sessions[0].Protocol = metrics.ProtocolOf(run.Workload)
			if got := run.witnesses(); got.Valid != (test.want == "") || !strings.Contains(got.Reason, test.want) {
				t.Errorf("verdict %s, want %q", got, test.want)
			}
		})
	}
}

// Of 40 rounds of 10 operations, some may be between two rounds when the window closes.
func TestEnds(t *testing.T) {
	for after, valid := range map[uint64]bool{400: true, 60: true, 40: false, 0: false} {
		run := witnessed()
		s := run.Nodes[1].Summary
		s.Workers = slices.Repeat(s.Workers, 20)
		for i := range s.Workers {
			s.Workers[i].Rounds = &metrics.Rounds{Ops: 250, Early: 10, MostOps: 10}
		}
		s.InWindow.Gets = 10_400 - after - s.InWindow.Puts
		if v := run.made(rows("ends")); v.Valid != valid {
			t.Errorf("%d answered after the window: %s", after, v)
		}
	}
}

// setKinds gives the witnessed client's gets and puts one mean latency.
func setKinds(latencies map[string]metrics.Quantiles, mean float64) {
	latencies["get"], latencies["put"] = metrics.Quantiles{Values: 9000, Mean: mean}, metrics.Quantiles{Values: 1000, Mean: mean}
}
