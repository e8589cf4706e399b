// Package foldertest makes up run folders and sweep folders for tests.
package foldertest

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"testing"
	"testing/fstest"
	"time"

	"kvlab/metrics"
	"kvlab/metrics/latency"
)

// Plan describes a run to make up.
type Plan struct {
	ID               string
	Servers, Clients int
	WindowS          int
	ClientOpsPerS    float64
	Verdict          metrics.Verdict
	NodeName         func(i int) string // nil: node0, node1, ...
	Seed             uint64
}

// OpsPerCall is the operations of each call of such a run.
const OpsPerCall = 8192

// windowStart is when the window of every such run starts.
var windowStart = time.Date(2026, 11, 21, 15, 30, 9, 0, time.UTC)

// used is what every node used in the window.
var used = metrics.Table{CPUPercent: metrics.AvgPeak{Avg: 82, Peak: 91}, MemoryBytes: metrics.AvgPeak{Avg: 3e9, Peak: 3.2e9},
	RxBytesPerS: metrics.AvgPeak{Avg: 4e8, Peak: 4.4e8}, TxBytesPerS: metrics.AvgPeak{Avg: 5e7, Peak: 6e7}, DataInterface: "eno1d1"}

// MakeRun makes up a run folder with the shape of a real one: load, warm-up,
// window and drain, noise, and nodes that do not report at the same moments.
func MakeRun(t testing.TB, p Plan) fstest.MapFS {
	t.Helper()
	t.Logf("seed %d", p.Seed)
	rng, files, latencies := rand.New(rand.NewPCG(p.Seed, 1)), fstest.MapFS{}, latency.NewSet()
	run := metrics.Run{
		ID: p.ID, Started: windowStart.Add(-9 * time.Second), Ended: windowStart.Add(time.Duration(p.WindowS+1) * time.Second),
		Command: []string{"kvscluster", fmt.Sprint(p.Servers), fmt.Sprint(p.Clients)}, GitCommit: "ade2e75", Seed: p.Seed,
		Workload: map[string]string{"workload": "YCSB-B", "theta": "0.99", "records": "1000000", "batch": "8192",
			"workers": "64", "value-size": "128", "seed": fmt.Sprint(p.Seed), "secs": fmt.Sprint(p.WindowS)},
		WindowStart: windowStart, WindowS: float64(p.WindowS), OverlapShare: 0.998, Verdict: p.Verdict,
		Usage: map[metrics.Role]metrics.Table{metrics.Server: used, metrics.Client: used},
	}
	for i := range p.Servers + p.Clients {
		node, records := p.node(t, i, rng, latencies)
		run.Nodes = append(run.Nodes, node)
		files[fmt.Sprintf("kvs%s-node%d.jsonl", node.Role, i)] = &fstest.MapFile{Data: records}
		if node.Role == metrics.Client {
			run.Total = run.Total.Add(node.Summary.Total)
		}
	}
	run.Ops, run.Applied, run.Latency = run.InWindow().Ops(), run.Total, latencies.Quantiles()
	run.OpsPerS = float64(run.Ops) / run.WindowS
	text, err := json.MarshalIndent(run, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	files["run.json"] = &fstest.MapFile{Data: text}
	return files
}

// node makes up one node: its part of run.json and its file.
func (p Plan) node(t testing.TB, i int, rng *rand.Rand, latencies *latency.Set) (metrics.RunNode, []byte) {
	role, rate := metrics.Server, p.ClientOpsPerS*float64(p.Clients)/float64(p.Servers)
	if i >= p.Servers {
		role, rate = metrics.Client, p.ClientOpsPerS
	}
	name := fmt.Sprintf("node%d", i)
	if p.NodeName != nil {
		name = p.NodeName(i)
	}
	config := &metrics.Config{
		Args:  []string{"-node", name},
		Flags: map[string]string{"node": name, "workload": "YCSB-B"},
		Host: metrics.Host{Hostname: name + ".lab", CPUModel: "Intel(R) Xeon(R) D-1548 @ 2.00GHz", Cores: 16,
			MemoryTotalBytes: 64 << 30, Kernel: "6.8.0-31-generic", OS: "Ubuntu 24.04", GoVersion: "go1.26.8", GitCommit: "ade2e75"},
		Binary: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
	}
	summary := &metrics.Summary{WindowStart: windowStart, WindowLengthS: float64(p.WindowS), Usage: used}
	var text bytes.Buffer
	offset := rng.Float64() * 0.9
	write := func(second int, record metrics.Record) {
		record.Node, record.Role = name, role
		record.Time = windowStart.Add(time.Duration((float64(second) + offset) * 1e9))
		if err := metrics.WriteRecord(&text, record); err != nil {
			t.Fatal(err)
		}
	}
	write(-9, metrics.Record{Config: config})
	for s := -9; s < p.WindowS+2; s++ {
		phase, busy := p.phase(s)
		busy *= 1 + 0.04*rng.NormFloat64()
		ops := uint64(rate * busy)
		counts := metrics.Counts{Gets: ops * 95 / 100, Puts: ops - ops*95/100, Hits: ops * 95 / 100, Calls: ops / OpsPerCall}
		write(s, metrics.Record{Interval: &metrics.Interval{Phase: phase, LengthS: 1, Counts: counts}})
		write(s, metrics.Record{Usage: &metrics.Usage{
			Phase: phase, LengthS: 1, CPUPercent: 2 + 80*busy, MemoryUsedBytes: uint64((2 + 0.3*busy) * (1 << 30)), MemoryTotalBytes: 64 << 30,
			DataInterface: "eno1d1", Interfaces: []metrics.InterfaceUsage{{Name: "lo"}, {Name: "eno1d1", RxBytesPerS: 140 * float64(ops), TxBytesPerS: 17 * float64(ops)}},
		}})
		summary.Total = summary.Total.Add(counts)
		if phase != metrics.Window {
			continue
		}
		summary.InWindow = summary.InWindow.Add(counts)
		if role == metrics.Client {
			for _, h := range histograms(t, rng, int(counts.Calls)) {
				write(s, metrics.Record{Histogram: &h})
				if err := latencies.Add(h); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	write(p.WindowS+3, metrics.Record{Summary: summary})
	return metrics.RunNode{Name: name, Role: role, Address: "10.1.1.1", Config: config, Summary: summary}, text.Bytes()
}

// phase is what a run is in during a second, and how hard it works, 0 to 1.
func (p Plan) phase(second int) (metrics.Phase, float64) {
	switch {
	case second < -8:
		return metrics.Idle, 0
	case second < -5:
		return metrics.Load, 0.45
	case second < 0:
		return metrics.WarmUp, 0.8
	case second < p.WindowS:
		return metrics.Window, 1
	case second == p.WindowS:
		return metrics.Drain, 0.1
	}
	return metrics.Done, 0
}

// histograms makes up one second's latencies of a client: log-normal calls, and
// operations that wait a little longer.
func histograms(t testing.TB, rng *rand.Rand, calls int) (all []metrics.Histogram) {
	call, op := latency.NewDistribution(), latency.NewDistribution()
	for range calls {
		us := 9000 * math.Exp(0.45*rng.NormFloat64())
		call.RecordValue(int64(us))
		op.RecordValues(int64(us*1.3+400), OpsPerCall)
	}
	for name, d := range map[string]*latency.Distribution{metrics.CallLatency: call, metrics.OpLatency: op} {
		text, err := d.EncodeV2()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, metrics.Histogram{Name: name, Phase: metrics.Window, LengthS: 1, HDR: string(text)})
	}
	return all
}

// Valid is the verdict of a run that may be believed.
var Valid = metrics.Verdict{Valid: true}

// WriteFolder writes files as a run folder below dir.
func WriteFolder(t testing.TB, dir string, files fstest.MapFS) {
	t.Helper()
	if err := errors.Join(os.RemoveAll(dir), os.CopyFS(dir, files)); err != nil {
		t.Fatal(err)
	}
}

// Gallery has a run of each shape.
var Gallery = map[string]Plan{
	"small":   {ID: "20261121-153000", Servers: 1, Clients: 1, WindowS: 5, ClientOpsPerS: 4.8e6, Verdict: Valid, Seed: 1},
	"cluster": {ID: "20261121-154000", Servers: 4, Clients: 4, WindowS: 10, ClientOpsPerS: 3.1e6, Verdict: Valid, Seed: 2},
	"invalid": {ID: "20261121-160000", Servers: 2, Clients: 2, WindowS: 10, ClientOpsPerS: 2.2e6, Seed: 4,
		Verdict: metrics.Verdict{Reason: "client ok-ops 66,120,704 differ from server applied ops 66,112,512", Node: "node1"}},
	"crowd": {ID: "20261121-161000", Servers: 20, Clients: 20, WindowS: 3, ClientOpsPerS: 2e5, Verdict: Valid, Seed: 5,
		NodeName: func(i int) string { return fmt.Sprintf("node%d.kv.lab-PG0.utah.cloudlab.us", i) }},
}

// Read returns a file's content.
func Read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// CheckXML wants a well-formed document.
func CheckXML(t *testing.T, name string, text []byte) {
	t.Helper()
	for d := xml.NewDecoder(bytes.NewReader(text)); ; {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
}
