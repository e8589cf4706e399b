package profile

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"kvlab/metrics"
	"kvlab/plots/folder"
)

// profileOf makes a profile of stacks from the root, such as "main f g", and their seconds.
func profileOf(stacks map[string]int64) *profile.Profile {
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}}
	known := map[string]*profile.Location{}
	for stack, seconds := range stacks {
		s := &profile.Sample{Value: []int64{1, seconds * 1e9}}
		for _, name := range strings.Fields(stack) {
			if known[name] == nil {
				f := &profile.Function{ID: uint64(len(known) + 1), Name: name}
				known[name] = &profile.Location{ID: f.ID, Line: []profile.Line{{Function: f}}}
				p.Function, p.Location = append(p.Function, f), append(p.Location, known[name])
			}
			s.Location = slices.Insert(s.Location, 0, known[name])
		}
		p.Sample = append(p.Sample, s)
	}
	return p
}

// TestSum: of a recursion, a function counts once; what is preempted counts as the function that it
// stopped; the two tables are of two orders.
func TestSum(t *testing.T) {
	root, all := sum([]*profile.Profile{profileOf(map[string]int64{"main f f": 3, "main g": 1, "main g runtime.asyncPreempt": 1}), profileOf(map[string]int64{"main f": 1, "main g h": 4})})
	for name, want := range map[string][2]int64{"main": {0, 10}, "f": {4, 4}, "g": {2, 6}, "h": {4, 4}} {
		if f := all[name]; f.Flat != want[0]*1e9 || f.Total != want[1]*1e9 {
			t.Errorf("%s: %d and %d, want %v s", name, f.Flat, f.Total, want)
		}
	}
	var flat []string
	for _, f := range longest(all, func(f *function) int64 { return f.Flat }) {
		flat = append(flat, f.Name)
	}
	if root.Total != 10e9 || !slices.Equal(flat, []string{"f", "h", "g", "main"}) {
		t.Errorf("%d ns, %q", root.Total, flat)
	}
}

// TestLayOut: each box is as wide as its share, on its caller, and beside its longer neighbours.
func TestLayOut(t *testing.T) {
	root, _ := sum([]*profile.Profile{profileOf(map[string]int64{"main f x": 3, "main f": 1, "main g": 5, "other": 1, "tiny": 0})})
	want := map[string][3]float64{ // x, width, level
		"all": {0, 1000, 0}, "main": {0, 900, 1}, "g": {0, 500, 2}, "f": {500, 400, 2}, "x": {500, 300, 3}, "other": {900, 100, 1},
	}
	boxes := layOut(root)
	for _, b := range boxes {
		if w, known := want[b.Name]; !known || math.Abs(b.X-w[0])+math.Abs(b.Width-w[1]) > 1e-9 || float64(b.Level) != w[2] {
			t.Errorf("%s: x %v, width %v, level %d, want %v", b.Name, b.X, b.Width, b.Level, w)
		}
	}
	if len(boxes) != len(want) {
		t.Errorf("%d boxes, want %d", len(boxes), len(want))
	}
	svg := string(flame(root, `a "title"`))
	if !strings.Contains(svg, "<title>main: 9.00 s, 90.0 %; in itself 0.0 %</title>") || strings.Count(svg, "<rect ") != len(want) || !strings.Contains(svg, "&#34;title&#34;") {
		t.Error(svg)
	}
}

// TestPart: the profiles of two servers are one role; a missing one and a broken one are told.
func TestPart(t *testing.T) {
	dir := t.TempDir()
	run := &folder.Run{Run: metrics.Run{Latency: map[string]metrics.Quantiles{
		metrics.OpLatency: {Mean: 1000}, metrics.WaitLatency: {Mean: 100}, metrics.QueueLatency: {Mean: 100}, metrics.WireLatency: {Mean: 200}, metrics.ServerLatency: {Mean: 600},
	}}}
	if part(dir, run) != nil {
		t.Error("a run without profiles has a part")
	}
	profiles := filepath.Join(dir, metrics.ProfileFolder)
	if err := os.Mkdir(profiles, 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(name string, text []byte) {
		if err := os.WriteFile(filepath.Join(profiles, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, p := range map[string]*profile.Profile{
		"server0.pb.gz": profileOf(map[string]int64{"serve kvlab/kvs/engine.(*Mutex).Apply hot<T>": 4}),
		"server1.pb.gz": profileOf(map[string]int64{"serve write": 6, "serve kvlab/kvs/engine.(*Mutex).Apply kvlab/kvs/engine.find": 2}),
	} {
		var out bytes.Buffer
		if err := p.Write(&out); err != nil {
			t.Fatal(err)
		}
		write(name, out.Bytes())
	}
	write("client0.pb.gz", []byte("no profile"))
	write("store0.txt", []byte("want perf\n"))
	page := string(part(dir, run).Body)
	for _, want := range []string{
		`<tbody>` + "\n" + `<tr><td class="name">write</td><td>6.00</td><td>50.0 %</td><td>6.00</td><td>50.0 %</td></tr>` + "\n" + `<tr><td class="name">hot&lt;T&gt;</td>`,
		`<tbody>` + "\n" + `<tr><td class="name">serve</td><td>0.00</td><td>0.0 %</td><td>12.00</td><td>100.0 %</td></tr>`,
		`profiles/server0.pb.gz profiles/server1.pb.gz</code> opens 2 profiles`,
		`<td class="name">client</td><td>0.2</td><td>20.0 %</td>`, `<td class="name">in flight</td><td>0.2</td><td>20.0 %</td>`,
		`<td class="name">server</td><td>0.3</td><td>30.0 %</td>`, `<td class="name">store</td><td>0.3</td><td>30.0 %</td>`, // half of its profile is the engine's
		`No profile of store0: want perf.`, `Profiles/client0.pb.gz: `, `<title>hot&lt;T&gt;: 4.00 s, 33.3 %;`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
}

// TestSplitForeign: a foreign store's part of a call is the processor time that its process uses for
// one.
func TestSplitForeign(t *testing.T) {
	run := metrics.Run{
		Latency: map[string]metrics.Quantiles{metrics.OpLatency: {Mean: 1000}, metrics.WaitLatency: {Mean: 100}, metrics.WireLatency: {Mean: 900}},
		Used:    map[metrics.Role]metrics.Used{metrics.Server: {Cores: metrics.AvgPeak{Avg: 0.5}}},
		Nodes:   []metrics.RunNode{{Role: metrics.Client, Summary: &metrics.Summary{WindowLengthS: 2, InWindow: metrics.Counts{Calls: 4000}}}},
	}
	parts, whole := split(run, nil)
	got := map[string]float64{}
	for _, p := range parts {
		got[p.Name] = p.Percent
	}
	if math.Abs(got["client"]-10) > 1e-9 || math.Abs(got["store"]-25) > 1e-9 || math.Abs(got["in flight"]-65) > 1e-9 || whole != "of the mean time of an operation, 1 ms" {
		t.Errorf("%v %q, want 10, 65 and 25 %%", got, whole)
	}
}
