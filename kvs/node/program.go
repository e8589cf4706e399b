package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"kvlab/internal/cli"
	"kvlab/metrics"
	"kvlab/metrics/build"
	"kvlab/metrics/usage"
)

// UsageError marks an error as the command line's: exit status 2.
type UsageError struct{ Err error }

func (e UsageError) Error() string { return e.Err.Error() }
func (e UsageError) Unwrap() error { return e.Err }

// PeerError marks an error as caused by another node.
type PeerError struct {
	Node string // its name
	Err  error
	Lost bool // it answers, but has lost its records
}

func (e PeerError) Error() string { return e.Err.Error() }
func (e PeerError) Unwrap() error { return e.Err }

// The exit statuses of the nodes' programs.
const (
	exitFailed = 1
	exitUsage  = 2
)

// A Program is kvsserver or kvsclient.
type Program struct {
	Name      string
	Role      metrics.Role
	Protocols []string // what clients and servers speak with each other, with versions
	// Parse parses a command line with Flags.Parse, and returns its flags and the work
	// that it asks for. The flag -node is the node's name.
	Parse func(args []string) (*Flags, Work, error)
	// Find reads a Search and writes what is Found, as JSON. It is nil of a client.
	Find func(ctx context.Context, in io.Reader, out io.Writer) error
}

// Work does a node's work until it is done or ctx ends. token is the run's secret; ""
// without a launcher.
type Work func(ctx context.Context, node *Node, token string) error

// The first arguments with which a launcher starts a program. ControlFlag, for a run,
// and ProbeFlag, for questions about the machine, have the same protocol; the node's name
// follows. A list of processes shows which it is.
const (
	ControlFlag  = "-control"
	ProbeFlag    = "-probe"
	ContainFlag  = "-contain"  // of the launcher's program, which contains a submitted one
	ReapFlag     = "-reap"     // see machine.reap
	signalFlag   = "-signal"   // see SignalWords
	settingsFlag = "-settings" // of a command line
	listFlag     = "-flags"
	versionFlag  = "-version"

	FindFlag = "-find" // answers a Search of a foreign store
)

// ContainInit is argv[0] of the process inside a containment that starts the program.
const ContainInit = "kvlab-contain-init"

// Led names the versions of the protocol and the records that a launcher and its nodes must
// have in common. The output of -version ends with it.
var Led = fmt.Sprintf("control 1, records %d", metrics.Schema)

// Main runs p with the process's arguments and streams, and returns the exit status. An
// error goes to the launcher as the last event, or to stderr as one line.
func (p Program) Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	first := ""
	if len(args) > 0 {
		first = strings.Replace(args[0], "--", "-", 1)
	}
	var err error
	switch alone := len(args) == 1; {
	case len(args) <= 2 && (first == ControlFlag || first == ProbeFlag):
		err = controlled(ctx, stdin, stdout, p.work)
	case first == settingsFlag:
		err = p.describe(args[1:], func(f *Flags) any { return f.Values() }, stdout)
	case alone && first == listFlag:
		err = p.describe(nil, func(f *Flags) any { return f.List() }, stdout)
	case alone && first == FindFlag && p.Find != nil:
		err = p.Find(ctx, stdin, stdout)
	case alone && first == versionFlag:
		fmt.Fprintln(stdout, build.Line(p.Name, append(p.Protocols, Led)...))
	case alone && first == ReapFlag:
		var folder string
		if folder, err = programFolder(os.Executable()); err == nil {
			err = thisMachine.reap(folder, stdout)
		}
	case first == signalFlag:
		err = sendSignal(args[1:])
	default:
		err = p.run(ctx, standalone(stdout), args, "")
		var help helpError
		if errors.As(err, &help) {
			fmt.Fprint(stdout, string(help))
			return 0
		}
	}
	if err == nil {
		return 0
	}
	if sent := (sentError{}); !errors.As(err, &sent) {
		fmt.Fprintf(stderr, "%s: %s\n", p.Name, cli.HidePassword(err.Error()))
	}
	var usage UsageError
	if errors.As(err, &usage) {
		return exitUsage
	}
	return exitFailed
}

// controlled runs work under a launcher. It returns even if work does not stop after its
// context has ended, or hangs on a pipe without a reader.
func controlled(ctx context.Context, stdin io.Reader, stdout io.Writer, work func(context.Context, *Node) error) error {
	// A broken pipe ends the context. SIGPIPE would leave unfinished profiles.
	signal.Ignore(syscall.SIGPIPE)
	node, ctx := Controlled(ctx, stdin, stdout)
	ended := make(chan error, 1)
	go func() { ended <- work(ctx, node) }()
	overdue := make(chan struct{})
	context.AfterFunc(ctx, func() { time.AfterFunc(leaveWithin, func() { close(overdue) }) })
	select {
	case err := <-ended:
		return err
	case <-overdue:
		return fmt.Errorf("%w; the work did not stop within %v", context.Cause(ctx), leaveWithin)
	}
}

// work returns p's part of the protocol from the start command to the last event.
func (p Program) work(ctx context.Context, node *Node) error {
	start, err := node.Await(ctx, Start)
	if err == nil && start.Cores != "" {
		err = bind(start.Cores)
	}
	usage.RaiseDescriptors()
	if err == nil {
		if start.GCS > 0 {
			go forceGC(time.Duration(start.GCS * float64(time.Second)))
		}
		if start.Clock != nil {
			node.clock = runClockOf(*start.Clock)
		}
		node.trust, node.contain, node.password = start.Trust, start.Contain, start.Password
		if start.Password == cli.TokenPassword {
			node.password = start.Token
		}
		err = p.run(ctx, node, start.Args, start.Token)
	}
	if err == nil {
		err = node.Send(Event{Event: Done})
	}
	if err != nil && !errors.Is(err, errControllerGone) {
		var usage UsageError
		var peer PeerError
		errors.As(err, &peer)
		if node.Send(Event{Event: Error, Text: cli.HidePassword(err.Error()), Usage: errors.As(err, &usage), Peer: peer.Node, Lost: peer.Lost, Ended: ctx.Err() != nil}) == nil {
			return sentError{err}
		}
	}
	return err
}

// run parses args and does their work, with the profiles that they ask for.
func (p Program) run(ctx context.Context, node *Node, args []string, token string) (err error) {
	args, passwords := cli.HidePasswords(args) // of a command line that a user types
	for _, password := range passwords {
		node.password = password
	}
	flags, work, err := p.Parse(args)
	if err != nil {
		return err
	}
	if flags.Rival != "" {
		return UsageError{fmt.Errorf("%s: only extra/rivals' %s has it, which run-cluster.sh builds, or go build -C extra/rivals -o ../../bin/rivals/ ./... does", flags.Rival, p.Name)}
	}
	if name := flags.Lookup("node"); name != nil {
		node.name = name.Value.String()
	}
	node.role, node.args, node.flags, node.sampleEvery = p.Role, args, flags, flags.sampleEvery
	stop, err := flags.profile(node.name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if flags.profiled && !node.Controlled() {
		return UsageError{errors.New("-profile: only a launcher keeps it, run-cluster.sh --profile: want -cpuprofile FILE")}
	}
	return work(ctx, node, token)
}

// sentError is an error that the launcher knows.
type sentError struct{ error }

// Unwrap returns the error.
func (e sentError) Unwrap() error { return e.error }

// helpError carries the text of -help. Except in Main's output, it is a UsageError.
type helpError string

func (helpError) Error() string   { return "-help works only on the program's own command line" }
func (e helpError) Unwrap() error { return UsageError{errors.New(string(e))} }

// describe prints, as JSON, what of returns about a command line's flags: their final values,
// with which the launcher checks a node's arguments before it starts anything, or their
// descriptions, because the launcher accepts these flags as its own.
func (p Program) describe(args []string, of func(*Flags) any, stdout io.Writer) error {
	flags, _, err := p.Parse(args)
	if err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(of(flags))
}

// forceGC forces a garbage collection at intervals until the process ends. The runtime
// itself may wait for two minutes (forcegcperiod in its proc.go), and until a collection a
// leak and garbage look the same.
func forceGC(every time.Duration) {
	for range time.Tick(every) {
		runtime.GC()
	}
}
