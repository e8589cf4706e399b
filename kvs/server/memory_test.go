package server

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/procfs"

	"kvlab/kvs"
	"kvlab/kvs/node"
	"kvlab/kvs/wire"
	"kvlab/metrics/usage"
)

func TestMemoryCap(t *testing.T) {
	tests := []struct {
		text string
		want uint64 // 0 for an error
	}{
		{"70%", 700}, {"100%", 1000}, {"1%", 10}, {"12GiB", 12 << 30}, {"1MiB", 1 << 20}, {"12GB", 12e9}, {"1.5GiB", 3 << 29},
		{"0%", 0}, {"101%", 0}, {"-1%", 0}, {"0GiB", 0}, {"12", 0}, {"GiB", 0}, {"", 0},
	}
	for _, test := range tests {
		got, err := memoryCap(test.text).bytes(1000)
		if got != test.want || (err != nil) != (test.want == 0) || err != nil && !strings.Contains(err.Error(), "-max-memory") {
			t.Errorf("%q: %d, %v; want %d", test.text, got, err, test.want)
		}
	}
}

// The smallest of the machine's memory and the control groups' counts.
func TestMemoryOf(t *testing.T) {
	root := t.TempDir()
	for file, text := range map[string]string{
		"job/memory.max": "500\n", "free/memory.max": "max\n", "memory/old/memory.limit_in_bytes": "300\n", "memory/all/memory.limit_in_bytes": "9223372036854771712\n",
	} {
		path := filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	memory := []string{"memory"}
	for _, test := range []struct {
		groups []procfs.Cgroup
		want   uint64
	}{
		{nil, 1000},
		{[]procfs.Cgroup{{Path: "/job"}}, 500},
		{[]procfs.Cgroup{{Path: "/free"}}, 1000},
		{[]procfs.Cgroup{{Path: "/gone"}}, 1000},
		{[]procfs.Cgroup{{Path: "/old", Controllers: []string{"cpu"}}, {Path: "/old", Controllers: memory}, {Path: "/"}}, 300},
		{[]procfs.Cgroup{{Path: "/all", Controllers: memory}, {Path: "/job"}}, 500},
	} {
		if got := memoryOf(1000, root, test.groups); got != test.want {
			t.Errorf("%+v: %d; want %d", test.groups, got, test.want)
		}
	}
}

// A server that is full ends with its own error, before it has much
// more than it may have.
func TestMemoryIsFull(t *testing.T) {
	used, err := usage.ResidentBytes()
	if err != nil || used < 1<<20 {
		t.Fatalf("this process has %d bytes, %v", used, err)
	}
	limit := fmt.Sprintf("%dMiB", used>>20+128)
	s := lead(t, "-node", "node0", "-port", "0", "-engine", "slab", "-max-memory", limit)
	addr := s.next(t, is(node.Ready)).Addr
	client, _, err := wire.Dial(context.Background(), addr, wire.Options{Hello: wire.Hello{Node: "node1", Codec: "binary"}, Token: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var batch kvs.Batch
	call := kvs.Call{Batch: &batch, Reply: new(kvs.Reply)}
	for key, err := uint64(0), error(nil); err == nil; {
		batch.Reset()
		for range 1000 {
			batch.Append(kvs.Put, fmt.Appendf(nil, "key%d", key), make([]byte, 1000))
			key++
		}
		client.Send(&call)
		if err = client.Wait(&call); key > 4<<20 {
			t.Fatal("4 GB were stored")
		}
	}
	e := s.next(t, is(node.Error))
	if !strings.Contains(e.Text, "memory is full: ") || !strings.Contains(e.Text, "-max-memory "+limit) {
		t.Errorf("the server says %q", e.Text)
	}
	if status := <-s.exited; status != 1 {
		t.Errorf("exit status %d, want 1", status)
	}
}
