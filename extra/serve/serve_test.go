package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"kvlab/internal/foldertest"
)

func init() { lookEvery = 20 * time.Millisecond }

// served serves a folder with one run that has ended, and beside it a file that nobody may
// read.
func served(t *testing.T) (logs string, server *httptest.Server) {
	t.Helper()
	root := t.TempDir()
	logs = filepath.Join(root, "logs")
	foldertest.WriteFolder(t, filepath.Join(logs, "20261121-153000-main"), foldertest.MakeRun(t, foldertest.Gallery["small"]))
	begin(t, logs, "20261121-153000-main")
	for name, text := range map[string]string{"secret": "secret words", "logs/20261121-153000-main/report.html": "<title>a report</title>", "logs/20261121-153000-main/kvsserver-node0.log": "<html>words"} {
		if err := os.WriteFile(filepath.Join(root, filepath.FromSlash(name)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"out": "../secret", "whole": "/", "20261121-153000-main/up": "../../secret"} {
		if err := os.Symlink(to, filepath.Join(logs, link)); err != nil {
			t.Fatal(err)
		}
	}
	return logs, serveFolder(t, logs)
}

// serveFolder serves a folder of runs.
func serveFolder(t *testing.T, logs string) *httptest.Server {
	t.Helper()
	handler, err := Handler(logs)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		server.CloseClientConnections() // streams have no end
		server.Close()
	})
	return server
}

// begin points latest to a run, as a launcher does.
func begin(t *testing.T, logs, id string) {
	t.Helper()
	link := filepath.Join(logs, ".latest")
	if err := errors.Join(os.MkdirAll(filepath.Join(logs, id), 0o755), os.Symlink(id, link), os.Rename(link, filepath.Join(logs, "latest"))); err != nil {
		t.Fatal(err)
	}
}

// ask sends a request whose path is sent as it is, and returns the answer.
func ask(t *testing.T, server *httptest.Server, method, path, host string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest(method, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.URL.Opaque, r.Host = path, host
	answer, err := http.DefaultTransport.RoundTrip(r) // follows no redirection
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(text)
}

func TestRequests(t *testing.T) {
	_, server := served(t)
	own := strings.TrimPrefix(server.URL, "http://")
	const page = "/20261121-153000-main/report.html"
	for _, test := range []struct {
		method, path, host string
		want               int
		text, kind         string
	}{
		{"GET", "/", own, 200, "20261121-153000-main</a>", "text/html; charset=utf-8"},
		{"GET", "/", "localhost:1", 200, "live.js", ""},
		{"GET", "/", "[::1]:1", 200, "", ""},
		{"GET", "/", "[::1]", 200, "", ""},
		{"GET", "/", "127.0.0.1", 200, "", ""},
		{"GET", "/", "evil.example", 421, "", ""},
		{"GET", "/", "evil.example:7070", 421, "", ""},
		{"GET", "/", "127.0.0.1.evil.example", 421, "", ""},
		{"GET", "/", "localhost.evil.example", 421, "", ""},
		{"GET", "/", "192.168.0.1", 421, "", ""},
		{"GET", "/", "0.0.0.0", 421, "", ""},
		{"GET", "/metrics", "evil.example", 421, "", ""},
		{"GET", "/live", "evil.example", 421, "", ""},
		{"GET", page, "evil.example", 421, "", ""},
		{"POST", "/", own, 405, "", ""},
		{"HEAD", "/", own, 405, "", ""},
		{"DELETE", page, own, 405, "", ""},
		{"OPTIONS", "/", own, 405, "", ""},
		{"GET", "/live.js", own, 200, "EventSource", "text/javascript; charset=utf-8"},
		{"GET", page, own, 200, "a report", "text/html; charset=utf-8"},
		{"GET", "/latest/report.html", own, 200, "a report", ""},
		{"GET", "/20261121-153000-main/", own, 200, `<a href="run.json">`, "text/html; charset=utf-8"},
		{"GET", "/20261121-153000-main/kvsserver-node0.log", own, 200, "<html>words", "text/plain; charset=utf-8"},
		{"GET", "/20261121-153000-main/kvsserver-node0.jsonl", own, 200, `"role":"server"`, "text/plain; charset=utf-8"},
		{"GET", "/none/report.html", own, 404, "", ""},
		{"GET", "/out", own, 403, "", ""},
		{"GET", "/whole/etc/passwd", own, 403, "", ""},
		{"GET", "/20261121-153000-main/up", own, 403, "", ""},
		{"GET", "/../secret", own, 0, "", ""},
		{"GET", "/..%2fsecret", own, 0, "", ""},
		{"GET", "/%2e%2e/secret", own, 0, "", ""},
		{"GET", "/latest/../../secret", own, 0, "", ""},
		{"GET", "/..%5csecret", own, 0, "", ""},
		{"GET", "/20261121-153000-main/..%2f..%2fsecret", own, 0, "", ""},
		{"GET", "/%00", own, 0, "", ""},
	} {
		answer, text := ask(t, server, test.method, test.path, test.host)
		name := test.method + " " + test.path + " of " + test.host
		if answer.StatusCode != test.want && test.want > 0 || test.want == 0 && answer.StatusCode == 200 {
			t.Errorf("%s: %s", name, answer.Status)
		}
		if strings.Contains(text, "secret words") || strings.Contains(text, "root:") || !strings.Contains(text, test.text) {
			t.Errorf("%s: %.300q, want %q", name, text, test.text)
		}
		if kind := answer.Header.Get("Content-Type"); test.kind != "" && kind != test.kind {
			t.Errorf("%s: of type %s", name, kind)
		}
		if answer.Header.Get("X-Content-Type-Options") != "nosniff" || answer.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %v", name, answer.Header)
		}
		policy := answer.Header.Get("Content-Security-Policy")
		if answer.StatusCode == 200 && (test.path == page && !strings.HasPrefix(policy, "sandbox; default-src 'none';") || test.path == "/" && !strings.HasPrefix(policy, "default-src 'self';")) {
			t.Errorf("%s: policy %q", name, policy)
		}
	}
}

func get(t *testing.T, server *httptest.Server, path string) string {
	t.Helper()
	answer, text := ask(t, server, "GET", path, "localhost")
	if answer.StatusCode != 200 {
		t.Fatalf("%s: %s\n%s", path, answer.Status, text)
	}
	return text
}

// grow gives a run folder the first lines of its nodes' files, and half of the next one.
func grow(t *testing.T, dir string, files fstest.MapFS, lines int) {
	t.Helper()
	for name, file := range files {
		all := strings.SplitAfter(string(file.Data), "\n")
		if !strings.HasSuffix(name, ".jsonl") || lines >= len(all) {
			continue
		}
		text := strings.Join(all[:lines], "") + all[lines][:len(all[lines])/2]
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// stream is a stream of events.
type stream struct {
	t   *testing.T
	in  *bufio.Scanner
	end func() error
}

func open(t *testing.T, server *httptest.Server) *stream {
	t.Helper()
	answer, err := http.Get(server.URL + "/live")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { answer.Body.Close() })
	if kind := answer.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Fatalf("of type %s", kind)
	}
	s := &stream{t, bufio.NewScanner(answer.Body), answer.Body.Close}
	s.in.Buffer(nil, 8<<20)
	return s
}

// next returns the next event.
func (s *stream) next() (e event) {
	s.t.Helper()
	for s.in.Scan() {
		if data, ok := strings.CutPrefix(s.in.Text(), "data: "); ok {
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				s.t.Fatal(err)
			}
			return e
		}
	}
	s.t.Fatalf("the stream has ended: %v", s.in.Err())
	return e
}

// A stream follows a run from its beginning to its report, and then the next run: a sweep.
func TestLive(t *testing.T) {
	logs, server := served(t)
	events := open(t, server)
	if e := events.next(); !e.Ended || e.ID != "20261121-153000-main" || e.Report != "/20261121-153000-main/report.html" || e.Fault != "" {
		t.Fatalf("of a run that has ended: %+v", e)
	}
	const id = "20261121-160000"
	dir, files := filepath.Join(logs, id), foldertest.MakeRun(t, foldertest.Gallery["small"])
	begin(t, logs, id)
	if e := events.next(); !e.New || e.Ended || e.Run != id || len(e.Points) > 0 {
		t.Fatalf("of a run that begins: %+v", e)
	}
	got := map[string]int{}
	for lines := 2; lines < 60; lines += 20 {
		grow(t, dir, files, lines)
		e := events.next()
		if e.New || e.Ended || e.Fault != "" {
			t.Fatalf("of a run under way: %+v", e)
		}
		for _, p := range e.Points {
			got[fmt.Sprint(p["node"], " ", p["role"])]++
			rate, _ := p["ops_per_s"].(float64)
			cpu, _ := p["cpu_percent"].(float64)
			if p["phase"] == "window" && p["role"] == "client" && rate < 1e6 || cpu > 100 || p["t"].(float64) < 1.7e9 {
				t.Errorf("%+v", p)
			}
			if length := p["window_s"]; length != nil && length != float64(foldertest.Gallery["small"].WindowS) {
				t.Errorf("a window of %v s", length)
			}
			for name, keys := range map[string][]string{"window": {"window_s"}, "ops": {"ops_per_s"}, "p50": {"p50_ms"}, "cpu": {"cpu_percent", "memory_gib", "rx_gbps"}} {
				if !slices.ContainsFunc(keys, func(key string) bool { return p[key] == nil }) {
					got[name]++
				}
			}
		}
	}
	if got["ops"] < 10 || got["p50"] < 1 || got["window"] == 0 || got["cpu"] < 10 || got["node0 server"] == 0 || got["node1 client"] == 0 {
		t.Errorf("points %v", got)
	}
	late := open(t, server) // which gets all of it at once
	if e := late.next(); !e.New || len(e.Points) < got["ops"]+got["cpu"] {
		t.Errorf("a late stream begins with %d points", len(e.Points))
	}
	foldertest.WriteFolder(t, dir, files)
	if err := os.WriteFile(filepath.Join(dir, "report.html"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	e := events.next()
	for !e.Ended {
		e = events.next()
	}
	if e.ID != id || e.Report != "/"+id+"/report.html" {
		t.Errorf("of a run that has ended: %+v", e)
	}
	plan := foldertest.SweepPlan{ID: "20261121-170000", Trials: 6, Done: 2, Law: foldertest.Law{4e6, 0, 0}, Seed: 1}
	foldertest.MakeSweep(t, logs, plan)
	begin(t, logs, plan.ID+"/trial-003")
	begin(t, logs, plan.ID)
	for e = events.next(); e.Run != plan.ID+"/trial-003"; {
		e = events.next()
	}
	if e.Progress != "trial 3 of 6" || e.Ended || !e.New {
		t.Errorf("of a sweep: %+v", e)
	}
}

// Serve ends its streams and itself when it is told to, and serves loopback alone.
func TestServeEnds(t *testing.T) {
	logs, _ := served(t)
	for _, addr := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", "example.org:80", "127.0.0.1"} {
		if l, err := Listen(addr); err == nil || !strings.Contains(err.Error(), "want 127.0.0.1:PORT") {
			t.Errorf("%s: %v, %v", addr, l, err)
		}
	}
	l, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, l, logs) }()
	answer, err := http.Get("http://" + l.Addr().String() + "/live")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	cancel()
	if _, err := io.ReadAll(answer.Body); err != nil {
		t.Errorf("the stream ends with %v", err)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
	if err := Serve(context.Background(), l, filepath.Join(logs, "none")); err == nil {
		t.Error("no error of a folder that is not there")
	}
}
