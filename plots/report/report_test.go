package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"html"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"kvlab/internal/foldertest"
	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/metrics/latency"
	"kvlab/plots/folder"
)

// hostile is a node name that would break out of HTML, SVG and a terminal.
const hostile = `</svg></td><script>alert("x")</script>&\x1b[31m`

func TestReportEscapesForeignWords(t *testing.T) {
	r := loadMade(t, foldertest.MakeRun(t, foldertest.Plan{
		ID: hostile, Servers: 1, Clients: 1, WindowS: 3, ClientOpsPerS: 1e6, Seed: 8,
		Verdict:  metrics.Verdict{Reason: "bad <b>bytes</b>\x1b[0m\x00", Node: hostile},
		NodeName: "%d" + hostile + "\x1b\x00",
	}))
	page, err := Report(r)
	if err != nil {
		t.Fatal(err)
	}
	wantNoScripts(t, page)
	for _, tag := range tags(t, page) {
		if tag == "b" {
			t.Errorf("the report has an element %q that a node named", tag)
		}
	}
	if summary := RunSummary(r.Run); strings.ContainsAny(summary, "\x1b\x00") {
		t.Errorf("the summary has control characters: %q", summary)
	}
}

// wantNoScripts wants a page's scripts to be data, and its policy to let none run.
func wantNoScripts(t *testing.T, page []byte) {
	t.Helper()
	if policy := `content="default-src 'none'; style-src 'unsafe-inline'"`; !bytes.Contains(page, []byte(policy)) {
		t.Errorf("the page lacks the policy %s", policy)
	}
	for i, part := range bytes.Split(page, []byte("<script"))[1:] {
		tag, rest, _ := bytes.Cut(part, []byte(">"))
		if !bytes.Contains(tag, []byte(`type="application/json"`)) {
			t.Errorf("script %d would run", i)
			continue
		}
		if text, _, _ := bytes.Cut(rest, []byte("</script>")); !json.Valid(text) {
			t.Errorf("script %d is no JSON: %.80q", i, text)
		}
	}
}

// tags returns the names of all elements of a well-formed page.
func tags(t *testing.T, page []byte) []string {
	t.Helper()
	var names []string
	for d := xml.NewDecoder(bytes.NewReader(page)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return names
		}
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok {
			names = append(names, start.Name.Local)
		}
	}
}

func TestReportSaysWhatMatters(t *testing.T) {
	r := loadMade(t, foldertest.MakeRun(t, foldertest.Gallery["cluster"]))
	r.Nodes[4].Summary.Peers = []metrics.PeerCounts{{Peer: "node0", Counts: metrics.Counts{Gets: 5}}, {Peer: "node1", Counts: metrics.Counts{Gets: 7}}}
	r.Nodes[0].Summary.Peers = []metrics.PeerCounts{{Peer: "node4", Counts: metrics.Counts{Gets: 5}}}
	r.Nodes[1].Summary.Peers = []metrics.PeerCounts{{Peer: "node4", Counts: metrics.Counts{Gets: 6}}}
	limited(r)
	r.Nodes[4].Summary.Verification = metrics.Verification{Checked: 1234567, Compared: 77160, Failures: 1, First: "key 7: wrong length"}
	page, err := Report(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`<p class="verdict good">VALID</p>`, format.Count(r.OpsPerS) + " ops/s", "4 servers + 4 clients", grouped(r.Ops) + " verified operations in 10.000 s",
		"<td>" + grouped(r.Total.Gets) + "</td><td>" + grouped(r.Applied.Gets) + "</td>",
		"1 of 2 client-server pairs do not agree", "node4 at node1", "1,234,567", "key 7: wrong length",
		"Intel(R) Xeon(R) D-1548", "64.0 GiB", "-theta", "0.99", "n/a", "<svg",
		`without a store (-engine null)</td><td>` + format.Count(2.5*r.OpsPerS) + "</td><td>2.50 x</td>", "CPU of the busiest server",
		`<p>-workload YCSB-B -theta 0.99, 1,000,000 records: the most popular record has 6.5 % of all operations, so at most 15 servers can be equally busy.</p>`,
		`<td class="name">node0</td><td>25.00 %</td><td>25.01 %</td>`, "<td>16</td><td>0.961</td><td>0.710</td><td>0.960</td>",
	} {
		if !strings.Contains(html.UnescapeString(string(page)), want) {
			t.Errorf("the report lacks %q", want)
		}
	}
	for _, never := range []string{" src=", "<link", "@import", "url(", "http://", "https://"} {
		if bytes.Contains(withoutNamespaces(page), []byte(never)) {
			t.Errorf("the report has %q: it must need nothing else", never)
		}
	}
	wantNoScripts(t, page)
	if got := len(folder.Hardware(r.Nodes)); got != 1 {
		t.Errorf("eight nodes alike take %d lines, want 1", got)
	}
}

// What is taken out of the page as it says is run.json again.
func TestReportHoldsItsData(t *testing.T) {
	r := loadMade(t, foldertest.MakeRun(t, foldertest.Plan{ID: "x", Servers: 1, Clients: 1, WindowS: 3, ClientOpsPerS: 1e6, Seed: 9,
		Verdict: metrics.Verdict{Reason: hostile}, NodeName: "%d" + hostile}))
	page, err := Report(r)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "report.html"), page, 0o644); err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(html.UnescapeString(string(page)), "sed -n")
	command, _, _ := strings.Cut(rest, "</pre>")
	extract := exec.Command("sh", "-c", "sed -n"+command)
	extract.Dir = dir
	if out, err := extract.CombinedOutput(); err != nil {
		t.Fatalf("sed -n%s: %v\n%s", command, err, out)
	}
	if got := readRunJSON(t, dir); !reflect.DeepEqual(got, r.Run) {
		t.Errorf("run.json out of the page is %+v, want %+v", got, r.Run)
	}
}

// withoutNamespaces returns a page without the names that look like addresses.
func withoutNamespaces(page []byte) []byte {
	return regexp.MustCompile(`xmlns(:xlink)?="[^"]*"`).ReplaceAll(page, nil)
}

func TestSummary(t *testing.T) {
	p99 := 2500.0
	used := metrics.Used{Cores: metrics.AvgPeak{Avg: 0.5, Peak: 0.6}, MachinePercent: 25, MemoryBytes: metrics.AvgPeak{Avg: 3e8, Peak: 4e8},
		RxBytesPerS: metrics.AvgPeak{Avg: 1.25e8, Peak: 2.5e8}, TxBytesPerS: metrics.AvgPeak{Avg: 1.25e9, Peak: 2.5e9}, Payload: true}
	run := metrics.Run{
		Used: map[metrics.Role]metrics.Used{metrics.Server: used, metrics.Rest: {Cores: metrics.AvgPeak{Avg: 0.25, Peak: 1}, MachinePercent: 12.5}},
		Nodes: []metrics.RunNode{
			{Name: "n0", Role: metrics.Server, Summary: &metrics.Summary{
				WindowLengthS: 2, InWindow: metrics.Counts{Gets: 24.8e6},
			}, Used: &used},
			{Name: "n1", Role: metrics.Client},
		},
		Result: metrics.Result{WindowS: 2, Ops: 24.8e6, OpsPerS: 12.4e6},
		Latency: map[string]metrics.Quantiles{metrics.CallLatency: {Count: 300, Mean: 1000, P99: &p99, Max: 3000,
			CI95: map[string][2]float64{"p99": {2100, 2900}}}},
	}
	want := `      node    role  ops/s  cores  peak  machine  resident MB  peak  in MB/s   peak  out MB/s    peak
        n0  server  12.4M   0.50  0.60   25.0 %          300   400    125.0  250.0    1250.0  2500.0
        n1  client      -      -     -        -            -     -        -      -         -       -
  the rest       -      -   0.25  1.00   12.5 %            -     -        -      -         -       -
in and out: what the calls carried, without headers, since servers and clients share an interface

closed loop
  latency ms  mean  p50  p90  p95  p99  p99.9  p99.99  max  samples
        call     1  n/a  n/a  n/a  2.5    n/a     n/a    3      300
call, 95 % intervals in ms: p99 2.1 to 2.9

1 server + 1 client: 12.4M ops/s in all, 24.8M ops in a 2 s window
`
	if got := RunSummary(run); got != want {
		t.Errorf("Summary is\n%s\nwant\n%s", got, want)
	}
}

// A saturated open loop has no percentiles, and says why.
func TestSummaryOfSaturation(t *testing.T) {
	const why = "saturated: 93.0 % of the offered rate"
	run := metrics.Run{
		Result: metrics.Result{WindowS: 2, Ops: 930, OpsPerS: 465}, Offered: &metrics.Offered{Arrivals: "poisson", OpsPerS: 500, Ops: 1000},
		Latency: map[string]metrics.Quantiles{metrics.CallLatency: {Count: 300, Mean: 1000, Max: 3000, Refused: why}},
	}
	want := `
open loop, 500 ops/s offered, Poisson: 93.0 % achieved
  latency ms  mean  p50  p90  p95  p99  p99.9  p99.99  max  samples
        call     1  n/a  n/a  n/a  n/a    n/a     n/a    3      300
n/a: saturated: 93.0 % of the offered rate
`
	if got := RunSummary(run); !strings.Contains(got, want) {
		t.Errorf("Summary is\n%s\nwant in it\n%s", got, want)
	}
	if _, err := Report(&folder.Run{Run: run, Latencies: latency.NewSet()}); err != nil {
		t.Error(err)
	}
}

func TestGrouped(t *testing.T) {
	for n, want := range map[uint64]string{0: "0", 999: "999", 1000: "1,000", 66120704: "66,120,704"} {
		if got := grouped(n); got != want {
			t.Errorf("grouped(%d) = %q, want %q", n, got, want)
		}
	}
}

// loadMade loads files or fails the test.
func loadMade(t testing.TB, files fstest.MapFS) *folder.Run {
	t.Helper()
	dir := t.TempDir()
	foldertest.WriteFolder(t, dir, files)
	r, err := folder.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A folder that lacks a file has a report that names the file.
func TestReportOfAnIncompleteFolder(t *testing.T) {
	for missing, words := range map[string]string{"run.json": "run.json", "kvsclient-node1.jsonl": "records of client node1; latencies of the window", "kvsserver-node0.jsonl": "records of server node0"} {
		files := foldertest.MakeRun(t, foldertest.Plan{ID: "x", Servers: 1, Clients: 1, WindowS: 3, ClientOpsPerS: 1e6, Verdict: foldertest.Valid, Seed: 6})
		delete(files, missing)
		page, err := Report(loadMade(t, files))
		if err != nil {
			t.Fatal(err)
		}
		foldertest.CheckXML(t, "report.html", page)
		if !strings.Contains(string(page), words) {
			t.Errorf("the report without %s lacks %q", missing, words)
		}
	}
}

// A flag stays on one line, and a number with its per cent sign. Text from nodes is escaped.
func TestUnbroken(t *testing.T) {
	for text, want := range map[string]string{
		"use --ab, or add -secs 30 (-verify none)": `Use <span class="flag">--ab</span>, or add <span class="flag">-secs</span> 30 (<span class="flag">-verify</span> none)`,
		"drifted by -3.4 % in a read-modify-write": "Drifted by -3.4\u00a0% in a read-modify-write",
		`<b> --x"`: `&lt;b&gt; <span class="flag">--x</span>&#34;`,
	} {
		if got := string(sentence(text)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// The commands that measure a run again have its own flags, such as --target, and say what no
// commit has.
func TestReproduce(t *testing.T) {
	r := loadMade(t, foldertest.MakeRun(t, foldertest.Plan{ID: "x", Servers: 1, Clients: 1, WindowS: 2, ClientOpsPerS: 1e6, Verdict: foldertest.Valid, Seed: 3}))
	r.Command, r.GitCommit, r.Changed = []string{"run-cluster.sh", "--target", "team 7.toml"}, "abc-dirty", []string{"a.go", "b.go"}
	r.Store = &metrics.Store{Name: "team-7", Binary: "12ab", Commit: "c0ffee"}
	page, err := Report(r)
	if err != nil {
		t.Fatal(err)
	}
	const again = "./run-cluster.sh --target &#39;team 7.toml&#39;"
	for _, want := range []string{"git checkout abc\n# with changes that no commit has: a.go, b.go\n" + again + "\n", again + " --trials 6\n",
		"The store&#39;s program has the SHA-256 12ab, and is of the commit c0ffee."} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page has no %q", want)
		}
	}
}
