package node

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime/pprof"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"kvlab/internal/cli"
	"kvlab/kvs/certs"
	"kvlab/metrics"
)

// errControllerGone is the cause with which a closed standard input cancels a node's
// context.
var errControllerGone = errors.New("the controller is gone: standard input closed")

// Node is a node's end of the pipe. A standalone node has no launcher: its log goes to
// standard output, every barrier opens at once, and records are dropped. It is safe for
// concurrent use.
type Node struct {
	// WindowClock tells the time, since any moment, by which a client measures its window;
	// nil of a server. It is set before the node has a Reporter.
	WindowClock func() time.Duration

	// Of the program and its command line, set before its work begins.
	name        string
	role        metrics.Role
	args        []string
	flags       *Flags
	sampleEvery time.Duration

	commands chan Command // nil if standalone
	lease    *leaseTimer  // nil if standalone
	now      func() time.Time
	clock    runClock // set before the program runs
	trust    *certs.Credentials
	contain  []string
	reporter atomic.Pointer[Reporter] // nil until there is one
	stacks   atomic.Pointer[func()]   // of Stacks; nil until it is called
	length   atomic.Int64             // of the window, in nanoseconds; 0 until the launcher has said it
	profiles sync.WaitGroup           // those that are not sent yet
	password string                   // the foreign store's; "" if it has none, or if Args do not hide it

	mu      sync.Mutex
	out     io.Writer // guarded by mu
	err     error     // the error of the first failed write; guarded by mu
	partial []byte    // log line; guarded by mu
}

// standalone returns a node without a launcher, whose log goes to out.
func standalone(out io.Writer) *Node {
	now := time.Now()
	return &Node{out: out, now: time.Now, clock: runClock{now.Round(0), now}, sampleEvery: reportEvery}
}

// Controlled returns a node whose launcher is connected to in and out, and a context
// that ends with the launcher or its lease.
func Controlled(ctx context.Context, in io.Reader, out io.Writer) (*Node, context.Context) {
	ctx, cancel := context.WithCancelCause(ctx)
	n := standalone(out)
	n.commands, n.lease = make(chan Command, 16), &leaseTimer{end: cancel}
	go func() { cancel(n.listen(ctx, in)) }()
	return n, ctx
}

// listen forwards commands until in or ctx ends, and returns the reason.
func (n *Node) listen(ctx context.Context, in io.Reader) error {
	var asked probe
	defer asked.close()
	lines := json.NewDecoder(bufio.NewReader(in))
	for {
		var c Command
		err := lines.Decode(&c)
		at := time.Now()
		if err == io.EOF {
			return errControllerGone
		} else if err != nil {
			return fmt.Errorf("read a command from standard input: %w", err)
		}
		n.lease.renew(c.Lease)
		if c.Length > 0 {
			n.length.Store(int64(c.Length * float64(time.Second)))
		}
		switch c.Do {
		case Beat:
		case Dump:
			n.dump()
		case Clock, Facts, Dial:
			answer, err := asked.answer(ctx, c, at)
			if r := n.reporter.Load(); r != nil && c.Do == Clock {
				answer.Reading = r.read()
			}
			if err == nil {
				err = n.Send(Event{Event: Answered, Answer: &answer})
			}
			if err != nil {
				return err
			}
		default:
			select {
			case n.commands <- c:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}

// Controlled reports whether the node has a launcher.
func (n *Node) Controlled() bool { return n.commands != nil }

// Reveal returns a driver's settings with the password that the command line hides.
func (n *Node) Reveal(settings map[string]string) map[string]string {
	return Revealed(settings, n.password)
}

// Revealed returns settings with a password in place of the mark that hides it.
func Revealed(settings map[string]string, password string) map[string]string {
	switch is := settings["password"]; {
	case is != "" && password != "":
		settings = maps.Clone(settings)
		settings["password"] = password
	case is == cli.TokenPassword: // without a launcher the store has none
		settings = maps.Clone(settings)
		delete(settings, "password")
	}
	return settings
}

// Contained returns the command line of a submitted program, with the words in front that
// contain it if the launcher asks for that.
func (n *Node) Contained(words []string) []string { return slices.Concat(n.contain, words) }

// TLS returns the configuration that the flags ask for, by the run's clock: with the
// credentials of the node's own files or else the launcher's; nil without -tls.
func (n *Node) TLS() (*tls.Config, error) {
	config, err := n.flags.tls.Config(n.trust)
	if err != nil {
		return nil, UsageError{err}
	}
	if config != nil {
		config.Time = n.Now
	}
	return config, nil
}

// Await waits for the command do. Another command is an error. A standalone node does
// not wait.
func (n *Node) Await(ctx context.Context, do string) (Command, error) {
	if !n.Controlled() {
		return Command{Do: do}, nil
	}
	c, err := n.Next(ctx)
	if err == nil && c.Do != do {
		err = fmt.Errorf("command %q from the launcher, want %q", c.Do, do)
	}
	return c, err
}

// Next waits for the next command; a standalone node waits for the context's end.
func (n *Node) Next(ctx context.Context) (Command, error) {
	select {
	case c := <-n.commands:
		return c, nil
	case <-ctx.Done():
		return Command{}, context.Cause(ctx)
	}
}

// Send sends an event to the launcher, if there is one. After a failed write every
// Send returns its error.
func (n *Node) Send(e Event) error {
	if !n.Controlled() {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.send(e)
}

func (n *Node) send(e Event) error {
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode a %s event: %w", e.Event, err)
	}
	if n.err == nil {
		if _, err := n.out.Write(append(line, '\n')); err != nil {
			n.err = fmt.Errorf("send a %s event: %w", e.Event, err)
		}
	}
	return n.err
}

// Report sends a record with the node's name, role and time.
func (n *Node) Report(r metrics.Record) error {
	r.Node, r.Role, r.Time = n.name, n.role, n.Now()
	return n.Send(Event{Event: Report, Record: &r})
}

// Logf writes a line to the node's log.
func (n *Node) Logf(format string, args ...any) {
	fmt.Fprintf(n, format+"\n", args...)
}

// Output passes on a line of a foreign store's program: to a file of its own under a
// launcher, else to standard output.
func (n *Node) Output(line string) {
	if n.Controlled() {
		_ = n.Send(Event{Event: Output, Text: line}) // as Write
		return
	}
	n.Logf("%s", line)
}

// Stacks sets what makes a foreign store print its stacks, in place of this process's. It may end
// the store.
func (n *Node) Stacks(print func()) { n.stacks.Store(&print) }

// dump writes every goroutine's stack to the log, as a crash prints them, or makes the foreign
// store print its own.
func (n *Node) dump() {
	if print := n.stacks.Load(); print != nil {
		(*print)()
	} else {
		_ = pprof.Lookup("goroutine").WriteTo(n, 2)
	}
	_ = n.Send(Event{Event: Dumped}) // without a launcher there is no reader
}

// Write appends text to the node's log, line by line. Under a launcher it never fails;
// if the launcher is gone, the node's context ends.
func (n *Node) Write(text []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.Controlled() {
		return n.out.Write(text)
	}
	n.partial = append(n.partial, text...)
	for {
		line, rest, whole := bytes.Cut(n.partial, []byte("\n"))
		if !whole {
			return len(text), nil
		}
		n.partial = rest
		_ = n.send(Event{Event: Log, Text: string(line)})
	}
}
