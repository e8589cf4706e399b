package server

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kvlab/kvs"
	"kvlab/kvs/engine"
	"kvlab/kvs/node"
	"kvlab/kvs/wire"
)

// Engines onfile and full have the flags of one on disk.
func init() {
	onfile := engine.Row{Name: "onfile", Lacks: []kvs.Kind{kvs.Scan, kvs.ScanPart}, Syncs: []engine.Sync{engine.SyncOS, engine.SyncNone}, Open: func(engine.Options) (kvs.Engine, error) { return engine.NewMutex(), nil }}
	filled := onfile
	filled.Name, filled.Open = "full", func(o engine.Options) (kvs.Engine, error) { return full{engine.NewMutex(), o.Fail}, nil }
	engine.Link([]engine.Row{onfile, filled, engine.Rival("elsewhere", "in another program")})
}

// The flags of engines on disk are refused where they mean nothing, and have defaults where
// they do.
func TestParseDisk(t *testing.T) {
	for args, want := range map[string]string{
		"-dir /tmp":                          "-dir: -engine syncmap stores nothing on disk",
		"-engine slab -sync os":              "-sync: -engine slab stores nothing on disk",
		"-engine slab -reopen":               "-reopen: -engine slab stores nothing on disk",
		"-engine onfile -sync disk":          "-sync disk: -engine onfile has no such mode: want os or none",
		"-engine onfile -sync dsik":          `-sync "dsik": want one of none, os, disk; did you mean disk?`,
		"-engine onfile -reopen":             "-reopen true: want a -dir",
		"-engine onfile -inject service=1ms": "-inject service=1ms: want an engine in memory",
	} {
		if _, _, err := parse(strings.Fields(args), nil, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
	c, flags, err := parse([]string{"-engine", "onfile"}, nil, nil)
	if err != nil || c.Sync != engine.SyncOS || flags.Values()["sync"] != "os" {
		t.Errorf("sync %q, %v; want the engine's first", string(c.Sync), err)
	}
	_, flags, err = parse(strings.Fields("-engine elsewhere -sync disk"), nil, nil)
	if err != nil || flags.Rival != "-engine elsewhere" {
		t.Errorf("a rival's engine: %q, %v", flags.Rival, err)
	}
}

// A folder begins empty, or with -reopen as it was left; it has one server at a time, and
// nobody else's files.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	c := config{Engine: "onfile", Dir: dir}
	c.Node = "node0"
	must := func(c config) *folder {
		t.Helper()
		f, err := openFolder(c)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	refused := func(c config, want string) {
		t.Helper()
		if f, err := openFolder(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("folder %+v, error %v; want %q", f, err, want)
		}
	}
	f := must(c)
	file := filepath.Join(f.data(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	refused(c, "another server works there")
	if err := f.close(); err != nil {
		t.Fatal(err)
	}
	again := c
	again.Reopen = true
	g := must(again)
	if _, err := os.Stat(file); err != nil || g.Instance != f.Instance || f.Instance == "" {
		t.Errorf("opened again: %v, instance %q, was %q", err, g.Instance, f.Instance)
	}
	g.close()
	other := again
	other.Engine = "other"
	refused(other, "holds a store of -engine onfile")
	h := must(c)
	if _, err := os.Stat(file); err == nil || h.Instance == f.Instance {
		t.Errorf("a new store has the file of the last one, instance %q, was %q", h.Instance, f.Instance)
	}
	h.close()
	again.Node, c.Node = "node1", "strange"
	refused(again, "no such file")
	if err := os.MkdirAll(filepath.Join(dir, "strange", "photos"), 0o755); err != nil {
		t.Fatal(err)
	}
	refused(c, "holds files that are no store of kvlab's")
	c.Dir = ""
	f = must(c)
	if err := f.close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(f.path); err == nil {
		t.Errorf("%s is still there", f.path)
	}
}

// A store in memory has no promise for a power loss.
func TestFolderInMemory(t *testing.T) {
	dir, err := os.MkdirTemp("/dev/shm", "kvlab-test-")
	if err != nil {
		t.Skip(err)
	}
	defer os.RemoveAll(dir)
	c := config{Engine: "onfile", Dir: dir, Sync: engine.SyncDisk}
	if _, err := openFolder(c); onDisk(dir) != nil && (err == nil || !strings.Contains(err.Error(), "is in memory")) {
		t.Errorf("-sync disk in memory: %v", err)
	}
}

// full is a durable engine whose disk is full: it says so, and its calls never end.
type full struct {
	kvs.Engine
	fail func(error)
}

func (f full) Commit() error {
	f.fail(errors.New("no space"))
	select {}
}

// A server whose store fails ends with the reason, and its clients get no answer.
func TestStoreFails(t *testing.T) {
	s := leadProgram(t, Program(nil), "-node", "node0", "-port", "0", "-engine", "full", "-dir", t.TempDir())
	addr := s.next(t, is(node.Ready)).Addr
	client, _, err := wire.Dial(t.Context(), addr, wire.Options{Hello: wire.Hello{Node: "client", Codec: "binary"}, Token: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	var batch kvs.Batch
	batch.Get([]byte("k"))
	call := &kvs.Call{Batch: &batch, Reply: new(kvs.Reply)}
	client.Send(call)
	if err := client.Wait(call); err == nil || strings.Contains(err.Error(), "no space") {
		t.Errorf("the call is answered: %v", err)
	}
	if e := s.next(t, is(node.Error)); !strings.Contains(e.Text, "-engine full: no space") {
		t.Errorf("the server says %q", e.Text)
	}
	if status := <-s.exited; status != 1 {
		t.Errorf("exit status %d", status)
	}
}
