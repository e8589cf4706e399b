package client

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kvlab/kvs/history"
	"kvlab/metrics"
)

// -verify-history finds again what was saved, draws it, and says so by its status; a
// good history it calls so, and anything else is named.
func TestVerifyHistory(t *testing.T) {
	old, next := metrics.MakeWriteID(0, 0, 1), metrics.MakeWriteID(0, 1, 1)
	ops := []metrics.HistoryOp{
		{Wrote: old, CallNs: 10, ReturnNs: 20},
		{Wrote: next, Worker: 1, CallNs: 30, ReturnNs: 40},
		{Read: &old, CallNs: 50, ReturnNs: 60},
	}
	dir := t.TempDir()
	bad, good := filepath.Join(dir, "history-bad.json"), filepath.Join(dir, "history-good.json")
	var said strings.Builder
	if err := history.Save(&said, dir, "bad", metrics.Violation{History: metrics.History{Key: "7", Slice: 3, Ops: ops}, Part: ops}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(said.String(), "-verify-history "+bad+" ") {
		t.Errorf("Save prints %q", said.String())
	}
	if err := history.Save(&said, dir, "good", metrics.Violation{History: metrics.History{Key: "7", Slice: 3, Ops: ops[:2]}, Part: ops}); err != nil {
		t.Fatal(err)
	}
	picture := filepath.Join(dir, "history-bad.html")
	if err := os.Remove(picture); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(dir, "run.json")
	if err := os.WriteFile(other, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		path   string
		status int
		want   string
	}{
		{bad, 1, "history-bad.json: not linearizable: key 7: 0.0#1 and 0.1#1 were each there after the other"},
		{good, 0, "key 7, slice 3: 2 operations of 0 workers\nlinearizable\n"},
		{other, 1, "-verify-history: " + other + ": a history without operations: want a history-NODE.json"},
		{filepath.Join(dir, "no"), 1, "-verify-history: open "},
	}
	for _, test := range tests {
		var stdout, stderr bytes.Buffer
		status := Program().Main([]string{"-verify-history", test.path}, strings.NewReader(""), &stdout, &stderr)
		if out := stdout.String() + stderr.String(); status != test.status || !strings.Contains(out, test.want) {
			t.Errorf("%s: status %d, %q; want %d, %q", test.path, status, out, test.status, test.want)
		}
	}
	if page, err := os.ReadFile(picture); err != nil || !bytes.Contains(page, []byte("0.0#1")) {
		t.Errorf("picture of %d bytes, error %v", len(page), err)
	}
}

// By hand -linearizable says what it found.
func TestCheckByHand(t *testing.T) {
	var stdout, stderr bytes.Buffer
	args := strings.Fields("-transport inproc -engine slab -records 50 -workers 4 -batch 50 -warmup 0 -secs 0.1 -linearizable")
	if status := Program().Main(args, strings.NewReader(""), &stdout, &stderr); status != 0 {
		t.Fatalf("status %d, stderr %q", status, &stderr)
	}
	if out := stdout.String(); !strings.Contains(out, "\nchecked ") || !strings.Contains(out, ": 0 histories not linearizable, 0 unknown, 0 operations against their batch's order") {
		t.Errorf("log:\n%s", out)
	}
}
