package node

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"kvlab/metrics"
	"kvlab/metrics/format"
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
	Name string
	Role metrics.Role
	// Parse parses a command line. Its errors are those of ParseFlags, or UsageErrors
	// that name the wrong flag and its right form.
	Parse func(args []string) (*Flags, error)
	// Run does the node's work until it is done or ctx ends. It parses args with
	// ParseFlags. token is the run's secret; "" without a launcher.
	Run func(ctx context.Context, node *Node, args []string, token string) error
}

// The only argument of a program under a launcher: -control for a run, -probe for
// questions about the machine. The protocol is the same; the flag distinguishes the two
// in a list of processes.
const (
	controlFlag = "-control"
	probeFlag   = "-probe"
)

// Main runs p with the process's arguments and streams, and returns the exit status. An
// error goes to the launcher as the last event, or to stderr as one line.
//
//	-control, -probe  run under a launcher
//	-settings ...     print the final value of every flag
//	-flags            describe the flags
//	-reap, -signal    see maintenance
func (p Program) Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if len(args) == 1 && slices.Contains([]string{controlFlag, "-" + controlFlag, probeFlag}, args[0]) {
		return p.controlled(ctx, stdin, stdout, stderr)
	}
	if len(args) > 0 && strings.TrimLeft(args[0], "-") == settingsFlag && strings.HasPrefix(args[0], "-") {
		return p.exit(p.settings(args[1:], stdout), stderr, stderr)
	}
	if len(args) == 1 && args[0] == flagsFlag {
		return p.exit(p.list(stdout), stderr, stderr)
	}
	if len(args) > 0 && (args[0] == reapFlag || args[0] == signalFlag) {
		return p.exit(maintenance(args, stdout), stderr, stderr)
	}
	return p.exit(p.Run(ctx, Standalone(stdout), args, ""), stdout, stderr)
}

// controlled runs p under a launcher. It returns even if p does not stop after its
// context has ended, or hangs on a pipe without a reader.
func (p Program) controlled(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) int {
	// A broken pipe ends the context. SIGPIPE would leave the pid file.
	signal.Ignore(syscall.SIGPIPE)
	node, ctx := Controlled(ctx, stdin, stdout)
	ended := make(chan error, 1)
	go func() { ended <- p.work(ctx, node) }()
	overdue := make(chan struct{})
	context.AfterFunc(ctx, func() { time.AfterFunc(leaveWithin, func() { close(overdue) }) })
	select {
	case err := <-ended:
		return p.exit(err, stderr, stderr)
	case <-overdue:
		node.unregister()
		return p.exit(fmt.Errorf("%w; the work did not stop within %v", context.Cause(ctx), leaveWithin), stderr, stderr)
	}
}

// work is p's part of the protocol from the start command to the last event.
func (p Program) work(ctx context.Context, node *Node) error {
	defer node.unregister()
	start, err := node.Await(ctx, Start)
	if err == nil && start.Cores != "" {
		err = bind(start.Cores)
	}
	if err == nil && start.GCS > 0 {
		go forceGC(ctx, time.Duration(start.GCS*float64(time.Second)))
	}
	if err == nil {
		node.clock, err = runClockOf(start.Clock, node.now())
	}
	if err == nil {
		node.trust = start.Trust
		err = p.Run(ctx, node, start.Args, start.Token)
	}
	if err == nil {
		err = node.Send(Event{Event: Done})
	}
	if err != nil && !errors.Is(err, ErrControllerGone) {
		err = noHelp(err)
		var usage UsageError
		var peer PeerError
		errors.As(err, &peer)
		// If this fails too, the exit status still shows the error.
		_ = node.Send(Event{Event: Error, Text: err.Error(), Usage: errors.As(err, &usage), Peer: peer.Node, Lost: peer.Lost})
	}
	return err
}

func (p Program) exit(err error, stdout, stderr io.Writer) int {
	var help helpError
	var usage UsageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &help):
		fmt.Fprint(stdout, help.text)
		return 0
	case errors.As(err, &usage):
		fmt.Fprintf(stderr, "%s: %v\n", p.Name, err)
		return exitUsage
	}
	fmt.Fprintf(stderr, "%s: %v\n", p.Name, err)
	return exitFailed
}

// helpError carries the text of -help.
type helpError struct{ text string }

func (helpError) Error() string {
	return "-help works only on the program's own command line"
}

// ParseFlags parses args and refuses positional arguments. aliases are the labs' names
// of flags. Its errors are UsageErrors of one line, or a request for help that Main
// prints.
func ParseFlags(flags *Flags, args []string, aliases map[string]string) error {
	flags.SetOutput(io.Discard)
	for old, name := range metrics.RenamedFlags {
		if f := flags.Lookup(name); f != nil {
			flags.Var(f.Value, old, f.Usage)
		}
	}
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return helpError{usageText(flags)}
	}
	if err != nil {
		if name, unknown := format.UnknownFlag(err, flags.FlagSet, "-"); unknown != nil {
			err = unknown
			if right, ok := aliases[name]; ok {
				err = fmt.Errorf("-%s: unknown flag; use %s", name, right)
			}
		}
		return UsageError{fmt.Errorf("%w (-help lists the flags)", err)}
	}
	if flags.NArg() > 0 {
		return UsageError{fmt.Errorf("unexpected argument %q: every setting is a flag, -name value (-help lists them)", flags.Arg(0))}
	}
	return nil
}

// The first arguments with which a launcher asks for a program's flags.
const (
	settingsFlag = "settings"
	flagsFlag    = "-flags"
)

// settings prints the final value of every flag as a JSON object: the launcher checks a
// node's arguments with it before it starts anything.
func (p Program) settings(args []string, stdout io.Writer) error {
	flags, err := p.Parse(args)
	if err != nil {
		return noHelp(err)
	}
	return json.NewEncoder(stdout).Encode(flags.Values())
}

// list prints the description of every flag as a JSON array: the launcher accepts these
// flags as its own.
func (p Program) list(stdout io.Writer) error {
	flags, err := p.Parse(nil)
	if err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(flags.List())
}

// noHelp turns a request for help that has no reader into a UsageError.
func noHelp(err error) error {
	var help helpError
	if errors.As(err, &help) {
		return UsageError{errors.New(help.Error())}
	}
	return err
}

// forceGC forces a garbage collection at intervals until ctx ends. The runtime itself
// may wait for two minutes (forcegcperiod in its proc.go), and until a collection a
// leak and garbage look the same.
func forceGC(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			runtime.GC()
		}
	}
}
