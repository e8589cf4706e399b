package remote

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

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
	sums     func() (map[metrics.Role]string, error) // of programs
	system   string                                  // uname -sm of this machine
	login    time.Duration                           // limit of the time to the first answer through ssh
	paths    sync.Map                                // of the copies, by keyOf

	wrap   plan.Wrapper // of the servers' programs; nil: they are not contained
	write  []string     // the folders in which contained programs may write
	hosted bool         // the servers start what is contained
}

// keyOf identifies the copy of the place's program on its node.
func keyOf(p plan.Place) string { return p.Program() + " " + p.Node.Name }

// New returns a Runner of programs that reaches nodes through ways.
func New(ways Programs, programs plan.Programs) *Runner {
	var name unix.Utsname
	_ = unix.Uname(&name) // has no error for a valid pointer
	system := unix.ByteSliceToString(name.Sysname[:]) + " " + unix.ByteSliceToString(name.Machine[:])
	return &Runner{ways: ways.ways(), programs: programs, sums: sync.OnceValues(programs.Sums), system: system, login: loginTimeout}
}

// Contain makes the Runner start the servers' programs contained. If the servers are hosts of a
// foreign store, it contains the programs that they start instead. The contained programs write
// in the folders of write. Contain is called before anything else.
func (r *Runner) Contain(wrap plan.Wrapper, write []string, hosted bool) {
	r.wrap, r.write, r.hosted = wrap, write, hosted
}

// Contains reports whether the Runner starts the program of a place contained.
func (r *Runner) Contains(place plan.Place) bool {
	return r.wrap != nil && !r.hosted && place.Role == metrics.Server
}

// StoreWords returns the words that contain a foreign store's program when they precede its
// command line; nil for a store that is not contained.
func (r *Runner) StoreWords(place plan.Place) []string {
	if r.wrap == nil || !r.hosted || place.Role != metrics.Server {
		return nil
	}
	return r.wrap.Command(r.path(as(place, plan.Launcher)), false, r.write)
}

// as returns a place on the same node with another program.
func as(place plan.Place, role metrics.Role) plan.Place {
	place.Role = role
	return place
}

// trusted returns a place whose program answers for a node. A contained program may lie.
func (r *Runner) trusted(place plan.Place) plan.Place {
	if r.Contains(place) {
		return as(place, metrics.Client)
	}
	return place
}

// Walls asks a place's node which walls hold there for contained programs.
func (r *Runner) Walls(ctx context.Context, place plan.Place) (walls []metrics.Wall, err error) {
	script := fmt.Sprintf("walls=$(%s) && echo \"kvlab walls $walls\"\n", format.CommandLine(r.wrap.Walls(r.path(as(place, plan.Launcher)))))
	answer, err := r.converse(ctx, place, script, nil, "sh", "-s")
	if err == nil {
		err = json.Unmarshal([]byte(answer["walls"]), &walls)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: find the walls of --contain: %w", place.Name, err)
	}
	return walls, nil
}

// Way returns the way to the node.
func (r *Runner) Way(n nodes.Node) Way { return r.ways[n.Way.Kind] }

// Deploy copies the programs to the nodes that lack them, and checks that every place can run
// its program. Its error joins a fault for each node that fails.
func (r *Runner) Deploy(ctx context.Context, places []plan.Place) error {
	further := map[metrics.Role][]metrics.Role{} // programs on the nodes of a role
	if r.programs[plan.Store] != "" {
		further[metrics.Server] = append(further[metrics.Server], plan.Store)
	}
	for _, role := range []metrics.Role{plan.Team, plan.Trace} {
		if r.programs[role] != "" {
			further[metrics.Client] = append(further[metrics.Client], role)
		}
	}
	if r.wrap != nil {
		further[metrics.Server] = append(further[metrics.Server], plan.Launcher, metrics.Client)
	}
	given := places
	for _, of := range []metrics.Role{metrics.Server, metrics.Client} {
		for _, role := range further[of] {
			for _, place := range given {
				if place.Role == of {
					places = append(places, as(place, role))
				}
			}
		}
	}
	// The places of a node and role follow each other.
	places = slices.CompactFunc(slices.Clone(places), func(a, b plan.Place) bool { return keyOf(a) == keyOf(b) })
	faults := make([]error, len(places))
	Each(len(places), Parallel, func(i int) {
		place := places[i]
		path, err := r.deploy(ctx, place)
		if err != nil {
			faults[i] = &plan.Fault{Node: place.Name, Role: place.Role, Reason: format.OneLine(err.Error()), Outside: true}
			return
		}
		r.paths.Store(keyOf(place), path)
	})
	if errors.Is(ctx.Err(), context.Canceled) {
		return plan.ErrInterrupted
	}
	return errors.Join(faults...)
}

// Output handles what a program writes, and its end.
type Output struct {
	Line  func(line []byte) error // of its standard output
	Error func(line []byte) error // of its standard error
	Ended func(err error)         // of its exit, and of Line or Error at the last line
}

// Start starts a place's program with node.ControlFlag or node.ProbeFlag and the place's
// name, and returns its standard input. It starts it again if the node's sshd refuses the
// connection.
func (r *Runner) Start(place plan.Place, flag string, to Output) (*Running, io.WriteCloser, error) {
	words := []string{r.path(r.trusted(place)), flag, place.Name}
	if flag == node.ControlFlag && r.Contains(place) {
		words = r.wrap.Command(r.path(as(place, plan.Launcher)), true, r.write, r.path(place), flag, place.Name)
	}
	in, stdin, err := os.Pipe() // a refused ssh has read nothing of it
	if err != nil {
		return nil, nil, err
	}
	p := &Running{in: in, command: func() *exec.Cmd { return r.Way(place.Node).Command(context.Background(), place.Node, words...) }, to: to}
	if err := p.start(); err != nil {
		return nil, nil, errors.Join(err, in.Close(), stdin.Close())
	}
	go func() {
		defer in.Close()
		err := p.wait()
		for try := 1; p.refused && !p.heard && place.Way.Kind == nodes.SSH && try < refusedTries; try++ {
			time.Sleep(pauseAfter(try))
			if p.start() != nil {
				break
			}
			err = p.wait()
		}
		to.Ended(err)
	}()
	return p, stdin, nil
}

// Send sends a command to a node. It ignores a write error: the node has then ended,
// which is reported separately.
func Send(stdin io.Writer, command node.Command) {
	_ = json.NewEncoder(stdin).Encode(command)
}

// Signal sends a signal to a place's process itself. Signals to its Command may not
// reach it. After SIGKILL the process has ended. On another machine the node's copy of
// the program sends the signal, over a separate connection.
func (r *Runner) Signal(ctx context.Context, place plan.Place, id metrics.ProcessID, signal syscall.Signal) error {
	if place.Way.Kind == nodes.Local {
		return node.Signal(id, signal)
	}
	_, err := r.converse(ctx, place, "", nil, append([]string{r.path(r.trusted(place))}, node.SignalWords(id, signal)...)...)
	return err
}

// Reap ends the processes that earlier runs of this user left on a node, restores the
// node's settings, and describes both. The node's copy of the server's program does the
// work.
func (r *Runner) Reap(ctx context.Context, n nodes.Node) ([]string, error) {
	place := plan.Place{Node: n, Name: n.Name, Role: metrics.Server}
	if err := r.Deploy(ctx, []plan.Place{place}); err != nil {
		return nil, err
	}
	answer, err := r.converse(ctx, place, "", nil, r.path(place), node.ReapFlag)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", n.Name, err)
	}
	return slices.Sorted(maps.Values(answer)), nil
}

// path returns the path of the place's program on its node, which Deploy has copied.
func (r *Runner) path(place plan.Place) string {
	path, _ := r.paths.Load(keyOf(place))
	return path.(string)
}

// Trace returns the path of the trace of a client's -replay on its node, which Deploy has copied;
// "" if it lies where the flag says.
func (r *Runner) Trace(place plan.Place) string {
	if place.Role != metrics.Client || r.programs[plan.Trace] == "" {
		return ""
	}
	return r.path(as(place, plan.Trace))
}

// copyBytesPerS is the slowest copy that is waited for: less than a share of Parallel nodes in
// a link of 1 Gb/s.
const copyBytesPerS = 10e6

// limitOf returns the limit of a step that copies a program, or nil.
func limitOf(program io.Reader) time.Duration {
	limit := remoteTimeout
	if file, ok := program.(*os.File); ok {
		if info, err := file.Stat(); err == nil {
			limit += time.Duration(float64(info.Size()) / copyBytesPerS * float64(time.Second))
		}
	}
	return limit
}

// installScript copies a program to a node.
//
//go:embed install.sh
var installScript string

// deploy copies the place's program to the node, unless the node has it, and returns its
// path there.
func (r *Runner) deploy(ctx context.Context, place plan.Place) (string, error) {
	local := r.programs[place.Role]
	switch {
	case place.Way.Kind == nodes.Local && place.Role == plan.Trace:
		return local, nil
	case place.Way.Kind == nodes.Local:
		return exec.LookPath(local)
	}
	sums, err := r.sums()
	if err != nil {
		return "", err
	}
	program, err := os.Open(local)
	if err != nil {
		return "", err
	}
	defer program.Close()
	sum := sums[place.Role]
	vars := fmt.Sprintf("program=%s\nsum=%s\nfolder=%s\nsystem='%s'\nlimit=%d\n", place.Program(), sum, plan.Folder(sum), r.system, int(limitOf(program).Seconds()))
	answer, err := r.converse(ctx, place, vars+installScript, program, "sh", "-s")
	if err == nil && answer["path"] == "" {
		err = fmt.Errorf("copy %s: no answer", place.Program())
	}
	return answer["path"], err
}
