package metrics

import (
	"strings"
	"testing"
)

// strained is a run of two servers and two clients on four machines of 4 cores with
// links of 10 Gb/s, at rest: each test strains what it is about.
func strained() *Run {
	run := &Run{
		Workload: map[string]string{"workers": "64", "inflight": "1"},
		Latency: map[string]Quantiles{
			CallLatency: {Mean: 2000}, OpLatency: {Mean: 2500}, WaitLatency: {Mean: 500}, QueueLatency: {Mean: 100}, WireLatency: {Mean: 1500}, ServerLatency: {Mean: 400},
		},
		Preflight: &Preflight{},
	}
	for i, role := range []Role{Server, Server, Client, Client} {
		name := []string{"node0", "node1", "node2", "node3"}[i]
		run.Nodes = append(run.Nodes, RunNode{
			Name: name, Role: role,
			Config: &Config{Host: Host{Hostname: name, Cores: 4}, Cores: "0-3", MaxProcs: 4},
			Summary: &Summary{
				WindowLengthS: 10, InWindow: Counts{Gets: 1e6, Calls: 1e4},
				Usage:    Table{CPUPercent: AvgPeak{Avg: 50}, RxBytesPerS: AvgPeak{Avg: 125e6}},
				Pressure: &Pressure{ProcessCPUPercent: 160, OwnCoresPercent: 50, BusiestCorePercent: 60, InterruptPercent: 8, Runnable: 2, GCPercent: 2, Segments: 1e6, Retransmits: 100},
			},
		})
		run.Preflight.Machines = append(run.Preflight.Machines, Machine{
			Nodes: []string{name}, Roles: []Role{role}, Facts: &Facts{Data: Link{BitsPerS: 10e9}},
		})
	}
	return run
}

// busy makes a node's processors busy, so much with the run and the rest with other
// work.
func (r *Run) busy(node int, own, all float64) {
	s := r.Nodes[node].Summary
	s.Usage.CPUPercent.Avg, s.Pressure.OwnCoresPercent = all, all
	s.Pressure.ProcessCPUPercent = 4 * (own - s.Pressure.InterruptPercent)
}

// together puts all nodes on one machine, with as many goroutines at a time.
func (r *Run) together() {
	for i := range r.Nodes {
		r.Nodes[i].Config.Host.Hostname = "one"
	}
}

func TestFindBottleneck(t *testing.T) {
	for _, test := range []struct {
		name   string
		strain func(*Run)
		limit  Limit
		node   string
		want   string // in the sentence
	}{
		{"idle", func(*Run) {}, LimitConcurrency, "", "limited by too little load: 4 calls under way at a time, and 60 % of an operation's 2.5 ms pass on the network; more -workers"},
		{"server CPU", func(r *Run) { r.busy(0, 93, 93); r.busy(1, 97, 97) }, LimitServerCPU, "node1", "limited by server CPU: 97 % on node1; client CPU 50 % on node2; link 10 % on node0; garbage 2 % on node0"},
		{"client CPU", func(r *Run) { r.busy(3, 95, 95) }, LimitClientCPU, "node3", "limited by client CPU: 95 % on node3; server CPU 50 % on node0"},
		{"one more than the other", func(r *Run) { r.busy(3, 95, 95); r.busy(0, 96, 96) }, LimitServerCPU, "node0", "client CPU 95 % on node3"},
		{"just not busy", func(r *Run) { r.busy(0, 89.9, 89.9) }, LimitUnknown, "", "cannot tell what limits: nothing is at its limit, and not everything idle; server CPU 90 % on node0"},
		{"just not idle", func(r *Run) { r.busy(0, 70, 70) }, LimitUnknown, "", "cannot tell"},
		{"fewer calls than processors", func(r *Run) { r.busy(0, 75, 75); r.Workload["workers"] = "3" }, LimitConcurrency, "", "more -workers"},
		{"as many calls as processors", func(r *Run) { r.busy(0, 75, 75); r.Workload["workers"] = "4" }, LimitUnknown, "", ""},
		{"shared", func(r *Run) {
			r.together()
			for i := range r.Nodes {
				r.busy(i, 31, 99)
			}
		}, LimitShared, "node0", "limited by shared machine: its processors 99 % on node0, servers 46 %, clients 46 %, network 8 %"},
		{"cores of their own", func(r *Run) {
			r.together()
			for i := range r.Nodes {
				r.busy(i, 31, 60)
			}
			r.Nodes[0].Config.Cores, r.Nodes[1].Config.Cores = "0", "0"
			r.Nodes[1].Summary.Pressure.OwnCoresPercent = 100
		}, LimitServerCPU, "node1", "100 % on node1"},
		{"a lab", func(r *Run) { r.Lab = &Lab{Hosts: 4}; r.busy(2, 60, 96) }, LimitShared, "node2", ""},
		{"another's work", func(r *Run) { r.busy(2, 50, 98) }, LimitOther, "node2", "limited by other work: it takes 48 % of the processors of node2, servers 0 %, clients 42 %, network 8 %; server CPU 50 % on node0"},
		{"another's work beside few calls", func(r *Run) { r.busy(2, 50, 98); r.Workload["workers"] = "3" }, LimitConcurrency, "", "other work 48 % on node2"},
		{"another's work on other cores", func(r *Run) {
			r.busy(2, 50, 98)
			r.Nodes[1].Config.Cores, r.Nodes[1].Config.MaxProcs = "0", 1
			r.Nodes[1].Summary.Pressure.ProcessCPUPercent, r.Nodes[1].Summary.Pressure.OwnCoresPercent = 97, 99
		}, LimitServerCPU, "node1", "limited by server CPU: 99 % on node1"},
		{"another's work beside an idle run", func(r *Run) { r.busy(2, 20, 60) }, LimitConcurrency, "", "other work 40 % on node2"},
		{"stolen time", func(r *Run) { r.busy(1, 60, 95); r.Nodes[1].Summary.Pressure.StolenPercent = 35 }, LimitOther, "node1", "35 %"},
		{"garbage", func(r *Run) { r.busy(1, 97, 97); r.Nodes[1].Summary.Pressure.GCPercent = 31 }, LimitGC, "node1", "limited by garbage: collecting it takes 31 % of the server's time on node1; server CPU 97 %"},
		{"garbage of an idle process", func(r *Run) { r.Nodes[1].Summary.Pressure.GCPercent = 31 }, LimitConcurrency, "", "garbage 31 % on node1"},
		{"link, received", func(r *Run) { r.Nodes[2].Summary.Usage.RxBytesPerS.Avg = 1.17e9 }, LimitLink, "node2", "limited by network link: 94 % of what it carries on node2; server CPU 50 %"},
		{"link, sent", func(r *Run) { r.Nodes[1].Summary.Usage.TxBytesPerS.Avg = 1.18e9 }, LimitLink, "node1", "94 %"},
		{"a lab's link", func(r *Run) {
			r.Lab = &Lab{Hosts: 4, LinkBitsPerS: 1e9}
			for i := range r.Nodes {
				r.Nodes[i].Summary.Usage.RxBytesPerS.Avg = 0
			}
			r.Nodes[3].Summary.Usage.TxBytesPerS.Avg = 0.12e9
		}, LimitLink, "node3", "96 %"},
		{"a link beside other work", func(r *Run) { r.busy(2, 50, 98); r.Nodes[0].Summary.Usage.TxBytesPerS.Avg = 1.2e9 }, LimitLink, "node0", "other work 48 % on node2"},
		{"link of unknown speed", func(r *Run) { r.Nodes[2].Summary.Usage.RxBytesPerS.Avg = 1.2e9; r.Preflight = nil }, LimitConcurrency, "", ""},
		{"hottest server", func(r *Run) { r.busy(0, 97, 97); r.Nodes[0].Summary.InWindow.Gets = 15e5 }, LimitHottest, "node0", "limited by hottest server: node0 with 1.20x the mean, its processors 97 %; server CPU 97 % on node0"},
		{"hottest server's link", func(r *Run) {
			r.Nodes[1].Summary.Usage.TxBytesPerS.Avg = 1.2e9
			r.Nodes[1].Summary.InWindow.Gets = 2e6
		}, LimitHottest, "node1", "node1 with 1.33x the mean, its network link 96 %"},
		{"hotter, and all are busy", func(r *Run) {
			r.busy(0, 97, 97)
			r.busy(1, 92, 92)
			r.Nodes[0].Summary.InWindow.Gets = 15e5
		}, LimitServerCPU, "node0", "hottest server 1.20x the mean (node0)"},
		{"hotter, and its client is busy", func(r *Run) { r.busy(2, 97, 97); r.Nodes[0].Summary.InWindow.Gets = 15e5 }, LimitClientCPU, "node2", "hottest server 1.20x"},
		{"retransmits", func(r *Run) { r.Nodes[2].Summary.Pressure.Retransmits = 20408 }, LimitRetransmits, "node2", "limited by retransmits: 2.0 % of the segments from node2 were sent again; server CPU"},
		{"open loop", func(r *Run) { r.Offered = &Offered{Ops: 1000, OpsPerS: 50e3}; r.Ops = 999; r.busy(0, 95, 95) }, LimitOffered, "", "limited by offered rate: 50k ops/s, of which 99.9 % were achieved; server CPU 95 % on node0"},
		{"saturated open loop", func(r *Run) { r.Offered = &Offered{Ops: 1000}; r.Ops = 900; r.busy(0, 95, 95) }, LimitServerCPU, "node0", ""},
		{"crowded", func(r *Run) { r.busy(0, 95, 95); r.Nodes[0].Summary.Pressure.Runnable = 34 }, LimitServerCPU, "node0", "8.5 tasks for each core"},
		{"an earlier release's folder", func(r *Run) {
			for i := range r.Nodes {
				r.Nodes[i].Summary.Pressure = nil
			}
			r.Nodes[1].Summary.Usage.CPUPercent.Avg = 60
		}, LimitConcurrency, "", "server CPU 60 % on node1"},
		{"nothing known", func(r *Run) { *r = Run{Nodes: []RunNode{{Name: "node0", Role: Server}}} }, LimitUnknown, "", "cannot tell"},
	} {
		t.Run(test.name, func(t *testing.T) {
			run := strained()
			test.strain(run)
			b := FindBottleneck(*run)
			if b.Limit != test.limit || b.Node != test.node || !strings.Contains(b.Sentence, test.want) {
				t.Errorf("%s on %q: %s\nwant %s on %q: %s", b.Limit, b.Node, b.Sentence, test.limit, test.node, test.want)
			}
		})
	}
}

// The figures are closed forms of what went in.
func TestBottleneckFigures(t *testing.T) {
	run := strained()
	run.Nodes[1].Summary.InWindow.Gets = 3e6
	run.Nodes[3].Summary.Pressure.Runnable = 12
	got := FindBottleneck(*run).Figures
	want := BottleneckFigures{
		ServerCPUPercent: 50, ServerCPUNode: "node0", ClientCPUPercent: 50, ClientCPUNode: "node2",
		OtherCPUPercent: 2, OtherCPUNode: "node0", // 50 less 8 of interrupts and 160 / 4 of the process
		Runnable:    3,
		LinkPercent: 10, LinkNode: "node0",
		HottestServer: 1.5, HottestNode: "node1",
		GCPercent: 2, GCNode: "node0",
		LostPercent: 100.0 * 100 / 1000100, LostNode: "node0",
		InFlight: 2 * 1000 * 2000e-6, OpMicros: 2500,
		WaitShare: 0.2, QueueShare: 0.04, WireShare: 0.6, ServerShare: 0.16,
	}
	if got != want {
		t.Errorf("figures\n got %+v\nwant %+v", got, want)
	}
}
