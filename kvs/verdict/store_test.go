package verdict

import (
	"strings"
	"testing"

	"kvlab/metrics"
	"kvlab/metrics/account"
)

// foreignRun returns goodRun with the hosts of a foreign store, which counts Puts of all kinds
// of write, and had served 1000 gets before.
func foreignRun() *judged {
	run := goodRun()
	for i := range 2 {
		s := run.Nodes[i].Summary
		run.Nodes[i].Config = &metrics.Config{Classes: classes, Capabilities: &metrics.Capabilities{Store: true, Engine: "redis", Driver: "redis", Version: "redis 7", Counts: metrics.CountsExact}}
		before := metrics.StoreCounts{Instance: "x", Counts: metrics.Counts{Gets: 1000, Hits: 900, Misses: 100}, Fixed: map[string]uint64{"evicted_keys": 3}}
		after := before
		after.Records = 1
		c := s.Total
		after.Counts = before.Counts.Add(metrics.Counts{Gets: c.Gets, Puts: c.Puts + c.ReadModifyWrites, Hits: c.Hits})
		after.Fixed = map[string]uint64{"evicted_keys": 3}
		s.Store = &metrics.StoreWitness{Before: before, After: after}
		s.Total, s.Peers, s.Seen = s.Store.Executed(), nil, nil
	}
	for i := range 2 { // a client knows a foreign server by its address
		for k := range run.Nodes[2+i].Summary.Peers {
			run.Nodes[2+i].Summary.Peers[k].Peer = "10.0.0.1:1"
		}
	}
	return run
}

func TestForeignStore(t *testing.T) {
	for _, test := range []struct {
		name     string
		spoil    func(run *judged, after *metrics.StoreCounts) // of s1
		want     string
		counting metrics.Counting
	}{
		{"good", func(*judged, *metrics.StoreCounts) {}, "VALID", metrics.CountsExact},
		{"a third-party client writes", func(_ *judged, c *metrics.StoreCounts) { c.Counts.Puts++ }, "INVALID(the store executed 15 writes and the clients verified 14: a third-party client wrote, or some were sent twice, s1)", metrics.CountsExact},
		{"a third-party client reads", func(_ *judged, c *metrics.StoreCounts) { c.Counts.Gets += 9; c.Counts.Hits += 5; c.Counts.Misses += 4 }, "VALID", metrics.CountsExact},
		{"a third-party client deletes", func(_ *judged, c *metrics.StoreCounts) { c.Counts.Deletes++ }, "INVALID(the store executed 1 deletes", metrics.CountsExact},
		{"a third-party client counts", func(_ *judged, c *metrics.StoreCounts) {
			c.Others, c.Peers = map[string]uint64{"INCR": 2, "EVAL": 1}, []string{"10.0.0.9:4711 (INCR)"}
		}, "INVALID(the store executed 1 EVAL, 2 INCR, which no client of the run sends: a third-party client's; others are connected from 10.0.0.9:4711 (INCR), s1)", metrics.CountsExact},
		{"a third-party client writes and stays", func(_ *judged, c *metrics.StoreCounts) {
			c.Counts.Puts++
			c.Peers = []string{"10.0.0.9:4711 (SET)"}
		}, "INVALID(the store executed 15 writes and the clients verified 14: a third-party client wrote, or some were sent twice; others are connected from 10.0.0.9:4711 (SET), s1)", metrics.CountsExact},
		{"an exporter, a replica and a health check", func(_ *judged, c *metrics.StoreCounts) {
			c.Beside = map[string]uint64{"INFO": 9, "MGET": 1, "PING": 30, "REPLCONF": 30}
			c.Counts.Hits += 20
		}, "VALID", metrics.CountsExact},
		{"a cache reads", func(_ *judged, c *metrics.StoreCounts) { c.Counts.Gets-- }, "INVALID(the store executed 189 reads and the clients verified 190: the others were answered without it, or its counters were reset, s1)", metrics.CountsExact},
		{"a write is lost", func(_ *judged, c *metrics.StoreCounts) { c.Counts.Puts-- }, "INVALID(the store executed 13 writes", metrics.CountsExact},
		{"hits differ", func(_ *judged, c *metrics.StoreCounts) { c.Counts.Hits--; c.Counts.Misses++ }, "INVALID(the store found 193 keys and the clients 194, s1)", metrics.CountsExact},
		{"eviction", func(_ *judged, c *metrics.StoreCounts) { c.Fixed["evicted_keys"] = 5 }, "INVALID(the store's evicted_keys went from 3 to 5 during the run, s1)", metrics.CountsExact},
		{"keys are lost", func(_ *judged, c *metrics.StoreCounts) { c.Records = 0 }, "INVALID(0 keys are left of 1 that were loaded: values expire, or are lost, s1)", metrics.CountsExact},
		{"a read-modify-write is a get and a put", func(run *judged, c *metrics.StoreCounts) {
			c.RMWGets = true
			c.Counts.Gets += run.Run.VerifiedBy(1).ReadModifyWrites
		}, "VALID", metrics.CountsExact},
		{"a read-modify-write reads nothing", func(_ *judged, c *metrics.StoreCounts) { c.RMWGets = true }, "INVALID(the store executed 190 reads and the clients verified 194: the others were answered without it, or its counters were reset, s1)", metrics.CountsExact},
		{"restart", func(run *judged, _ *metrics.StoreCounts) {
			run.Nodes[1].Summary.Store.Fault = "the store was restarted"
		}, "INVALID(the store was restarted, s1)", metrics.CountsExact},
		{"no witness", func(run *judged, _ *metrics.StoreCounts) { run.Nodes[1].Summary.Store = nil }, "INVALID(the server gives no account of what the store counted, s1)", metrics.CountsExact},
		{"no counters", func(run *judged, _ *metrics.StoreCounts) {
			for i := range 2 {
				run.Nodes[i].Config.Capabilities.Counts, run.Nodes[i].Summary.Store = metrics.CountsNone, nil
			}
		}, "VALID", metrics.CountsNone},
		{"broken connections", func(run *judged, c *metrics.StoreCounts) {
			run.Nodes[2].Summary.Retries = &metrics.Retries{Connections: 1}
			c.Counts.Puts++
		}, "VALID", metrics.CountsBounded},
	} {
		run := foreignRun()
		test.spoil(run, &run.Nodes[1].Summary.Store.After)
		account.Total(&run.Run)
		if got := run.made(counting).String(); !strings.HasPrefix(got, test.want) {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
		if run.Counting != test.counting {
			t.Errorf("%s: counts %s, want %s", test.name, run.Counting, test.counting)
		}
		read := uint64(0)
		if test.name == "a third-party client reads" {
			read = 9
		}
		if run.StrangerReads != read {
			t.Errorf("%s: %d reads of third-party clients", test.name, run.StrangerReads)
		}
	}
}
