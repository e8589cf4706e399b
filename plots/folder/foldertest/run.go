// Package foldertest makes up run folders and sweep folders for tests.
package foldertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
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

const (
	loadSeconds   = 3
	warmUpSeconds = 5
)

// OpsPerCall is the operations of each call of such a run.
const OpsPerCall = 8192

// made is a run being made up: what its nodes did, second by second.
type made struct {
	Plan
	rng    *rand.Rand
	start  time.Time // of the window
	run    metrics.Run
	files  fstest.MapFS
	memory float64 // GiB that the current node's system takes
}

// MakeRun makes up a run folder with the shape of a real one: load, warm-up,
// window and drain, noise, and nodes that do not report at the same moments.
func MakeRun(t testing.TB, p Plan) fstest.MapFS {
	t.Helper()
	t.Logf("seed %d", p.Seed)
	m := &made{
		Plan: p, rng: rand.New(rand.NewPCG(p.Seed, 1)),
		start: time.Date(2026, 11, 21, 15, 30, 9, 0, time.UTC), files: fstest.MapFS{},
	}
	m.run = metrics.Run{
		ID: p.ID, Started: m.start.Add(-9 * time.Second), Ended: m.start.Add(time.Duration(p.WindowS+1) * time.Second),
		Command: []string{"kvscluster", fmt.Sprint(p.Servers), fmt.Sprint(p.Clients)}, GitCommit: "ade2e75", Seed: p.Seed,
		Workload: map[string]string{"workload": "YCSB-B", "theta": "0.99", "records": "1000000", "batch": "8192",
			"workers": "64", "value-size": "128", "seed": fmt.Sprint(p.Seed), "secs": fmt.Sprint(p.WindowS)},
		WindowStart: m.start, WindowS: float64(p.WindowS), OverlapShare: 0.998, Verdict: p.Verdict,
		Latency: map[string]metrics.Quantiles{}, Usage: map[metrics.Role]metrics.Table{},
	}
	for i := range p.Servers + p.Clients {
		m.node(t, i)
	}
	m.finish()
	text, err := json.MarshalIndent(m.run, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	m.files["run.json"] = &fstest.MapFile{Data: text}
	return m.files
}

// node makes up one node's file and its part of run.json.
func (m *made) node(t testing.TB, i int) {
	role, rate := metrics.Server, m.ClientOpsPerS*float64(m.Clients)/float64(m.Servers)
	if i >= m.Servers {
		role, rate = metrics.Client, m.ClientOpsPerS
	}
	rate *= 0.97 + 0.06*m.rng.Float64()
	name := fmt.Sprintf("node%d", i)
	if m.NodeName != nil {
		name = m.NodeName(i)
	}
	config := &metrics.Config{
		Args:  []string{"-node", name},
		Flags: map[string]string{"node": name, "workload": "YCSB-B"},
		Host: metrics.Host{Hostname: name + ".lab", CPUModel: "Intel(R) Xeon(R) D-1548 @ 2.00GHz", Cores: 16,
			MemoryTotalBytes: 64 << 30, Kernel: "6.8.0-31-generic", OS: "Ubuntu 24.04", GoVersion: "go1.26.8", GitCommit: "ade2e75"},
		Binary: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
	}
	offset := m.rng.Float64() * 0.9
	m.memory = 2 + 0.4*m.rng.Float64()
	records := []metrics.Record{{Node: name, Role: role, Time: m.at(-loadSeconds - warmUpSeconds - 1), Config: config}}
	summary := &metrics.Summary{WindowStart: m.start, WindowLengthS: float64(m.WindowS)}
	summary.Usage.DataInterface = "eno1d1"
	for s := -loadSeconds - warmUpSeconds - 1; s < m.WindowS+2; s++ {
		records = append(records, m.second(t, name, role, float64(s)+offset, rate, summary)...)
	}
	m.run.Nodes = append(m.run.Nodes, metrics.RunNode{Name: name, Role: role, Address: "10.1.1.1", Config: config, Summary: summary})
	records = append(records, metrics.Record{Node: name, Role: role, Time: m.at(float64(m.WindowS) + 3), Summary: summary})
	var text bytes.Buffer
	for _, record := range records {
		if err := metrics.WriteRecord(&text, record); err != nil {
			t.Fatal(err)
		}
	}
	m.files[fmt.Sprintf("kvs%s-node%d.jsonl", role, i)] = &fstest.MapFile{Data: text.Bytes()}
}

// at is the wall clock some seconds after the window's start.
func (m *made) at(s float64) time.Time { return m.start.Add(time.Duration(s * 1e9)) }

// second makes up what a node reports at second s.
func (m *made) second(t testing.TB, name string, role metrics.Role, s, rate float64, sum *metrics.Summary) []metrics.Record {
	phase, busy := m.phase(s), m.busy(s)
	noise := 1 + 0.04*m.rng.NormFloat64()
	ops := uint64(rate * busy * max(0, noise))
	counts := metrics.Counts{Gets: ops * 95 / 100, Puts: ops - ops*95/100, Hits: ops * 95 / 100, Calls: ops / OpsPerCall}
	if phase == metrics.Load {
		counts = metrics.Counts{Puts: ops, Calls: ops / OpsPerCall}
	}
	bytesPerS := float64(ops) * 140
	in := metrics.InterfaceUsage{Name: "eno1d1", RxBytesPerS: bytesPerS, TxBytesPerS: bytesPerS * 0.12}
	if role == metrics.Server {
		in.RxBytesPerS, in.TxBytesPerS = in.TxBytesPerS, in.RxBytesPerS
	}
	usage := metrics.Usage{
		Phase: phase, LengthS: 1, CPUPercent: min(100, 2+80*busy*noise), DataInterface: "eno1d1",
		MemoryUsedBytes: uint64((m.memory + 0.01*(s+9) + 0.3*busy) * (1 << 30)), MemoryTotalBytes: 64 << 30,
		Interfaces: []metrics.InterfaceUsage{{Name: "lo"}, in},
	}
	record := func() metrics.Record { return metrics.Record{Node: name, Role: role, Time: m.at(s)} }
	interval, sampled := record(), record()
	interval.Interval = &metrics.Interval{Phase: phase, LengthS: 1, Counts: counts}
	sampled.Usage = &usage
	records := []metrics.Record{interval, sampled}
	sum.Total = sum.Total.Add(counts)
	if phase != metrics.Window {
		return records
	}
	sum.InWindow = sum.InWindow.Add(counts)
	widen(&sum.Usage.CPUPercent, usage.CPUPercent, m.WindowS)
	widen(&sum.Usage.MemoryBytes, float64(usage.MemoryUsedBytes), m.WindowS)
	widen(&sum.Usage.RxBytesPerS, in.RxBytesPerS, m.WindowS)
	widen(&sum.Usage.TxBytesPerS, in.TxBytesPerS, m.WindowS)
	if role == metrics.Client {
		records = append(records, m.latencies(t, record(), int(counts.Calls))...)
	}
	return records
}

// phase is what a run is in at second s.
func (m *made) phase(s float64) metrics.Phase {
	switch {
	case s < -loadSeconds-warmUpSeconds:
		return metrics.Idle
	case s < -warmUpSeconds:
		return metrics.Load
	case s < 0:
		return metrics.WarmUp
	case s < float64(m.WindowS):
		return metrics.Window
	case s < float64(m.WindowS)+1:
		return metrics.Drain
	}
	return metrics.Done
}

// busy is how hard a run worked, 0 to 1, in the second up to s.
func (m *made) busy(s float64) float64 {
	const steps = 50
	sum := 0.0
	for i := range steps {
		at := s - float64(i)/steps
		switch m.phase(at) {
		case metrics.Load:
			sum += 0.45
		case metrics.WarmUp:
			sum += 1 - 0.5*math.Exp(-at-warmUpSeconds)
		case metrics.Window:
			sum++
		case metrics.Drain:
			if at < float64(m.WindowS)+0.03 {
				sum++
			}
		}
	}
	return sum / steps
}

// widen adds one of n samples to an average and a peak.
func widen(a *metrics.AvgPeak, v float64, n int) {
	a.Avg += v / float64(n)
	a.Peak = max(a.Peak, v)
}

// latencies makes up one second's histograms of a client: log-normal calls,
// and operations that wait a little longer.
func (m *made) latencies(t testing.TB, record metrics.Record, calls int) []metrics.Record {
	call, op := latency.NewDistribution(), latency.NewDistribution()
	for range calls {
		us := 9000 * math.Exp(0.45*m.rng.NormFloat64())
		call.RecordValue(int64(us))
		op.RecordValues(int64(us*1.3+400), OpsPerCall)
	}
	return []metrics.Record{
		histogramRecord(t, record, metrics.CallLatency, call), histogramRecord(t, record, metrics.OpLatency, op),
	}
}

// histogramRecord puts a distribution of the window into a record.
func histogramRecord(t testing.TB, record metrics.Record, name string, d *latency.Distribution) metrics.Record {
	t.Helper()
	text, err := d.EncodeV2()
	if err != nil {
		t.Fatal(err)
	}
	record.Histogram = &metrics.Histogram{Name: name, Phase: metrics.Window, LengthS: 1, HDR: string(text)}
	return record
}

// finish fills in run.json's totals.
func (m *made) finish() {
	tables := map[metrics.Role][]metrics.Table{}
	for _, node := range m.run.Nodes {
		tables[node.Role] = append(tables[node.Role], node.Summary.Usage)
		if node.Role == metrics.Client {
			m.run.Ops += node.Summary.InWindow.Ops()
			m.run.Total = m.run.Total.Add(node.Summary.Total)
		}
	}
	for role, nodes := range tables {
		m.run.Usage[role] = metrics.GroupTable(nodes)
	}
	m.run.OpsPerS = float64(m.run.Ops) / float64(m.WindowS)
	m.run.Applied = m.run.Total
	us := func(v float64) *float64 { return &v }
	m.run.Latency[metrics.CallLatency] = metrics.Quantiles{Count: m.run.Ops / OpsPerCall, Mean: 9950, P50: us(9000), P90: us(16020), P99: us(25600), Max: 48211}
	m.run.Latency[metrics.OpLatency] = metrics.Quantiles{Count: m.run.Ops / OpsPerCall, Mean: 13335, P50: us(12100), P90: us(21226), P99: us(33680), P999: us(47010), P9999: us(60010), Max: 63074}
}

// Valid is the verdict of a run that may be believed.
var Valid = metrics.Verdict{Valid: true}

// WriteFolder writes files as a run folder below dir.
func WriteFolder(t testing.TB, dir string, files fstest.MapFS) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, file := range files {
		if err := os.WriteFile(filepath.Join(dir, name), file.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
