package node

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"kvlab/kvs/certs"
	"kvlab/metrics"
)

// ErrControllerGone is the cause of a node's context when its standard input
// has closed.
var ErrControllerGone = errors.New("the controller is gone: standard input closed")

// Node is a node's end of the pipe. Started by hand a node has none: then its
// log goes to standard output as it is, every barrier opens at once, and
// records are dropped. It is safe for concurrent use.
type Node struct {
	name string
	role metrics.Role

	commands chan Command // nil by hand
	lease    *tenancy     // nil by hand
	now      func() time.Time
	calendar calendar // set before the node's work begins
	trust    *certs.Credentials

	mu      sync.Mutex
	out     io.Writer // guarded by mu
	err     error     // of the first write that failed; guarded by mu
	partial []byte    // of a log line; guarded by mu
	pidFile string    // its path; "" without one; guarded by mu
}

// Alone returns a node without a launcher, whose log goes to out.
func Alone(out io.Writer) *Node { return newNode(out) }

func newNode(out io.Writer) *Node {
	return &Node{out: out, now: time.Now, calendar: newCalendar(time.Now())}
}

// Attach returns a node whose launcher stands behind in and out, and a context
// that ends when the launcher does, or the lease that it gave.
func Attach(ctx context.Context, in io.Reader, out io.Writer) (*Node, context.Context) {
	ctx, cancel := context.WithCancelCause(ctx)
	n := newNode(out)
	n.commands, n.lease = make(chan Command, 16), &tenancy{end: cancel}
	go func() { cancel(n.listen(ctx, in)) }()
	return n, ctx
}

// listen passes commands on until in or ctx ends, and returns why it ended.
func (n *Node) listen(ctx context.Context, in io.Reader) error {
	var asked probe
	defer asked.close()
	lines := json.NewDecoder(bufio.NewReader(in))
	for {
		var c Command
		err := lines.Decode(&c)
		at := time.Now()
		if err == io.EOF {
			return ErrControllerGone
		} else if err != nil {
			return fmt.Errorf("read a command from standard input: %w", err)
		}
		n.lease.heard(c.Lease)
		switch c.Do {
		case Beat:
			continue
		case Dump:
			n.dump()
			continue
		case Clock, Facts, Dial:
			answer, err := asked.answer(ctx, c, at)
			if err == nil {
				err = n.Send(Event{Event: Answered, Answer: &answer})
			}
			if err != nil {
				return err
			}
			continue
		}
		select {
		case n.commands <- c:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Controlled says whether there is a launcher.
func (n *Node) Controlled() bool { return n.commands != nil }

// Identify sets what the node's records are signed with. It comes before the
// first of them.
func (n *Node) Identify(name string, role metrics.Role) { n.name, n.role = name, role }

// Credentials are what the launcher has made for this node, nil when it made none,
// and by hand.
func (n *Node) Credentials() *certs.Credentials { return n.trust }

// Await waits for the command do and returns it. Any other that comes first is
// an error. By hand it returns at once.
func (n *Node) Await(ctx context.Context, do string) (Command, error) {
	if !n.Controlled() {
		return Command{Do: do}, nil
	}
	c, err := n.Next(ctx)
	if err == nil && c.Do != do {
		err = fmt.Errorf("command %q from the launcher where %q is due", c.Do, do)
	}
	return c, err
}

// Next waits for the next command, by hand for the context's end.
func (n *Node) Next(ctx context.Context) (Command, error) {
	select {
	case c := <-n.commands:
		return c, nil
	case <-ctx.Done():
		return Command{}, context.Cause(ctx)
	}
}

// Send sends an event to the launcher. By hand it does nothing. The error of a
// write stays: every later Send returns it.
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

// Report sends a record, signed and dated.
func (n *Node) Report(r metrics.Record) error {
	r.Node, r.Role, r.Time = n.name, n.role, n.Today()
	return n.Send(Event{Event: Report, Record: &r})
}

// Logf writes to the node's log; a line break is added.
func (n *Node) Logf(format string, args ...any) {
	fmt.Fprintf(n, format+"\n", args...)
}

// register leaves a pid file. A node can work without one.
func (n *Node) register(program string) {
	if !n.Controlled() {
		return
	}
	path, err := writePidFile(program, n.name, n.role)
	if err != nil {
		n.Logf("no pid file, --reap will not find this process: %v", err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pidFile = path
}

// unregister removes the pid file.
func (n *Node) unregister() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.pidFile != "" {
		_ = os.Remove(n.pidFile) // Reap removes what is left
	}
}

// dump writes every goroutine's stack to the log.
func (n *Node) dump() {
	for line := range strings.Lines(stacks()) {
		n.Logf("%s", strings.TrimSuffix(line, "\n"))
	}
	_ = n.Send(Event{Event: Dumped}) // a launcher that is gone needs no answer
}

// stacks is every goroutine's stack, as a crash prints them.
func stacks() string {
	for text := make([]byte, 64<<10); ; text = make([]byte, 2*len(text)) {
		if n := runtime.Stack(text, true); n < len(text) {
			return string(text[:n])
		}
	}
}

// Write appends text to the node's log, a line at a time. It never fails: a
// launcher that is gone shows in the node's context.
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
