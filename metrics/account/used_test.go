package account

import (
	"math"
	"testing"
	"time"

	"kvlab/metrics"
)

// sampled makes up a node of a run: what its process and its machine of 4 processors used in each
// second, and its account.
func sampled(role metrics.Role, host string, processPercent, machinePercent, resident []float64, shift time.Duration) (metrics.RunNode, *Reported) {
	config := &metrics.Config{Host: metrics.Host{Hostname: host, Cores: 4}}
	reported := new(Reported)
	reported.Add(metrics.Record{Config: config})
	process, machine := 0.0, 0.0
	for i, percent := range processPercent {
		reported.Add(metrics.Record{Time: time.Unix(1000+int64(i)+1, 0).Add(shift), Usage: &metrics.Usage{
			Phase: metrics.Window, LengthS: 1, CPUPercent: machinePercent[i], MemoryUsedBytes: 2e9, DataInterface: "eth0",
			Interfaces: []metrics.InterfaceUsage{{Name: "eth0", RxBytesPerS: 1e6 * float64(i), TxBytesPerS: 2e6}},
			Process:    metrics.ProcessUsage{CPUPercent: percent, RSSBytes: uint64(resident[i])},
		}})
		process, machine = process+percent/float64(len(processPercent)), machine+machinePercent[i]/float64(len(processPercent))
	}
	reported.Summary = &metrics.Summary{
		WindowLengthS: float64(len(processPercent)), InWindow: metrics.Counts{Gets: 100}, BytesInWindow: metrics.Bytes{Sent: 30e6, Received: 60e6},
		Peers:      []metrics.PeerCounts{{Window: metrics.Counts{Gets: 25}}, {Window: metrics.Counts{Gets: 75}}},
		Saturation: &metrics.Saturation{ProcessCPUPercent: process},
		Usage: metrics.Table{CPUPercent: metrics.AvgPeak{Avg: machine}, MemoryBytes: metrics.AvgPeak{Avg: 2e9},
			RxBytesPerS: metrics.AvgPeak{Avg: 1e6}, TxBytesPerS: metrics.AvgPeak{Avg: 2e6}},
	}
	return metrics.RunNode{Role: role, Machine: host, Config: config, Summary: reported.Summary}, reported
}

// TestUsed: a store that uses 0.5 cores and 300 MB beside a client that uses 1 core, by closed form.
func TestUsed(t *testing.T) {
	const mb = 1e6
	busy := []float64{60, 62.5, 62.5}
	for _, tt := range []struct {
		name        string
		client      string // its machine
		lab         *metrics.Lab
		rest, share float64 // the mean of the rest, and the server's share of its machines
		payload     bool
	}{
		{"one machine", "a", nil, 4*1.85/3 - 1.5, 12.5, true},
		{"two machines", "b", nil, 8*1.85/3 - 1.5, 12.5, false},
		{"virtual hosts", "b", &metrics.Lab{Hosts: 2}, 4*1.85/3 - 1.5, 12.5, false},
	} {
		server, of := sampled(metrics.Server, "a", []float64{25, 50, 75}, busy, []float64{200 * mb, 300 * mb, 400 * mb}, 20*time.Millisecond)
		client, by := sampled(metrics.Client, tt.client, []float64{125, 100, 75}, busy, []float64{100 * mb, 100 * mb, 100 * mb}, -300*time.Millisecond)
		server.Name, client.Name = "store", "load"
		run := metrics.Run{Nodes: []metrics.RunNode{server, client}, Lab: tt.lab}
		fillUsed(&run, []*Reported{of, by}, []*Reported{by})
		near := func(what string, got, want float64) {
			t.Helper()
			if math.Abs(got-want) > 1e-9*math.Abs(want) {
				t.Errorf("%s: %s is %v, want %v", tt.name, what, got, want)
			}
		}
		s, c, rest := run.Used[metrics.Server], run.Used[metrics.Client], run.Used[metrics.Rest]
		near("the store's cores", s.Cores.Avg, 0.5)
		near("their peak", s.Cores.Peak, 0.75)
		near("their share", s.MachinePercent, tt.share)
		near("its memory", s.MemoryBytes.Avg, 300*mb)
		near("the peak of that", s.MemoryBytes.Peak, 400*mb)
		near("the client's cores", c.Cores.Avg, 1)
		near("their peak", c.Cores.Peak, 1.25)
		near("the rest's cores", rest.Cores.Avg, tt.rest)
		if run.Nodes[0].Used.Cores != s.Cores || s.Payload != tt.payload {
			t.Errorf("%s: the process used %+v, its role %+v", tt.name, run.Nodes[0].Used, s)
		}
		if tt.payload { // a quarter of 10 and 20 MB/s
			near("what the store received", s.RxBytesPerS.Avg, 2.5*mb)
			near("what the client received", c.RxBytesPerS.Avg, 20*mb)
			near("the rest's peak", rest.Cores.Peak, 4*.625-1.5)
		} else {
			near("what the store's interface received", s.RxBytesPerS.Avg, 1*mb)
			near("its peak", s.RxBytesPerS.Peak, 2*mb)
		}
	}
}

// TestUsedTogether: the peak of a role is of one second, and not the sum of its processes' peaks.
func TestUsedTogether(t *testing.T) {
	busy, bytes := []float64{50, 50, 50}, []float64{1, 1, 1}
	one, a := sampled(metrics.Server, "a", []float64{100, 10, 10}, busy, bytes, 0)
	two, b := sampled(metrics.Server, "b", []float64{10, 10, 70}, busy, bytes, 0)
	two.Name = "two"
	run := metrics.Run{Nodes: []metrics.RunNode{one, two}}
	fillUsed(&run, []*Reported{a, b}, nil)
	if got := run.Used[metrics.Server].Cores; math.Abs(got.Peak-1.1) > 1e-9 || math.Abs(got.Avg-0.7) > 1e-9 {
		t.Errorf("cores %+v, want 0.7 and 1.1", got)
	}
}
