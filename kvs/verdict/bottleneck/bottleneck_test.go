package bottleneck

import (
	"strings"
	"testing"

	"kvlab/metrics"
)

// strained returns a run of two servers and two clients on four machines of 4 cores with
// links of 10 Gb/s, at rest: each test strains what it is about.
func strained() *metrics.Run {
	run := &metrics.Run{
		Workload: map[string]string{"workers": "64", "inflight": "1"},
		Latency: map[string]metrics.Quantiles{
			metrics.CallLatency: {Mean: 2000}, metrics.OpLatency: {Mean: 2500}, metrics.WaitLatency: {Mean: 500}, metrics.QueueLatency: {Mean: 100}, metrics.WireLatency: {Mean: 1500}, metrics.ServerLatency: {Mean: 400},
		},
		Preflight: &metrics.Preflight{},
	}
	for i, role := range []metrics.Role{metrics.Server, metrics.Server, metrics.Client, metrics.Client} {
		name := []string{"node0", "node1", "node2", "node3"}[i]
		run.Nodes = append(run.Nodes, metrics.RunNode{
			Name: name, Role: role,
			Config: &metrics.Config{Host: metrics.Host{Hostname: name, Cores: 4}, Cores: "0-3", MaxProcs: 4},
			Summary: &metrics.Summary{
				WindowLengthS: 10, InWindow: metrics.Counts{Gets: 1e6, Calls: 1e4},
				Usage:      metrics.Table{CPUPercent: metrics.AvgPeak{Avg: 50}, RxBytesPerS: metrics.AvgPeak{Avg: 125e6}},
				Saturation: &metrics.Saturation{ProcessCPUPercent: 160, OwnCoresPercent: 50, BusiestCorePercent: 60, InterruptPercent: 8, Runnable: 2, GCPercent: 2, Segments: 1e6, Retransmits: 100},
			},
		})
		run.Preflight.Machines = append(run.Preflight.Machines, metrics.Machine{
			Nodes: []string{name}, Roles: []metrics.Role{role}, Facts: &metrics.Facts{Data: metrics.Link{BitsPerS: 10e9}},
		})
	}
	return run
}

// busy makes a node's processors busy, so much with the run and the rest with other
// work.
func busy(r *metrics.Run, node int, own, all float64) {
	s := r.Nodes[node].Summary
	s.Usage.CPUPercent.Avg, s.Saturation.OwnCoresPercent = all, all
	s.Saturation.ProcessCPUPercent = 4 * (own - s.Saturation.InterruptPercent)
}

// together puts all nodes on one machine, with as many goroutines at a time.
func together(r *metrics.Run) {
	for i := range r.Nodes {
		r.Nodes[i].Config.Host.Hostname = "one"
	}
}

// hosted makes the servers hosts of a foreign store, whose processes are not sampled if unseen
// says why.
func hosted(r *metrics.Run, unseen string, elsewhere bool) {
	r.Store = &metrics.Store{Name: "redis"}
	for i := range r.Servers() {
		r.Nodes[i].Config.Capabilities = &metrics.Capabilities{Store: true, Driver: "redis", Unseen: unseen, Elsewhere: elsewhere}
	}
}

func TestFindBottleneck(t *testing.T) {
	for _, test := range []struct {
		name   string
		strain func(*metrics.Run)
		limit  metrics.BottleneckKind
		node   string
		want   string // in the sentence
	}{
		{"idle", func(*metrics.Run) {}, metrics.LimitConcurrency, "", "limited by too little load: 4 calls in flight at a time, and 60 % of an operation's 2.5 ms pass on the network; more -workers"},
		{"server CPU", func(r *metrics.Run) { busy(r, 0, 93, 93); busy(r, 1, 97, 97) }, metrics.LimitServerCPU, "node1", "limited by server CPU: 97 % on node1; client CPU 50 % on node2; link 10 % on node0; garbage 2 % on node0"},
		{"quota", func(r *metrics.Run) { busy(r, 1, 20, 20); r.Nodes[1].Summary.Saturation.ThrottledPercent = 98 }, metrics.LimitServerCPU, "node1",
			"limited by server CPU: 98 % on node1, whose cgroup's quota of processor time ran out (cpu.max, cpu.cfs_quota_us); "},
		{"quota beside other work", func(r *metrics.Run) { busy(r, 1, 20, 95); r.Nodes[1].Summary.Saturation.ThrottledPercent = 98 }, metrics.LimitServerCPU, "node1", "ran out"},
		{"client CPU", func(r *metrics.Run) { busy(r, 3, 95, 95) }, metrics.LimitClientCPU, "node3", "limited by client CPU: 95 % on node3; server CPU 50 % on node0"},
		{"one more than the other", func(r *metrics.Run) { busy(r, 3, 95, 95); busy(r, 0, 96, 96) }, metrics.LimitServerCPU, "node0", "client CPU 95 % on node3"},
		{"just not busy", func(r *metrics.Run) { busy(r, 0, 89.9, 89.9) }, metrics.LimitUnknown, "", "cannot tell what limits the rate: nothing is at its limit, and the processors are not idle; server CPU 90 % on node0"},
		{"just not idle", func(r *metrics.Run) { busy(r, 0, 70, 70) }, metrics.LimitUnknown, "", "cannot tell"},
		{"fewer calls than processors", func(r *metrics.Run) { busy(r, 0, 75, 75); r.Workload["workers"] = "3" }, metrics.LimitConcurrency, "", "more -workers"},
		{"as many calls as processors", func(r *metrics.Run) { busy(r, 0, 75, 75); r.Workload["workers"] = "4" }, metrics.LimitUnknown, "", ""},
		{"shared", func(r *metrics.Run) {
			together(r)
			for i := range r.Nodes {
				busy(r, i, 31, 99)
			}
		}, metrics.LimitShared, "node0", "limited by shared machine: its processors 99 % on node0, servers 46 %, clients 46 %, network 8 %"},
		{"cores of their own", func(r *metrics.Run) {
			together(r)
			for i := range r.Nodes {
				busy(r, i, 31, 60)
			}
			r.Nodes[0].Config.Cores, r.Nodes[1].Config.Cores = "0", "0"
			r.Nodes[1].Summary.Saturation.OwnCoresPercent = 100
		}, metrics.LimitServerCPU, "node1", "100 % on node1"},
		{"a lab", func(r *metrics.Run) { r.Lab = &metrics.Lab{Hosts: 4}; busy(r, 2, 60, 96) }, metrics.LimitShared, "node2", ""},
		{"another's work", func(r *metrics.Run) { busy(r, 2, 50, 98) }, metrics.LimitOther, "node2", "limited by other work: it takes 48 % of the processors of node2, servers 0 %, clients 42 %, network 8 %; server CPU 50 % on node0"},
		{"another's work beside few calls", func(r *metrics.Run) { busy(r, 2, 50, 98); r.Workload["workers"] = "3" }, metrics.LimitConcurrency, "", "other work 48 % on node2"},
		{"another's work on other cores", func(r *metrics.Run) {
			busy(r, 2, 50, 98)
			r.Nodes[1].Config.Cores, r.Nodes[1].Config.MaxProcs = "0", 1
			r.Nodes[1].Summary.Saturation.ProcessCPUPercent, r.Nodes[1].Summary.Saturation.OwnCoresPercent = 97, 99
		}, metrics.LimitServerCPU, "node1", "limited by server CPU: 99 % on node1"},
		{"another's work beside an idle run", func(r *metrics.Run) { busy(r, 2, 20, 60) }, metrics.LimitConcurrency, "", "other work 40 % on node2"},
		{"stolen time", func(r *metrics.Run) { busy(r, 1, 60, 95); r.Nodes[1].Summary.Saturation.StolenPercent = 35 }, metrics.LimitOther, "node1", "35 %"},
		{"garbage", func(r *metrics.Run) { busy(r, 1, 97, 97); r.Nodes[1].Summary.Saturation.GCPercent = 31 }, metrics.LimitGC, "node1", "limited by garbage: collecting it takes 31 % of the server's time on node1; server CPU 97 %"},
		{"garbage of processes that hardly run, beside others' work", func(r *metrics.Run) {
			for i := range r.Nodes {
				busy(r, i, 9, 97)
				r.Nodes[i].Summary.Saturation.GCPercent = 31
			}
		}, metrics.LimitConcurrency, "", "garbage 31 % on node0"},
		{"garbage of an idle process", func(r *metrics.Run) { r.Nodes[1].Summary.Saturation.GCPercent = 31 }, metrics.LimitConcurrency, "", "garbage 31 % on node1"},
		{"link, received", func(r *metrics.Run) { r.Nodes[2].Summary.Usage.RxBytesPerS.Avg = 1.17e9 }, metrics.LimitLink, "node2", "limited by network link: 94 % of what it carries on node2; server CPU 50 %"},
		{"link, sent", func(r *metrics.Run) { r.Nodes[1].Summary.Usage.TxBytesPerS.Avg = 1.18e9 }, metrics.LimitLink, "node1", "94 %"},
		{"a lab's link", func(r *metrics.Run) {
			r.Lab = &metrics.Lab{Hosts: 4, LinkBitsPerS: 1e9}
			for i := range r.Nodes {
				r.Nodes[i].Summary.Usage.RxBytesPerS.Avg = 0
			}
			r.Nodes[3].Summary.Usage.TxBytesPerS.Avg = 0.12e9
		}, metrics.LimitLink, "node3", "96 %"},
		{"a link beside other work", func(r *metrics.Run) { busy(r, 2, 50, 98); r.Nodes[0].Summary.Usage.TxBytesPerS.Avg = 1.2e9 }, metrics.LimitLink, "node0", "other work 48 % on node2"},
		{"link of unknown speed", func(r *metrics.Run) { r.Nodes[2].Summary.Usage.RxBytesPerS.Avg = 1.2e9; r.Preflight = nil }, metrics.LimitConcurrency, "", ""},
		{"hottest server", func(r *metrics.Run) { busy(r, 0, 97, 97); r.Nodes[0].Summary.InWindow.Gets = 15e5 }, metrics.LimitHottest, "node0", "limited by hottest server: node0 with 1.20x the mean, its processors 97 %; server CPU 97 % on node0"},
		{"hottest server's link", func(r *metrics.Run) {
			r.Nodes[1].Summary.Usage.TxBytesPerS.Avg = 1.2e9
			r.Nodes[1].Summary.InWindow.Gets = 2e6
		}, metrics.LimitHottest, "node1", "node1 with 1.33x the mean, its network link 96 %"},
		{"hotter, and all are busy", func(r *metrics.Run) {
			busy(r, 0, 97, 97)
			busy(r, 1, 92, 92)
			r.Nodes[0].Summary.InWindow.Gets = 15e5
		}, metrics.LimitServerCPU, "node0", "hottest server 1.20x the mean (node0)"},
		{"hotter, and its client is busy", func(r *metrics.Run) { busy(r, 2, 97, 97); r.Nodes[0].Summary.InWindow.Gets = 15e5 }, metrics.LimitClientCPU, "node2", "hottest server 1.20x"},
		{"retransmits", func(r *metrics.Run) { r.Nodes[2].Summary.Saturation.Retransmits = 20408 }, metrics.LimitRetransmits, "node2", "limited by retransmits: 2.0 % of the segments from node2 were sent again; server CPU"},
		{"open loop", func(r *metrics.Run) {
			r.Offered = &metrics.Offered{Ops: 1000, OpsPerS: 50e3}
			r.Ops = 999
			busy(r, 0, 95, 95)
		}, metrics.LimitOffered, "", "limited by offered rate: 50k ops/s, of which 99.9 % were achieved; server CPU 95 % on node0"},
		{"saturated open loop", func(r *metrics.Run) { r.Offered = &metrics.Offered{Ops: 1000}; r.Ops = 900; busy(r, 0, 95, 95) }, metrics.LimitServerCPU, "node0", ""},
		{"crowded", func(r *metrics.Run) { busy(r, 0, 95, 95); r.Nodes[0].Summary.Saturation.Runnable = 34 }, metrics.LimitServerCPU, "node0", "8.5 tasks for each core"},
		{"a store that sleeps, beside another's work", func(r *metrics.Run) {
			hosted(r, "", false)
			together(r)
			for i := range r.Nodes {
				busy(r, i, 9, 99)
				r.Nodes[i].Summary.Saturation.ProcessCPUPercent, r.Nodes[i].Summary.Saturation.Runnable = 2, 5
			}
			r.Latency[metrics.CallLatency] = metrics.Quantiles{Mean: 503e3}
		}, metrics.LimitLatency, "", "limited by latency: 1.01e+03 calls in flight at a time, and a call takes 503 ms; more -workers, or a larger -batch; server CPU 99 %"},
		{"a store that others starve", func(r *metrics.Run) {
			hosted(r, "", false)
			together(r)
			for i := range r.Nodes {
				busy(r, i, 9, 99)
				r.Nodes[i].Summary.Saturation.ProcessCPUPercent, r.Nodes[i].Summary.Saturation.Runnable = 16, 8
			}
		}, metrics.LimitOther, "node0", "it takes 75 % of the processors of node0, servers 8 %, clients 8 %, network 8 %"},
		{"a store that is not seen", func(r *metrics.Run) {
			hosted(r, "only redis and root see the process", false)
			together(r)
			for i := range r.Nodes {
				busy(r, i, 30, 99)
			}
		}, metrics.LimitShared, "node0", "its processors 99 % on node0, clients 44 %, network 8 %, the store's process is not seen"},
		{"a store elsewhere", func(r *metrics.Run) {
			hosted(r, "it runs on another machine", true)
			busy(r, 0, 99, 99)
			busy(r, 1, 99, 99)
		}, metrics.LimitLatency, "", "a call takes 2 ms; more -workers, or a larger -batch; client CPU 50 % on node2"},
		{"nothing known", func(r *metrics.Run) {
			*r = metrics.Run{Nodes: []metrics.RunNode{{Name: "node0", Role: metrics.Server}}}
		}, metrics.LimitUnknown, "", "cannot tell"},
	} {
		t.Run(test.name, func(t *testing.T) {
			run := strained()
			test.strain(run)
			b := Find(*run)
			if b.Kind != test.limit || b.Node != test.node || !strings.Contains(b.Sentence, test.want) {
				t.Errorf("%s on %q: %s\nwant %s on %q: %s", b.Kind, b.Node, b.Sentence, test.limit, test.node, test.want)
			}
		})
	}
}

// The figures are closed forms of what went in.
func TestBottleneckFigures(t *testing.T) {
	run := strained()
	run.Nodes[1].Summary.InWindow.Gets = 3e6
	run.Nodes[3].Summary.Saturation.Runnable = 12
	got := Find(*run).Figures
	want := metrics.BottleneckFigures{
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
