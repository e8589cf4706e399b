package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"kvlab/internal/labtest"
)

// startServer builds the course's server with something else in its Get, starts it, and returns
// its URL.
func startServer(t *testing.T, also string) string {
	t.Helper()
	dir, program := t.TempDir(), filepath.Join(t.TempDir(), "server")
	source := strings.NewReplacer("p.Value = ", also+"\n\tp.Value = ", "import (", "import (\n\t_ \"time\"", "type KVService struct {", "var kept [][]byte\n\ntype KVService struct {").Replace(labtest.Source)
	if strings.Contains(also, "time.") {
		source = strings.Replace(source, "_ \"time\"", "\"time\"", 1)
	}
	if err := os.WriteFile(filepath.Join(dir, "server.go"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-o", program, "server.go")
	if build.Dir = dir; build.Run() != nil {
		t.Fatalf("the server does not build:\n%s", source)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	_, port, _ := net.SplitHostPort(address)
	run(t, program, "-port", port)
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			return "lab://" + address
		}
	}
	t.Fatal("the server does not listen")
	return ""
}

// run runs a program until the test ends.
func run(t *testing.T, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
}

// The process of a store that runs on this machine is found: what it does is told apart from
// others' work, and its memory is watched.
func TestRunningStore(t *testing.T) {
	inCI(t)
	t.Parallel()
	for range runtime.NumCPU() { // others' work
		run(t, "sh", "-c", "while :; do :; done")
	}
	for _, test := range []struct{ name, also, want string }{
		{"sleeps", "s.mu.Unlock(); time.Sleep(500 * time.Millisecond); s.mu.Lock()", "\nlimit    latency: "},
		{"leaks", "kept = append(kept, make([]byte, 8000)); for i := range kept[len(kept)-1] { kept[len(kept)-1][i] = 1 }", "\ncaveat   the store's memory on node0 grew from "},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			said, err := exec.Command(filepath.Join(build(t), "bin", "kvscluster"), "--local", "--no-ceiling", "--out", t.TempDir(), "--target", startServer(t, test.also),
				"--records", "100", "--workers", "8", "--batch", "16", "--warmup", "0", "--secs", "2").CombinedOutput()
			if err != nil || !strings.Contains(string(said), test.want) || !strings.HasSuffix(string(said), "\nverdict VALID\n") {
				t.Errorf("%v, want %q:\n%s", err, test.want, said)
			}
		})
	}
}
