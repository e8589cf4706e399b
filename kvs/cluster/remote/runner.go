package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"kvlab/kvs/cluster/nodes"
	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/node"
	"kvlab/metrics"
	"kvlab/metrics/format"
)

// Parallel is the number of nodes to which connections are made at the same time. A jump
// host's sshd drops connections at random from its tenth unauthenticated one on
// (MaxStartups 10:30:100 in sshd_config(5)).
const Parallel = 8

// Each calls do for every index below n, at most atOnce at the same time.
func Each(n, atOnce int, do func(i int)) {
	var group errgroup.Group
	group.SetLimit(max(atOnce, 1))
	for i := range n {
		group.Go(func() error { do(i); return nil })
	}
	_ = group.Wait() // no errors
}

// remoteTimeout limits one step of a node's preparation, such as the copy of a program of
// some ten megabytes.
const remoteTimeout = 2 * time.Minute

// Runner runs the programs of a launcher on nodes. Remote command lines are plain constant
// words, because any shell may be the login shell. A sh reads scripts from its standard
// input, and a node reads its arguments from the control pipe.
type Runner struct {
	ways     map[nodes.Kind]Way
	programs plan.Programs
	system   string        // uname -sm of this machine
	login    time.Duration // limit of the time to the first answer through ssh

	mu    sync.Mutex
	paths map[copyKey]string // guarded by mu
}

// copyKey identifies a copy of a program on a node.
type copyKey struct {
	node string
	role metrics.Role
}

// New returns a Runner of programs that reaches nodes through ways.
func New(ways Programs, programs plan.Programs) (*Runner, error) {
	system, err := exec.Command("uname", "-sm").Output()
	if err != nil {
		return nil, fmt.Errorf("uname -sm: %w", err)
	}
	return &Runner{
		ways: ways.ways(), programs: programs,
		system: strings.TrimSpace(string(system)), login: loginTimeout,
		paths: make(map[copyKey]string),
	}, nil
}

// Way returns the way to the node.
func (r *Runner) Way(n nodes.Node) Way { return r.ways[n.Way.Kind] }

// Deploy copies the programs to the nodes that do not have them, and checks that every
// place can run its program. Its error joins a fault for each node that fails.
func (r *Runner) Deploy(ctx context.Context, places []plan.Place) error {
	sums, err := r.sums(places)
	if err != nil {
		return err
	}
	seen := make(map[copyKey]bool)
	places = slices.DeleteFunc(slices.Clone(places), func(p plan.Place) bool {
		key := copyKey{p.Node.Name, p.Role}
		known := seen[key]
		seen[key] = true
		return known
	})
	faults := make([]error, len(places))
	Each(len(places), Parallel, func(i int) {
		place := places[i]
		path, err := r.deploy(ctx, place, sums[place.Role])
		if err != nil {
			faults[i] = &plan.Fault{Node: place.Name, Role: place.Role, Reason: format.OneLine(err.Error())}
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.paths[copyKey{place.Node.Name, place.Role}] = path
	})
	if errors.Is(ctx.Err(), context.Canceled) {
		return plan.ErrInterrupted
	}
	return errors.Join(faults...)
}

// sums returns the programs' checksums, nil if every place is on this machine.
func (r *Runner) sums(places []plan.Place) (map[metrics.Role]string, error) {
	if !slices.ContainsFunc(places, func(p plan.Place) bool { return p.Way.Kind != nodes.Local }) {
		return nil, nil
	}
	sums, err := r.programs.Sums()
	if err != nil {
		return nil, &plan.Fault{Reason: format.OneLine(err.Error())}
	}
	return sums, nil
}

// leaveDelay limits the time for which the pipes of an ended process are still read: a
// child of it may hold them open.
const leaveDelay = time.Second

// Output handles what a program writes, and its end.
type Output struct {
	Line  func(line []byte) error // of its standard output
	Error func(line []byte) error // of its standard error
	Ended func(err, broken error) // the error of its exit, and of Line or Error at the last line
}

// Start starts a place's program with node.ControlFlag or node.ProbeFlag, and returns its
// standard input.
func (r *Runner) Start(place plan.Place, flag string, to Output) (*exec.Cmd, io.WriteCloser, error) {
	cmd := r.Way(place.Node).Command(context.Background(), place.Node, r.path(place), flag)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	stdout, stderr := &LineWriter{Take: to.Line}, &LineWriter{Take: to.Error}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = stdout, stderr, leaveDelay
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	go func() {
		err := cmd.Wait()
		to.Ended(err, errors.Join(stdout.Flush(), stderr.Flush()))
	}()
	return cmd, stdin, nil
}

// Send sends a command to a node. It ignores a write error: the node has then ended,
// which is reported separately.
func Send(stdin io.Writer, command node.Command) {
	line, err := json.Marshal(command)
	if err == nil { // numbers and strings: no error
		_, _ = stdin.Write(append(line, '\n'))
	}
}

// Signal sends a signal to a place's process itself. Signals to its Command may not
// reach it. After SIGKILL the process has ended. On another machine the node's copy of
// the program sends the signal, over a separate connection.
func (r *Runner) Signal(ctx context.Context, place plan.Place, id metrics.ProcessID, signal syscall.Signal) error {
	if place.Way.Kind == nodes.Local {
		return node.Signal(id, signal)
	}
	_, err := r.converse(ctx, place, nil, nil, append([]string{r.path(place)}, node.SignalWords(id, signal)...)...)
	return err
}

// Reap ends the processes that earlier runs of this user left on a node, and returns
// descriptions of them. The node's copy of the server's program does the work.
func (r *Runner) Reap(ctx context.Context, n nodes.Node) ([]string, error) {
	place := plan.Place{Node: n, Name: n.Name, Role: metrics.Server}
	if err := r.Deploy(ctx, []plan.Place{place}); err != nil {
		return nil, err
	}
	answer, err := r.converse(ctx, place, nil, nil, r.path(place), node.ReapFlag)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", n.Name, err)
	}
	return slices.Sorted(maps.Values(answer)), nil
}

// path returns the path of the place's program on its node.
func (r *Runner) path(place plan.Place) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.paths[copyKey{place.Node.Name, place.Role}]
}

// plainPath matches a remote path that a command line may contain unquoted.
var plainPath = regexp.MustCompile(`^/[A-Za-z0-9._/-]+$`)

// deploy copies the program with the checksum sum to the node, unless the node has it,
// and returns its path there.
func (r *Runner) deploy(ctx context.Context, place plan.Place, sum string) (string, error) {
	if place.Way.Kind == nodes.Local {
		return exec.LookPath(r.programs[place.Role])
	}
	vars := fmt.Sprintf("program=%s\nsum=%s\nfolder=%s\n", place.Program(), sum, sum[:16])
	answer, err := r.converse(ctx, place, strings.NewReader(vars+probeScript), nil, "sh", "-s")
	if err != nil {
		return "", err
	}
	system, dir := answer["system"], answer["dir"]
	if system != r.system {
		return "", fmt.Errorf("is a %q machine, and the programs are built for %q", system, r.system)
	}
	if !plainPath.MatchString(dir) {
		return "", fmt.Errorf("unusable folder %q", dir)
	}
	path := dir + "/" + sum[:16] + "/" + place.Program()
	if _, ok := answer["have"]; ok {
		return path, nil
	}
	return path, r.push(ctx, place, path, vars)
}

// push copies the program to the node. The file gets its name when it is complete, so
// that another run never starts half a program.
func (r *Runner) push(ctx context.Context, place plan.Place, path, vars string) error {
	program, err := os.Open(r.programs[place.Role])
	if err != nil {
		return err
	}
	defer program.Close()
	vars += fmt.Sprintf("path=%s\nlimit=%d\n", path, int(remoteTimeout.Seconds()))
	answer, err := r.converse(ctx, place, strings.NewReader(vars+receiveScript), program, "sh", "-s")
	if err != nil {
		return fmt.Errorf("copy %s: %w", place.Program(), err)
	}
	if _, ok := answer["installed"]; !ok {
		return fmt.Errorf("copy %s: no answer", place.Program())
	}
	return nil
}
