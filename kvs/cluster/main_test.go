package cluster

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"kvlab/internal/fakenode"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes the fake nodes' program, or is a program of a script.
func TestMain(m *testing.M) {
	testscript.Main(overFakes{m}, map[string]func(){"run-cluster.sh": launch, "verify-history": verifyHistory})
}

// overFakes runs the tests with the fake nodes' program.
type overFakes struct{ *testing.M }

func (tests overFakes) Run() int {
	// A launcher built with -race would stay for a second when it is done.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	// Most parallel tests wait for nodes, also on a machine of few processors.
	flag.Parse()
	flag.Set("test.parallel", "6")
	program, remove, err := fakenode.Build()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer remove()
	os.Setenv(programVariable, program)
	return tests.M.Run()
}

// programVariable is the environment variable with the path of the fake nodes' program.
const programVariable = "FAKE_PROGRAM"
