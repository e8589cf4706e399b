package fakenode

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Build builds the fake nodes' program in a new folder, which remove deletes. The program
// never has the race detector. go run keeps it, linked, in the build cache.
func Build() (program string, remove func(), err error) {
	dir, err := os.MkdirTemp("", "fakenode-")
	if err != nil {
		return "", nil, err
	}
	program = filepath.Join(dir, "kvsfake")
	run := exec.Command("go", "run", "-exec", "cp", "-buildvcs=false", "-ldflags=-w", "kvlab/internal/fakenode/kvsfake", program)
	run.Env = append(os.Environ(), "CGO_ENABLED=0") // without a dynamic linker
	if out, err := run.CombinedOutput(); err != nil {
		os.RemoveAll(dir)
		return "", nil, fmt.Errorf("the fake nodes' program: %w\n%s", err, out)
	}
	return program, func() { os.RemoveAll(dir) }, nil
}
