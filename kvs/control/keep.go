package control

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Hold keeps v in memory for as long as the node stays, for who inspects the
// process.
func (n *Node) Hold(v any) { n.held = v }

// stay is the end of a node's work when it is to be kept: it waits for the
// command keep, and after it for a signal. A launcher that goes before that
// takes the node with it.
func (n *Node) stay(ctx context.Context) error {
	if err := n.Send(Event{Event: Done}); err != nil {
		return err
	}
	<-ctx.Done()
	if n.detached() {
		return nil
	}
	return context.Cause(ctx)
}

// detached reports whether the node has been kept.
func (n *Node) detached() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.keptLog != nil
}

// detach frees the node from its launcher: what it says from now on goes to a
// file beside its pid file, records are dropped, and no lease ends it.
func (n *Node) detach() error {
	pidFile := n.pidPath()
	if pidFile == "" {
		return fmt.Errorf("it has no pid file, and --reap could not find it")
	}
	path := keptLog(pidFile)
	log, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if err := n.Send(Event{Event: Kept, Text: path}); err != nil {
		return err
	}
	n.lease.heard(&Lease{})
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.out == os.Stdout {
		if err := n.redirect(log); err != nil {
			return err
		}
	}
	n.out, n.keptLog = log, log
	// Whoever closes the terminal does not mean this process any more.
	signal.Ignore(syscall.SIGHUP)
	return nil
}

// keptLog is the path of a kept node's log, beside its pid file.
func keptLog(pidFile string) string { return strings.TrimSuffix(pidFile, pidSuffix) + ".log" }

// redirect has the process's standard output and error go to the log, and closes
// the pipes to the launcher; a crash is in the log then.
func (n *Node) redirect(log *os.File) error {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer null.Close()
	for to, from := range []*os.File{null, log, log} {
		if err := unix.Dup3(int(from.Fd()), to, 0); err != nil {
			return fmt.Errorf("redirect file %d: %w", to, err)
		}
	}
	return nil
}
