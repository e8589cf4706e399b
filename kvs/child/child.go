// Package child runs a program that is none of kvlab's: a foreign store, or a team's client. It
// keeps its output, and ends it with the processes of its group, however this process ends.
package child

import (
	"bytes"
	"context"
	"debug/buildinfo"
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
	"golang.org/x/sys/unix"

	"kvlab/kvs/node"
	"kvlab/metrics/format"
)

// Program says what to start.
type Program struct {
	What   string            // "store" or "client"
	Name   string            // as people know it
	Path   string            // of the program that was built; "" without one
	Dir    string            // it runs in, and of its own
	Words  []string          // the command line
	Output func(line string) // gets the beginning and the end of its output, line by line
	Line   func(line string) // gets every line; may be nil
	Last   func()            // is called when it has ended, while /proc still tells what it used; may be nil
}

// Child is a program that runs.
type Child struct {
	Program
	Contained bool          // Words contain the program
	Ended     chan struct{} // closed when it has ended

	cmd *exec.Cmd
	log childLog
	err error // how it ended; set before Ended is closed
}

const (
	stopWithin = 5 * time.Second // for a program to end by itself, before it is killed
	leftOpen   = time.Second     // for its processes that outlive it to close its output
	// A launcher waits 5 s for the stacks.
	stacksWithin = 4 * time.Second // for it to print them
)

// Start starts a program. The kernel kills it when this process ends, however that happens.
func Start(p Program) (*Child, error) {
	c := &Child{Program: p, cmd: exec.Command(p.Words[0], p.Words[1:]...), Ended: make(chan struct{})}
	c.log.output, c.log.line = p.Output, p.Line
	c.cmd.Dir, c.cmd.Stdout, c.cmd.Stderr, c.cmd.WaitDelay = p.Dir, &c.log, &c.log, leftOpen
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		// The child's Pdeathsig is sent when the thread that started it ends (prctl(2)).
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := c.cmd.Start()
		started <- err
		if err == nil {
			c.await()
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start the %s: %w", c.What, err)
	}
	return c, nil
}

// await waits for the program's end.
func (c *Child) await() {
	if c.Last != nil {
		for unix.Waitid(unix.P_PID, c.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
		}
		c.Last()
	}
	c.err = c.cmd.Wait()
	c.log.finish()
	close(c.Ended)
}

// Err returns how the program ended, once Ended is closed; nil for exit status 0.
func (c *Child) Err() error { return c.err }

// CPU returns the processor time of a program that has ended, and of the processes that it has
// waited for.
func (c *Child) CPU() time.Duration {
	return c.cmd.ProcessState.UserTime() + c.cmd.ProcessState.SystemTime()
}

// Watch returns an error that says how the program ended, or nil when ctx ends first.
func (c *Child) Watch(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-c.Ended:
		return c.Fault()
	}
}

// Fault says how the program ended, and its last words.
func (c *Child) Fault() error {
	how := "exit status 0"
	if c.err != nil {
		how = c.err.Error()
	}
	return fmt.Errorf("the %s %s has ended: %s%s", c.What, c.Name, how, c.Said())
}

// Said returns the line in which the program tells why it ends, or else its last lines. It
// replaces the path of the program by its name.
func (c *Child) Said() string {
	text := c.log.telling()
	if c.Path != "" {
		text = strings.ReplaceAll(text, c.Path, c.Name)
	}
	return text
}

// Stop ends the program, and the processes that it has started in its group, and waits
// until it has ended.
func (c *Child) Stop() error {
	for _, end := range []struct {
		signal syscall.Signal
		within time.Duration
	}{{syscall.SIGTERM, stopWithin}, {syscall.SIGKILL, time.Minute}} {
		// The group exists as long as the program, which Wait has not yet collected, or one
		// of its processes does.
		if err := syscall.Kill(-c.cmd.Process.Pid, end.signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("end the %s: %w", c.What, err)
		}
		select {
		case <-c.Ended:
			// Processes of its group may outlive it.
			if err := syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("end the %s's processes: %w", c.What, err)
			}
			return os.RemoveAll(c.Dir)
		case <-time.After(end.within):
		}
	}
	return fmt.Errorf("the %s does not end after SIGKILL", c.What)
}

// Stacks ends the processes of the program's group that are programs of Go by SIGQUIT, so that they
// print the stacks of their goroutines, and waits for its end.
func (c *Child) Stacks() {
	own, err := c.Process()
	if err != nil {
		return
	}
	all, _ := procfs.AllProcs()
	for _, p := range all {
		stat, err := p.Stat()
		if err != nil || p.PID != own && (stat.PGRP != own || c.Contained) {
			continue
		}
		if _, err := buildinfo.ReadFile(fmt.Sprintf("/proc/%d/exe", p.PID)); err == nil {
			_ = syscall.Kill(p.PID, syscall.SIGQUIT) // one that has ended is none
		}
	}
	select {
	case <-c.Ended:
	case <-time.After(stacksWithin):
	}
}

// Process returns the number of the program's process. If the program is contained, that is the
// process which the init inside has started.
func (c *Child) Process() (pid int, err error) {
	if pid = c.cmd.Process.Pid; !c.Contained {
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
		err = errors.New("the program's process is gone")
	}
	return pid, err
}

// childLog passes a program's output on, line by line: its beginning at once, its end when
// the program has ended.
type childLog struct {
	output func(line string)
	line   func(line string) // nil for none

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
	if l.line != nil {
		l.line(line)
	}
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
	if len(l.partial) > 0 { // a last line without its end counts, too
		l.add(string(l.partial))
		l.partial = nil
	}
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
