package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"kvlab/internal/labtest"
	"kvlab/metrics"

	"github.com/rogpeppe/go-internal/testscript"
)

// programs is the folder of the real programs, which compile makes once. go run keeps the
// linked programs in the build cache.
var programs string

var compile = sync.OnceValues(func() (out []byte, err error) {
	for _, program := range []string{"kvlab/cmd/kvscluster", "kvlab/cmd/kvsserver", "kvlab/cmd/kvsclient"} {
		run := exec.Command("go", "run", "-exec", "cp", "-buildvcs=false", "-pgo=off", "-ldflags=-w", program, filepath.Join(programs, filepath.Base(program)))
		if out, err = run.CombinedOutput(); err != nil {
			break
		}
	}
	return out, err
})

// TestMain runs the tests, or is the course's server, or a team's program, of a script.
func TestMain(m *testing.M) {
	testscript.Main(overPrograms{m}, map[string]func(){"labserver": func() {
		fmt.Fprintln(os.Stderr, labtest.Main(os.Args[1:]))
		os.Exit(1)
	}, labtest.SystemWord: func() {
		if err := labtest.System(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}})
}

// overPrograms runs the tests with a folder for the real programs.
type overPrograms struct{ *testing.M }

func (tests overPrograms) Run() int {
	var err error
	if programs, err = os.MkdirTemp("", "kvscluster-test-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(programs)
	// Parallel tests wait, or run light loads, also on a machine of few processors.
	flag.Set("test.parallel", "4") // the command line's comes after it
	return tests.M.Run()
}

// build returns an otherwise empty checkout of the test's own, whose bin folder holds the
// real programs. A process belongs to the test whose program it runs; at the end of the
// test none is left.
func build(t *testing.T) (root string) {
	t.Helper()
	if out, err := compile(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	root = t.TempDir()
	t.Cleanup(func() { checkGone(t, root) })
	if err := link(filepath.Join(root, "bin")); err != nil {
		t.Fatal(err)
	}
	return root
}

// link makes a folder with the real programs. Another process copies them: a child of this
// process would inherit a file that is open for writing, and exec of it fails (ETXTBSY).
func link(bin string) error {
	out, err := exec.Command("sh", "-c", `mkdir "$1" && { ln "$0"/* "$1" || cp "$0"/* "$1"; }`, programs, bin).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// inCI skips a test that takes long, or that needs root, a daemon or a cluster, unless
// KVLAB_CI=1 asks for every test.
func inCI(t *testing.T) {
	t.Helper()
	if os.Getenv("KVLAB_CI") != "1" {
		t.Skip("KVLAB_CI=1 runs it")
	}
}

// waitFor waits until a file contains a text.
func waitFor(t *testing.T, file, want string) {
	t.Helper()
	if !comes(file, want) {
		t.Fatalf("%s has no %q", file, want)
	}
}

// comes waits until a file contains a text, and reports false if it does not in three minutes.
func comes(file, want string) bool {
	for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), want) {
			return true
		}
	}
	return false
}

// checkGone waits until no process runs a program of the checkout.
func checkGone(t *testing.T, root string) {
	t.Helper()
	if left := running(root, time.Minute); len(left) > 0 {
		t.Errorf("processes are left: %q", left)
	}
}

// running waits, at most for a time, until no process runs a program below a folder, and
// returns those that do.
func running(root string, within time.Duration) (left []string) {
	for deadline := time.Now().Add(within); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		left = nil
		links, _ := filepath.Glob("/proc/[0-9]*/exe")
		for _, link := range links {
			if to, err := os.Readlink(link); err == nil && strings.HasPrefix(to, root+"/") {
				left = append(left, link+" "+to)
			}
		}
		if len(left) == 0 {
			break
		}
	}
	return left
}

// needRoot wants root in a test that KVLAB_CI=1 asks for.
func needRoot(t *testing.T) {
	t.Helper()
	inCI(t)
	if os.Geteuid() != 0 {
		t.Fatal("needs root, and KVLAB_CI=1 wants every test to run")
	}
}

// read reads a JSON file.
func read(t *testing.T, name string, into any) {
	t.Helper()
	if err := metrics.ReadJSON(name, into); err != nil {
		t.Fatal(err)
	}
}

// readRun reads a run folder's run.json.
func readRun(t *testing.T, dir string) (run metrics.Run) {
	t.Helper()
	read(t, filepath.Join(dir, "run.json"), &run)
	return run
}

// processes lists those that run a program of the checkout.
func processes(root, program string) []int {
	var pids []int
	links, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && to == filepath.Join(root, "bin", program) {
			var pid int
			fmt.Sscanf(link, "/proc/%d/exe", &pid)
			pids = append(pids, pid)
		}
	}
	return pids
}
