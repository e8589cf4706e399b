package trial

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/cluster/remote"
	"kvlab/metrics"
	"kvlab/metrics/account"
)

func TestCreateFolder(t *testing.T) {
	out := filepath.Join(t.TempDir(), "deep", "logs")
	now := time.Date(2026, 11, 21, 15, 30, 0, 0, time.Local)
	for _, want := range []string{"20261121-153000", "20261121-153000-2", "20261121-153000-3"} {
		dir, err := CreateFolder(out, "", now)
		if err != nil || dir.ID() != want {
			t.Fatalf("createFolder = %s, %v; want %s", dir, err, want)
		}
		if to, err := os.Readlink(filepath.Join(out, "latest")); err != nil || to != want {
			t.Errorf("latest points to %q, %v; want %q", to, err, want)
		}
	}
	if dir, err := CreateFolder(out, "slab", now); err != nil || dir.ID() != "20261121-153000-slab" {
		t.Errorf("with a name: %s, %v", dir, err)
	}
	entries, err := os.ReadDir(out)
	if err != nil || len(entries) != 5 {
		t.Errorf("%d entries, %v; want four runs and latest", len(entries), err)
	}
}

// A launcher that was killed before it had replaced latest leaves a link behind, and the next
// one replaces latest nevertheless.
func TestPointLatestAfterAKill(t *testing.T) {
	out := t.TempDir()
	for link, to := range map[string]string{"latest": "old", ".latest-new": "new"} {
		if err := os.Symlink(to, filepath.Join(out, link)); err != nil {
			t.Fatal(err)
		}
	}
	err := PointLatest(out, "new")
	to, _ := os.Readlink(filepath.Join(out, "latest"))
	if entries, _ := os.ReadDir(out); err != nil || to != "new" || len(entries) != 1 {
		t.Errorf("latest points to %q, %v, beside %d entries", to, err, len(entries)-1)
	}
}

// A lock excludes others until it is released, and no longer, though a child that was forked
// has the file still.
func TestLock(t *testing.T) {
	f := Folder(t.TempDir())
	if err := f.Write(metrics.SweepFile, nil); err != nil {
		t.Fatal(err)
	}
	lock, err := f.Lock()
	if err != nil {
		t.Fatal(err)
	}
	child, err := syscall.Dup(int(lock.file.Fd())) // as fork does
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(child)
	if _, err := f.Lock(); !errors.Is(err, syscall.EWOULDBLOCK) {
		t.Errorf("a second lock: error %v", err)
	}
	lock.Release()
	again, err := f.Lock()
	if err != nil {
		t.Errorf("after the release: %v", err)
	}
	again.Release()
}

func TestWriteReplaces(t *testing.T) {
	f := Folder(t.TempDir())
	for _, text := range []string{"first", "second"} {
		if err := f.Write("x", []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(f.Path("x")); err != nil || string(got) != text {
			t.Errorf("read %q, %v; want %q", got, err, text)
		}
	}
	if entries, _ := os.ReadDir(string(f)); len(entries) != 1 {
		t.Errorf("%d files, want 1", len(entries))
	}
}

// A write that fails leaves no file behind: here the disk is full.
func TestFullDiskLeavesNothing(t *testing.T) {
	f := Folder(t.TempDir())
	if err := os.Symlink("/dev/full", f.Path(".run.json")); err != nil {
		t.Fatal(err)
	}
	if err := f.WriteRun(metrics.Run{}); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("writeRun = %v, want %v", err, syscall.ENOSPC)
	}
	if left, err := os.ReadDir(string(f)); len(left) != 0 || err != nil {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestLineWriter(t *testing.T) {
	var lines []string
	w := &remote.LineWriter{Take: func(line []byte) error { lines = append(lines, string(line)); return nil }}
	for _, part := range []string{"a", "b\nc\r\n\nd", "e", "f\n", "rest"} {
		if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatalf("Write(%q) = %d, %v", part, n, err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(lines, "|"), "ab|c||def|rest"; got != want {
		t.Errorf("lines %q, want %q", got, want)
	}
	if _, err := w.Write(make([]byte, remote.MaxLine+1)); err == nil {
		t.Error("a line without end is taken")
	}
	broken := errors.New("disk full")
	w = &remote.LineWriter{Take: func([]byte) error { return broken }}
	if _, err := w.Write([]byte("x\n")); !errors.Is(err, broken) {
		t.Errorf("Write = %v, want %v", err, broken)
	}
}

func TestNodeLogTail(t *testing.T) {
	f := Folder(t.TempDir())
	log, err := openNodeLog(f, plan.Place{Name: "a", Role: metrics.Server}, false)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		if err := log.line(strings.Repeat("x", i)); err != nil {
			t.Fatal(err)
		}
	}
	if last := log.last(); len(last) != tailLines || len(last[0]) != 50-tailLines || len(last[tailLines-1]) != 49 {
		t.Errorf("last lines %q", last)
	}
	if err := errors.Join(log.text.Close(), log.records.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := openNodeLog(f, plan.Place{Name: "a", Role: metrics.Server}, false); err == nil {
		t.Error("a log is overwritten")
	}
}

func TestStatus(t *testing.T) {
	c := New(Setup{Plan: plan.Plan{Places: []plan.Place{{Role: metrics.Server}}}})
	for range 2 {
		c.processes = append(c.processes, &process{
			Place: plan.Place{Role: metrics.Client}, Reported: account.Reported{Config: &metrics.Config{Flags: map[string]string{"secs": "30", "warmup": "10"}}},
			interval: metrics.Interval{LengthS: 1, Counts: metrics.Counts{Gets: 6.2e6}},
		})
	}
	for _, test := range []struct {
		phase    metrics.Phase
		extended bool
		want     Status
	}{
		{metrics.Window, false, Status{Phase: "window 15/30 s", Left: 15 * time.Second}},
		{metrics.WarmUp, true, Status{Phase: "warmup 15/20 s", Left: 35 * time.Second}},
		{metrics.WarmUp, false, Status{Phase: "warmup 15/10 s", Left: 25 * time.Second}},
		{metrics.Load, false, Status{Phase: "load 15 s", Left: 40 * time.Second}},
		{metrics.Drain, false, Status{Phase: "drain 15 s"}},
	} {
		c.phase, c.extended, test.want.OpsPerS = test.phase, test.extended, 12.4e6
		if got := c.status(c.entered.Add(15 * time.Second)); got != test.want {
			t.Errorf("status %+v, want %+v", got, test.want)
		}
	}
	c.phase, c.Plan.ClientArgs = metrics.Window, []string{"-program=team-7.toml"}
	if got := c.status(c.entered.Add(40 * time.Second)); got.Phase != "waiting for the client to end, at most 50 s" || got.Left != 50*time.Second {
		t.Errorf("of a team's client that does not end: %+v", got)
	}
}
