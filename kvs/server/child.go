package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/procfs"

	"kvlab/kvs/node"
	"kvlab/metrics/format"
)

// child is the program of a foreign store.
type child struct {
	cmd   *exec.Cmd
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

// startChild starts a program in a fresh folder dir, with its output to logf. The kernel
// kills it when this process ends, however that happens.
func startChild(dir string, words []string, logf func(string, ...any)) (*child, error) {
	c := &child{cmd: exec.Command(words[0], words[1:]...), dir: dir, ended: make(chan struct{})}
	c.log.logf = logf
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
	return fmt.Errorf("the store (%s) has ended: %s%s", c.cmd.Args[0], how, c.log.end())
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

// store returns the number of the store's process: of a contained program, that of the one
// which its init has started.
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
	logf func(string, ...any)

	mu      sync.Mutex
	partial []byte      // guarded by mu
	ends    format.Ends // guarded by mu
	last    []string    // guarded by mu
}

const (
	lastLines = 3
	lastBytes = 120  // of each of these
	lineBytes = 1000 // longer ones are cut
)

func (l *childLog) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.partial = append(l.partial, text...)
	for {
		line, rest, whole := bytes.Cut(l.partial, []byte("\n"))
		switch {
		case whole:
			l.partial = rest
		case len(l.partial) > lineBytes:
			line, l.partial = l.partial, nil
		default:
			return len(text), nil
		}
		l.add(strings.TrimSpace(string(line[:min(len(line), lineBytes)])))
	}
}

// add logs a line.
func (l *childLog) add(line string) {
	if line == "" {
		return
	}
	l.last = append(l.last, format.Label(line, lastBytes))
	if len(l.last) > lastLines {
		l.last = l.last[1:]
	}
	if l.ends.Add(line) {
		l.write(line)
	}
}

// write writes a line to the node's log. A line there with ops/s in it is a sample
// (metrics.Interval.Lines).
func (l *childLog) write(line string) { l.logf("store: %s", strings.ReplaceAll(line, "ops/s", "op/s")) }

// finish writes the end of a long output.
func (l *childLog) finish() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.ends.Rest() {
		l.write(line)
	}
}

// end returns the last lines.
func (l *childLog) end() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := l.last
	if line := strings.TrimSpace(string(l.partial)); line != "" {
		last = append(last, format.Label(line, lastBytes))
	}
	if len(last) == 0 {
		return ", without output"
	}
	return "; its last output: " + strings.Join(last, " | ")
}
