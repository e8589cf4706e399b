package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/procfs"

	"kvlab/kvs/node"
	"kvlab/kvs/target"
	"kvlab/metrics/format"
)

// child is the program of a foreign store.
type child struct {
	cmd   *exec.Cmd
	name  string // the target's
	path  string // of the program that the target builds; "" without one
	dir   string // it runs in, and of its own
	log   childLog
	ended chan struct{} // closed when it has ended
	err   error         // how; set before ended is closed

	contained bool // cmd contains the program
}

const (
	stopWithin = 5 * time.Second // for a store to end by itself, before it is killed
	leftOpen   = time.Second     // for processes of the store's that outlive it to close its output
)

// startChild starts the program of a target in a fresh folder dir, and passes the lines of
// its output to output. The kernel kills it when this process ends, however that happens.
func startChild(t target.Target, dir string, words []string, output func(line string)) (*child, error) {
	c := &child{cmd: exec.Command(words[0], words[1:]...), name: t.Name, path: t.Bin, dir: dir, ended: make(chan struct{})}
	c.log.output = output
	c.cmd.Dir, c.cmd.Stdout, c.cmd.Stderr, c.cmd.WaitDelay = dir, &c.log, &c.log, leftOpen
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		// The child's Pdeathsig is sent when the thread that started it ends (prctl(2)).
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := c.cmd.Start()
		started <- err
		if err == nil {
			c.err = c.cmd.Wait()
			close(c.ended)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start the store: %w", err)
	}
	return c, nil
}

// watch returns an error that says how the program ended, or nil when ctx ends first.
func (c *child) watch(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-c.ended:
		return c.fault()
	}
}

// fault says how the program ended, and its last words.
func (c *child) fault() error {
	how := "exit status 0"
	if c.err != nil {
		how = c.err.Error()
	}
	return fmt.Errorf("the store %s has ended: %s%s", c.name, how, c.said())
}

// said returns the line in which the program tells why it ends, or else its last lines. It
// replaces the path of the program by the target's name.
func (c *child) said() string {
	text := c.log.telling()
	if c.path != "" {
		text = strings.ReplaceAll(text, c.path, c.name)
	}
	return text
}

// stop ends the program, and the processes that it has started in its group, and waits
// until it has ended.
func (c *child) stop() error {
	for _, end := range []struct {
		signal syscall.Signal
		within time.Duration
	}{{syscall.SIGTERM, stopWithin}, {syscall.SIGKILL, time.Minute}} {
		// The group exists as long as the program, which Wait has not yet collected, or one
		// of its processes does.
		if err := syscall.Kill(-c.cmd.Process.Pid, end.signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("end the store: %w", err)
		}
		select {
		case <-c.ended:
			// Processes of its group may outlive it.
			if err := syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("end the store's processes: %w", err)
			}
			c.log.finish()
			return os.RemoveAll(c.dir)
		case <-time.After(end.within):
		}
	}
	return errors.New("the store does not end after SIGKILL")
}

// store returns the number of the store's process. If the program is contained, that is the
// process which the init inside has started.
func (c *child) store() (pid int, err error) {
	if pid = c.cmd.Process.Pid; !c.contained {
		return pid, nil
	}
	if pid, err = childOf(pid, func(name string) bool { return name == node.ContainInit }); err == nil {
		pid, err = childOf(pid, func(string) bool { return true })
	}
	return pid, err
}

// childOf returns the oldest child of a process whose argv[0] is right.
func childOf(parent int, right func(name string) bool) (pid int, err error) {
	all, err := procfs.AllProcs()
	for _, p := range all {
		stat, gone := p.Stat()
		words, unread := p.CmdLine()
		if gone == nil && unread == nil && stat.PPID == parent && len(words) > 0 && right(words[0]) && (pid == 0 || p.PID < pid) {
			pid = p.PID
		}
	}
	if pid == 0 && err == nil {
		err = errors.New("the store's process is gone")
	}
	return pid, err
}

// childLog passes a program's output on, line by line: its beginning at once, its end when
// the program has ended.
type childLog struct {
	output func(line string)

	mu      sync.Mutex
	partial []byte      // guarded by mu
	ends    format.Ends // guarded by mu
	why     string      // the first line that tells why the program ends; guarded by mu
	last    []string    // guarded by mu
}

const (
	lastLines = 3
	lastBytes = 120  // of each of these
	lineBytes = 1000 // longer ones are split
)

// tells matches a line that tells why a program ends: the first of a crash in Go
// (runtime/panic.go), and those of package flag and of getopt_long(3) about a wrong option.
var tells = regexp.MustCompile(`^(panic: |fatal error: |SIG[A-Z]+: )|flag provided but not defined|flag needs an argument|invalid (boolean )?value .* for (flag )?-|(?i:(unrecognized|unrecognised|unknown|invalid|illegal) (option|argument|flag))|option .*requires an argument`)

func (l *childLog) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.partial = append(l.partial, text...)
	for {
		line, rest, whole := bytes.Cut(l.partial, []byte("\n"))
		switch {
		case len(line) > lineBytes:
			line, rest = l.partial[:lineBytes], l.partial[lineBytes:]
		case !whole:
			return len(text), nil
		}
		l.partial = rest
		l.add(string(line))
	}
}

// add passes a line on.
func (l *childLog) add(line string) {
	l.keep(line)
	if l.ends.Add(line) {
		l.output(line)
	}
}

// keep keeps what a line may say about the program's end.
func (l *childLog) keep(line string) {
	short := format.Label(strings.TrimSpace(line), lastBytes)
	if short == "" {
		return
	}
	if l.why == "" && tells.MatchString(line) {
		l.why = short
	}
	l.last = append(l.last, short)
	if len(l.last) > lastLines {
		l.last = l.last[1:]
	}
}

// finish passes on the end of a long output.
func (l *childLog) finish() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.ends.Rest() {
		l.output(line)
	}
}

// telling returns the line that tells why the program ends, or else the last lines.
func (l *childLog) telling() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keep(string(l.partial))
	switch {
	case l.why != "":
		return ": " + l.why
	case len(l.last) == 0:
		return ", without output"
	}
	return "; its last output: " + strings.Join(l.last, " | ")
}
