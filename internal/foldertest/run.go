// Package foldertest makes up run folders and sweep folders for tests.
package foldertest

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"kvlab/metrics"
	"kvlab/metrics/latency"
)

//go:embed *.json
var fixtures embed.FS

// fixture returns a new copy of what one of the files says.
func fixture[T any](name string) (value T) {
	text, err := fixtures.ReadFile(name)
	if err := errors.Join(err, json.Unmarshal(text, &value)); err != nil {
		panic(err)
	}
	return value
}

// Gallery has a run of each shape.
var Gallery = fixture[map[string]Plan]("gallery.json")

// Plan describes a run to make up. The rest is as in run.json, whose node stands for
// every node.
type Plan struct {
	ID               string
	Servers, Clients int
	WindowS          int
	ClientOpsPerS    float64
	Verdict          metrics.Verdict
	NodeName         string // the format of a node's number; "" for node%d
	Seed             uint64
}

// OpsPerCall is the operations of each call of such a run.
const OpsPerCall = 8192

// Valid is the verdict of a run that may be believed.
var Valid = metrics.Verdict{Valid: true}

// phases are what a run is in, for how many seconds, and how hard it works then.
var phases = []struct {
	name    metrics.Phase
	seconds int // 0: as the plan says
	busy    float64
}{{metrics.Idle, 1, 0}, {metrics.Load, 3, 0.45}, {metrics.WarmUp, 5, 0.8}, {metrics.Window, 0, 1}, {metrics.Drain, 1, 0.1}, {metrics.Done, 1, 0}}

// MakeRun makes up a run folder with the shape of a real one: load, warm-up,
// window and drain, noise, and nodes that do not report at the same moments.
func MakeRun(t testing.TB, p Plan) fstest.MapFS {
	t.Helper()
	t.Logf("seed %d", p.Seed)
	m := madeOnce(t, p)
	m.run.ID = p.ID
	text, err := json.Marshal(m.run)
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{"run.json": &fstest.MapFile{Data: text}}
	for name, records := range m.records {
		files[name] = &fstest.MapFile{Data: bytes.Clone(records)}
	}
	return files
}

// made is a run without its id. Nothing changes it.
type made struct {
	run     metrics.Run
	records map[string][]byte // by a file's name
}

// runs are those that were made up, by their plans without ids. Most of their time goes
// into encoding histograms.
var runs = struct {
	sync.Mutex
	made map[Plan]made
}{made: make(map[Plan]made)}

// madeOnce makes up the run of a plan once in a process.
func madeOnce(t testing.TB, p Plan) made {
	t.Helper()
	p.ID = ""
	runs.Lock()
	defer runs.Unlock()
	m, ok := runs.made[p]
	if !ok {
		m = p.make(t)
		runs.made[p] = m
	}
	return m
}

func (p Plan) make(t testing.TB) made {
	t.Helper()
	rng, records := rand.New(rand.NewPCG(p.Seed, 1)), make(map[string][]byte)
	collector, recorders := latency.NewCollector(1, 1)
	run := fixture[metrics.Run]("run.json")
	used := run.Nodes[0].Summary.Usage
	run.Schema, run.Seed, run.WindowS, run.Verdict, run.Nodes = metrics.Schema, p.Seed, float64(p.WindowS), p.Verdict, nil
	run.Usage = map[metrics.Role]metrics.Table{metrics.Server: used, metrics.Client: used}
	for i := range p.Servers + p.Clients {
		node, text := p.node(t, i, rng, collector, recorders[0])
		run.Nodes = append(run.Nodes, node)
		records[fmt.Sprintf("kvs%s-node%d.jsonl", node.Role, i)] = text
		if node.Role == metrics.Client {
			run.Total = run.Total.Add(node.Summary.Total)
		}
	}
	run.Ops, run.Applied, run.Latency = run.InWindow().Ops(), run.Total, collector.Window.Quantiles()
	run.OpsPerS = float64(run.Ops) / run.WindowS
	return made{run, records}
}

// node makes up one node: its part of run.json and its file.
func (p Plan) node(t testing.TB, i int, rng *rand.Rand, collector *latency.Collector, recorder *latency.Recorder) (metrics.RunNode, []byte) {
	node, rate := fixture[metrics.Run]("run.json").Nodes[0], p.ClientOpsPerS
	if i < p.Servers {
		node.Role, rate = metrics.Server, rate*float64(p.Clients)/float64(p.Servers)
	}
	node.Name = fmt.Sprintf(cmp.Or(p.NodeName, "node%d"), i)
	node.Config.Schema, node.Config.Host.Hostname = metrics.Schema, node.Name+".lab"
	node.Summary.WindowLengthS = float64(p.WindowS)
	var text bytes.Buffer
	at := node.Summary.WindowStart.Add(time.Duration((rng.Float64()*0.9 - 9) * 1e9))
	write := func(record metrics.Record) {
		record.Node, record.Role, record.Time = node.Name, node.Role, at
		if err := metrics.WriteRecord(&text, record); err != nil {
			t.Fatal(err)
		}
	}
	write(metrics.Record{Config: node.Config})
	if node.Role == metrics.Client {
		told := &metrics.WindowLength{AskedS: float64(p.WindowS) / 2, UsedS: float64(p.WindowS)}
		write(metrics.Record{Arrival: &metrics.Arrival{Event: metrics.Told, Window: told}})
	}
	for _, phase := range phases {
		for range cmp.Or(phase.seconds, p.WindowS) {
			busy := phase.busy * (1 + 0.04*rng.NormFloat64())
			ops := uint64(rate * busy)
			counts := metrics.Counts{Gets: ops * 95 / 100, Puts: ops - ops*95/100, Hits: ops * 95 / 100, Calls: ops / OpsPerCall}
			write(metrics.Record{Interval: &metrics.Interval{Phase: phase.name, LengthS: 1, Counts: counts}})
			write(metrics.Record{Usage: &metrics.Usage{
				Phase: phase.name, LengthS: 1, CPUPercent: 2 + 80*busy, MemoryUsedBytes: uint64((2 + 0.3*busy) * (1 << 30)), MemoryTotalBytes: 64 << 30,
				DataInterface: "eno1d1", Interfaces: []metrics.InterfaceUsage{{Name: "lo"}, {Name: "eno1d1", RxBytesPerS: 140 * float64(ops), TxBytesPerS: 17 * float64(ops)}},
			}})
			node.Summary.Total = node.Summary.Total.Add(counts)
			if phase.name == metrics.Window {
				node.Summary.InWindow = node.Summary.InWindow.Add(counts)
				if node.Role == metrics.Client {
					for _, h := range timed(t, rng, counts.Calls, collector, recorder) {
						write(metrics.Record{Histogram: &h})
					}
				}
			}
			at = at.Add(time.Second)
		}
	}
	write(metrics.Record{Summary: node.Summary})
	return node, text.Bytes()
}

// timed makes up one second's latencies of a client: log-normal calls, and
// operations that wait a little longer.
func timed(t testing.TB, rng *rand.Rand, calls uint64, collector *latency.Collector, recorder *latency.Recorder) []metrics.Histogram {
	for range calls {
		call := time.Duration(9e6 * math.Exp(0.45*rng.NormFloat64()))
		recorder.Observe(&latency.Timing{Phase: metrics.Window, Ops: latency.Kinds{OpsPerCall}, Call: call, Op: call*13/10 + 400*time.Microsecond, Queue: time.Microsecond})
	}
	all, err := collector.Collect(0, 1)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// WriteFolder writes files as a run folder below dir.
func WriteFolder(t testing.TB, dir string, files fstest.MapFS) {
	t.Helper()
	if err := errors.Join(os.RemoveAll(dir), os.CopyFS(dir, files)); err != nil {
		t.Fatal(err)
	}
}

// CheckXML wants a well-formed document.
func CheckXML(t *testing.T, name string, text []byte) {
	t.Helper()
	var err error
	for d := xml.NewDecoder(bytes.NewReader(text)); err == nil; {
		_, err = d.Token()
	}
	if !errors.Is(err, io.EOF) {
		t.Fatalf("%s: %v", name, err)
	}
}
