package cluster

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"

	"kvlab/internal/fakenode"
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
	program, remove, err := fakenode.Build()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Setenv(programVariable, program)
	status := m.Run()
	remove()
	os.Exit(status)
}

// programVariable is the environment variable with the path of the fake nodes' program.
const programVariable = "FAKE_PROGRAM"
