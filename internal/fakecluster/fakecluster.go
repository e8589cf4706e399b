// Package fakecluster runs the launcher, with an extra, over fake nodes on this machine.
package fakecluster

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"kvlab/internal/fakenode"
	"kvlab/kvs/cluster"
	"kvlab/kvs/cluster/nodes"
	"kvlab/kvs/cluster/plan"
	"kvlab/metrics"
)

// The environment variables of a launcher's process, and of the fake nodes' program.
const (
	rootVariable    = "FAKE_LAUNCHER" // the checkout
	programVariable = "FAKE_PROGRAM"
)

// Main runs a package's tests, or is a launcher's process that Process has started.
func Main(m *testing.M, extras ...cluster.Kind) {
	if root := os.Getenv(rootVariable); root != "" {
		l := launcher(root, os.Stdout, os.Stderr, extras)
		os.Exit(cluster.ExitStatus(l.Run(context.Background(), os.Args[1:])))
	}
	// A launcher built with -race would stay for a second when it is done.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	flag.Parse()
	flag.Set("test.parallel", "6") // most tests wait for nodes, also on a machine of few processors
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

// Process returns the command of a launcher whose checkout is root.
func Process(root string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), rootVariable+"="+root)
	return cmd
}

// launcher returns the real launcher over fake nodes.
func launcher(root string, stdout, stderr io.Writer, extras []cluster.Kind) *cluster.Launcher {
	program := os.Getenv(programVariable)
	l := cluster.New(root, filepath.Join(root, "bin"), stdout, stderr)
	l.Programs = plan.Programs{metrics.Server: program, metrics.Client: program}
	l.Testbed = nodes.Testbed{Tmcc: "/nonexistent/tmcc", GeniGet: "/nonexistent/geni-get"}
	l.Slurm = nodes.Slurm{}
	l.Extras.Kinds = extras
	l.Draw = func(string) ([]string, error) { return nil, nil } // slow with -race
	return l
}

// Launcher runs command lines, and keeps what is said.
type Launcher struct {
	*cluster.Launcher
	Out            string // the folder of the runs' folders
	Stdout, Stderr Text
}

// New returns a launcher with extras.
func New(t testing.TB, extras ...cluster.Kind) *Launcher {
	t.Helper()
	l := &Launcher{Out: t.TempDir()}
	l.Launcher = launcher(t.TempDir(), &l.Stdout, &l.Stderr, extras)
	return l
}

// Run executes the words of a command line, with --out unless it resumes.
func (l *Launcher) Run(ctx context.Context, args ...string) error {
	if !slices.Contains(args, "--resume") {
		args = append(slices.Clone(args), "--out", l.Out)
	}
	return l.Launcher.Run(ctx, args)
}

// Read returns the text of a file of the last run.
func (l *Launcher) Read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(l.Out, "latest", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// WaitFor waits until a file of the run under way has a text.
func (l *Launcher) WaitFor(t *testing.T, file, text string) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if got, err := os.ReadFile(filepath.Join(l.Out, "latest", file)); err == nil && strings.Contains(string(got), text) {
			return
		}
	}
	t.Fatalf("%s has no %q", file, text)
}

// Trials returns the plan and the trials of the last experiment, with their runs.
func (l *Launcher) Trials(t *testing.T) (metrics.Sweep, []metrics.Trial) {
	t.Helper()
	return Trials(t, filepath.Join(l.Out, "latest"))
}

// Trials returns the plan and the trials of an experiment's folder, with their runs.
func Trials(t *testing.T, dir string) (metrics.Sweep, []metrics.Trial) {
	t.Helper()
	plan, trials, err := metrics.ReadSweep(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i, trial := range trials {
		run := new(metrics.Run)
		if err := metrics.ReadJSON(filepath.Join(dir, trial.Folder, "run.json"), run); err == nil {
			trials[i].Run = run
		} else if trial.Verdict.Valid {
			t.Fatal(err)
		}
	}
	return plan, trials
}

// Text is what a launcher says. It may be read while the launcher writes.
type Text struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write adds a text.
func (s *Text) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

// String returns all that was written.
func (s *Text) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
