package node

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
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

// PeerError marks an error as another node's: what that one did not do.
type PeerError struct {
	Node string // its name
	Err  error
	Lost bool // it answers, and has lost what it held
}

func (e PeerError) Error() string { return e.Err.Error() }
func (e PeerError) Unwrap() error { return e.Err }

// The exit statuses of the nodes' programs.
const (
	exitFailed = 1
	exitUsage  = 2
)

// A Program is kvsserver or kvsclient: how it reads its command line, and what
// it does then.
type Program struct {
	Name string
	Role metrics.Role
	// Parse reads a command line and does nothing else. Its errors are those of
	// ParseFlags, or UsageErrors that name the wrong flag and its right form.
	Parse func(args []string) (*Flags, error)
	// Run does the node's work until it is done or ctx ends. It reads args
	// with ParseFlags. token is the run's secret, empty by hand.
	Run func(ctx context.Context, node *Node, args []string, token string) error
}

// The only argument of a program under a launcher: -control for a run, -probe for
// questions about the machine. The protocol is the same; the words tell one from
// the other in a list of processes.
const (
	controlFlag = "-control"
	probeFlag   = "-probe"
)

// Main runs p with the process's own arguments and streams, under a launcher
// when the only argument is -control or -probe, and returns the exit status. An error
// goes to the launcher as the last event, or to stderr as one line. When the
// first argument is -settings, it only prints the others' effect; when the only one
// is -flags, it describes its flags. See
// tidy for -reap and -signal.
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
		return p.exit(tidy(args, stdout), stderr, stderr)
	}
	return p.exit(p.Run(ctx, Alone(stdout), args, ""), stdout, stderr)
}

// controlled runs p under a launcher. A program that goes on working after its
// context has ended, or hangs on a pipe that nobody reads, is left behind: its
// process ends with the status that is returned.
func (p Program) controlled(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) int {
	// A pipe that breaks with the launcher shows in the context's end. SIGPIPE
	// would come first, and leave the pid file.
	signal.Ignore(syscall.SIGPIPE)
	node, ctx := Attach(ctx, stdin, stdout)
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
		go collect(ctx, time.Duration(start.GCS*float64(time.Second)))
	}
	if err == nil {
		node.calendar, err = calendarOf(start.Epoch, node.now())
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
		// If this cannot be sent either, the exit status still tells.
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

// helpError carries the text that -help asks for.
type helpError struct{ text string }

func (helpError) Error() string {
	return "-help is for the program itself, not for a run: type it after the program's name"
}

// ParseFlags parses args with flags, whose output it takes over, and refuses
// stray words. Its errors are UsageErrors of one line; asking for help is one
// that Main prints.
func ParseFlags(flags *Flags, args []string, hints map[string]string) error {
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
			if right, ok := hints[name]; ok {
				err = fmt.Errorf("-%s: unknown flag: here it is %s", name, right)
			}
		}
		return UsageError{fmt.Errorf("%w (-help lists the flags)", err)}
	}
	if flags.NArg() > 0 {
		return UsageError{fmt.Errorf("stray argument %q: every setting is a flag, -name value (-help lists them)", flags.Arg(0))}
	}
	return nil
}
