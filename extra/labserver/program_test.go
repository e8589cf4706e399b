package labserver_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/rpc"
	"strings"
	"syscall"
	"testing"
	"time"

	"kvlab/extra/labserver"
	"kvlab/internal/labtest"
	"kvlab/kvs/node"
	"kvlab/kvs/server"
	"kvlab/metrics"
)

// The types that teams have decode what the server of their preset answers, and it decodes what
// they encode.
func TestForms(t *testing.T) {
	for _, preset := range labtest.Presets() {
		t.Run(preset, func(t *testing.T) {
			r := start(t, preset, 3)
			client, err := rpc.DialHTTP("tcp", r.l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			do := func(ops ...labtest.Op) (said string) {
				for _, call := range labtest.Forms[preset](ops) {
					if err := client.Call(call.Method, call.Args, call.Reply); err != nil {
						t.Fatal(err)
					}
					said += fmt.Sprintf("%+v", call.Reply)
				}
				return said
			}
			get := func(key string) labtest.Op { return labtest.Op{Key: key, IsRead: true} }
			plain, err := net.Dial("tcp", r.l.Addr().String()) // without HTTP
			if err != nil {
				t.Fatal(err)
			}
			other := rpc.NewClient(plain)
			defer other.Close()
			for _, call := range labtest.Forms[preset]([]labtest.Op{get("1")}) {
				if err := other.Call(call.Method, call.Args, call.Reply); err != nil {
					t.Error(err)
				}
			}
			if said := do(get("7")); strings.ContainsAny(said, "xv") {
				t.Errorf("a missing key: %s", said)
			}
			if said := do(get("2"), get("3")); strings.Count(said, "x") != 128 {
				t.Errorf("a key that is there first, and one that is not: %s", said)
			}
			said := do(labtest.Op{Key: "7", Value: "v1"}, labtest.Op{Key: "8", Value: "v2"})
			if acks := strings.Contains(said, "Ack:"); acks && strings.Contains(said, "Ack:false") {
				t.Errorf("a Put: %s", said)
			}
			said = do(get("8"), get("7"), get("8"))
			if at := strings.Index(said, "v2"); at < 0 || strings.Index(said, "v1") < at || strings.LastIndex(said, "v2") < strings.Index(said, "v1") {
				t.Errorf("three Gets: %s", said)
			}
			// Calls of another form, and an empty key, are refused, and the connection stays.
			for method, want := range map[string]string{"KVService.Nothing": "can't find method", labtest.Forms[preset]([]labtest.Op{get("7")})[0].Method: "wrong type"} {
				err := client.Call(method, &struct{ Key, Operations, Data, Ops, Requests, Keys complex128 }{1, 1, 1, 1, 1, 1}, &struct{}{})
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %v, want %q", method, err, want)
				}
			}
			call := labtest.Forms[preset]([]labtest.Op{get("")})[0]
			if err := client.Call(call.Method, call.Args, call.Reply); err == nil || !strings.Contains(err.Error(), "a key of 0 bytes") {
				t.Errorf("an empty key: %v", err)
			}
			if said := do(get("7")); !strings.Contains(said, "v1") {
				t.Errorf("after refusals: %s", said)
			}
		})
	}
}

func program() node.Program { return server.Program(nil, labserver.Row) }

// Under a launcher, kvsserver -lab reports what its clients did, and its own counts agree.
func TestProgram(t *testing.T) {
	stdin, commands := io.Pipe()
	output, stdout := io.Pipe()
	var stderr bytes.Buffer
	exited := make(chan int, 1)
	go func() {
		exited <- program().Main([]string{"-control"}, stdin, stdout, &stderr)
		stdout.Close()
	}()
	defer commands.Close()
	do, events := json.NewEncoder(commands), json.NewDecoder(output)
	next := func(want func(node.Event) bool) node.Event {
		for {
			var e node.Event
			if err := events.Decode(&e); err != nil {
				t.Fatalf("%v: %s", err, &stderr)
			}
			if want(e) {
				return e
			}
		}
	}
	if err := do.Encode(node.Command{Do: node.Start, Args: []string{"-node", "node0", "-port", "0", "-lab", "citywatch?preload=100"}, Token: "secret"}); err != nil {
		t.Fatal(err)
	}
	addr := next(func(e node.Event) bool { return e.Event == node.Ready }).Addr
	said, err := labtest.Client{Form: "citywatch", Hosts: []string{addr}, Secs: 0.1, Workers: 2, Batch: 16, Reads: 0.95, Records: 100}.Run()
	if err != nil {
		t.Fatal(err)
	}
	if err := do.Encode(node.Command{Do: node.Stop}); err != nil {
		t.Fatal(err)
	}
	if line := next(func(e node.Event) bool { return strings.Contains(e.Text, "the clients sent") }).Text; !strings.Contains(line, "on 2 connections") || !strings.Contains(line, "left 0 calls unanswered") {
		t.Error(line)
	}
	summary := next(func(e node.Event) bool { return e.Record != nil && e.Record.Summary != nil }).Record.Summary
	w := summary.Witness
	if w == nil {
		t.Fatal("no witness")
	}
	// A slow machine leaves no time for an operation of each of the hundred keys.
	var distinct, highest uint64
	for key := range w.HotGets {
		if w.HotGets[key]+w.HotPuts[key] > 0 {
			distinct, highest = distinct+1, uint64(key)
		}
	}
	if w.Form != "citywatch?preload=100" || w.Ops() != said.Ops || w.Hits != w.Gets || w.Connections != 2 || w.Distinct != distinct || w.Highest != highest || highest > 99 {
		t.Errorf("the client did %d operations on %d keys, to key %d; the witness %+v", said.Ops, distinct, highest, w)
	}
	want := metrics.Counts{Gets: w.Gets, Puts: w.Puts, Hits: w.Hits, Calls: summary.Total.Calls}
	if summary.Total != want || len(summary.Peers) != 1 || summary.Peers[0].Peer != labserver.Peer || summary.Strangers != nil {
		t.Errorf("total %+v, want %+v; peers %+v", summary.Total, want, summary.Peers)
	}
	next(func(e node.Event) bool { return e.Event == node.Done })
	if status := <-exited; status != 0 {
		t.Errorf("status %d: %s", status, &stderr)
	}
}

func TestFlag(t *testing.T) {
	for args, want := range map[string]string{
		"-lab bsae":                        "did you mean base?",
		"-lab base?method=Get":             `method "Get"`,
		"-lab base?preload=-1":             "preload=-1: want a number of keys, 0 to 100000000",
		"-lab base?preloaded=1":            "did you mean preload?",
		"-lab base?key=A&key=B":            "key is given twice",
		"-lab base -codec gob":             "-codec is of kvlab's own protocol: it does not go with -lab",
		"-lab base -tls":                   "-tls is of kvlab's own protocol: it does not go with -lab",
		"-lab base?transport=tcp -port 0":  "",
		"-lab clawcodes?kinds=R,W -port 0": "",
	} {
		_, _, err := program().Parse(strings.Fields(args))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "-lab")) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}

// BenchmarkServer compares the server with net/rpc's own in a team's form: operations of batches
// of 1024 by 8 goroutines, each with a connection.
func BenchmarkServer(b *testing.B) {
	for _, preset := range []string{"base", "clawcodes", "kangyang"} {
		b.Run(preset+"/net-rpc", func(b *testing.B) { benchmark(b, preset, netRPC(b, preset)) })
		b.Run(preset+"/labserver", func(b *testing.B) { benchmark(b, preset, start(b, preset, 0).l.Addr().String()) })
	}
}

// netRPC returns the address of net/rpc's server in a preset's form.
func netRPC(b *testing.B, preset string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close() })
	go labtest.Serve(l, preset, labtest.NewStore(labtest.None, 1))
	return l.Addr().String()
}

func benchmark(b *testing.B, preset, addr string) {
	c := labtest.Client{Form: preset, Hosts: []string{addr}, Workers: 8, Batch: 1024, Reads: 0.95, Records: 100_000, Secs: 1}
	ops, secs, before := uint64(0), 0.0, processorTime()
	for b.Loop() {
		said, err := c.Run()
		if err != nil {
			b.Fatal(err)
		}
		ops, secs = ops+said.Ops, secs+said.RanS
	}
	b.ReportMetric(float64(ops)/secs, "ops/s")
	b.ReportMetric(float64(processorTime()-before)/float64(ops), "cpu-ns/op") // with the client's
}

// processorTime returns the process's processor time.
func processorTime() time.Duration {
	var use syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &use) // it is this process
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
