package cluster

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestMain makes the fake nodes' program, or is a launcher's process.
func TestMain(m *testing.M) {
	if root := os.Getenv(launcherVariable); root != "" {
		l := fakeLauncher(root, os.Stdout, os.Stderr)
		os.Exit(ExitStatus(l.Run(context.Background(), os.Args[1:])))
	}
	// A launcher built with -race would stay for a second when it is done.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	// Most parallel tests wait for nodes, also on a machine of few processors.
	flag.Parse()
	flag.Set("test.parallel", "6")
	remove, err := makeFakeProgram()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	status := m.Run()
	remove()
	os.Exit(status)
}

// programVariable is the environment variable with the path of the fake nodes' program.
const programVariable = "FAKE_PROGRAM"

// makeFakeProgram makes the fake nodes' program, never with the race detector, and sets
// programVariable. go run keeps the linked program in the build cache.
func makeFakeProgram() (remove func(), err error) {
	dir, err := os.MkdirTemp("", "fakenode-")
	if err != nil {
		return nil, err
	}
	program := filepath.Join(dir, "kvsfake")
	os.Setenv(programVariable, program)
	run := exec.Command("go", "run", "-exec", "cp", "-buildvcs=false", "-ldflags=-w", "kvlab/internal/fakenode/kvsfake", program)
	run.Env = append(os.Environ(), "CGO_ENABLED=0") // without a dynamic linker
	if out, err := run.CombinedOutput(); err != nil {
		os.RemoveAll(dir)
		return nil, fmt.Errorf("the fake nodes' program: %w\n%s", err, out)
	}
	return func() { os.RemoveAll(dir) }, nil
}
