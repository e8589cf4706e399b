package folder

import (
	"strings"
	"testing"
	"testing/fstest"

	"kvlab/internal/foldertest"
	"kvlab/metrics"
)

// file returns a file of a made-up folder.
func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }

const (
	firstLine = `{"node":"n0","role":"server","time":"2026-11-21T15:00:00Z","config":{"schema":2}}` + "\n"
	oldLine   = `{"node":"n0","role":"server","time":"2026-11-21T15:00:00Z","config":{"args":[]}}` + "\n"
	goodLine  = `{"node":"n0","role":"server","time":"2026-11-21T15:00:00Z","interval":{"phase":"window","length_s":1}}` + "\n"
	otherNode = `{"node":"n1","role":"server","time":"2026-11-21T15:00:00Z","interval":{"phase":"window","length_s":1}}` + "\n"
	noTime    = `{"node":"n0","role":"server","interval":{"phase":"window","length_s":1}}` + "\n"
	longLine  = `{"node":"n0","role":"server","time":"2026-11-21T15:00:00Z","usage":{"phase":"window","length_s":1e9}}` + "\n"
	badHDR    = `{"node":"n0","role":"client","time":"2026-11-21T15:00:00Z","histogram":{"name":"call","phase":"window","hdr":"AAAA"}}` + "\n"
	badName   = `{"node":"n0","role":"client","time":"2026-11-21T15:00:00Z","histogram":{"name":"cal","phase":"window","hdr":"AAAA"}}` + "\n"
)

func TestLoadNamesFileAndLine(t *testing.T) {
	const server, client = "kvsserver-n0.jsonl", "kvsclient-n0.jsonl"
	for _, test := range []struct {
		name  string
		files fstest.MapFS
		want  string
	}{
		{"empty folder", fstest.MapFS{"notes.txt": file("x")}, "not a run folder"},
		{"run.json cut short", fstest.MapFS{"run.json": file("{\n\"id\": \"x\",\n")}, "run.json:3: "},
		{"run.json of another kind", fstest.MapFS{"run.json": file("{\n\"schema\": 2,\n\"id\": 7}")}, "run.json:3: "},
		{"garbage", fstest.MapFS{server: file(firstLine + "garbage\n" + goodLine)}, server + ":2: "},
		{"two nodes", fstest.MapFS{server: file(firstLine + goodLine + otherNode)}, server + ":3: record of server \"n1\" in the file of server \"n0\""},
		{"no config", fstest.MapFS{server: file(goodLine)}, server + ":1: record before the node's config"},
		{"an older run", fstest.MapFS{"run.json": file(`{"schema": 1, "seed": "7"}`)}, "run.json is of an older format: schema 1, want 2; "},
		{"a newer run", fstest.MapFS{"run.json": file(`{"schema": 3, "seed": "7"}`)}, "run.json is of a newer format: schema 3, want 2; "},
		{"a run of no format", fstest.MapFS{"run.json": file("{}")}, "run.json is of an older format: schema 0, want 2; "},
		{"older records", fstest.MapFS{server: file(oldLine + goodLine)}, server + ":1: it is of an older format: schema 0, want 2; "},
		{"no time", fstest.MapFS{server: file(noTime)}, server + ":1: record without a time"},
		{"impossible length", fstest.MapFS{server: file(firstLine + longLine)}, server + ":2: length_s is 1e+09"},
		{"corrupt histogram", fstest.MapFS{client: file(badHDR)}, client + ":1: "},
		{"unknown histogram", fstest.MapFS{client: file(badName)}, client + ":1: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := read(test.files)
			if err == nil || !strings.HasPrefix(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("Load gives %v, want one line that begins with %q", err, test.want)
			}
		})
	}
}

func TestLoadAnAbortedRun(t *testing.T) {
	whole := foldertest.Plan{ID: "x", Servers: 1, Clients: 1, WindowS: 3, ClientOpsPerS: 1e6, Verdict: foldertest.Valid, Seed: 5}
	for _, test := range []struct {
		name        string
		harm        func(fstest.MapFS)
		wantMissing string
		wantVerdict bool
	}{
		{"whole", func(fstest.MapFS) {}, "", true},
		{"no run.json", func(f fstest.MapFS) { delete(f, "run.json") }, "run.json", false},
		{"no client file", func(f fstest.MapFS) { delete(f, "kvsclient-node1.jsonl") }, "records of client node1; latencies of the window", true},
		{"a line cut short", func(f fstest.MapFS) { f["kvsclient-node1.jsonl"].Data = f["kvsclient-node1.jsonl"].Data[:3000] },
			"the end of a line (kvsclient-node1.jsonl:", true},
		{"an empty file", func(f fstest.MapFS) { f["kvsserver-node0.jsonl"].Data = nil }, "records of server node0", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			files := foldertest.MakeRun(t, whole)
			test.harm(files)
			r := load(t, files)
			if got := strings.Join(r.Missing, "; "); !strings.HasPrefix(got, test.wantMissing) || (got == "") != (test.wantMissing == "") {
				t.Errorf("missing is %q, want %q", got, test.wantMissing)
			}
			if r.Verdict.Valid != test.wantVerdict {
				t.Errorf("the verdict is %v, want valid: %v", r.Verdict, test.wantVerdict)
			}
		})
	}
}

func TestLoadWithoutRunJSONKnowsTheNodes(t *testing.T) {
	files := foldertest.MakeRun(t, foldertest.Plan{Servers: 2, Clients: 1, WindowS: 3, ClientOpsPerS: 1e6, Verdict: foldertest.Valid, Seed: 6})
	delete(files, "run.json")
	r := load(t, files)
	if r.Count(metrics.Server) != 2 || r.Count(metrics.Client) != 1 {
		t.Errorf("the nodes are %v, want 2 servers and 1 client", r.Nodes)
	}
	if r.Workload["workload"] != "YCSB-B" || r.Run.Latency[metrics.CallLatency].Count == 0 {
		t.Errorf("workload %v and latency %v were not taken from the logs", r.Workload, r.Run.Latency)
	}
}

func TestLogsStandInRunJSONsOrder(t *testing.T) {
	files := foldertest.MakeRun(t, foldertest.Plan{Servers: 11, Clients: 1, WindowS: 2, ClientOpsPerS: 1e6, Verdict: foldertest.Valid, Seed: 6})
	r := load(t, files)
	for i, log := range r.Logs {
		if log.Node != r.Nodes[i].Name {
			t.Errorf("log %d is of %s, want %s", i, log.Node, r.Nodes[i].Name)
		}
	}
}

// load loads files or fails the test.
func load(t testing.TB, files fstest.MapFS) *Run {
	t.Helper()
	r, err := read(files)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
