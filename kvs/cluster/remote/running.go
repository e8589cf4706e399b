package remote

import (
	"errors"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"kvlab/kvs/cluster/nodes"
)

// Running is a program that Start has started: its process on this machine, or the
// connection to it.
type Running struct {
	command        func() *exec.Cmd
	in             *os.File // the end of its standard input that it reads
	to             Output
	stdout, stderr *LineWriter
	refused        bool // the node's sshd refused it
	heard          bool // the program has said something

	mu     sync.Mutex
	cmd    *exec.Cmd // the last try; guarded by mu
	killed bool      // guarded by mu
}

// start starts the program, unless it has been signalled.
func (p *Running) start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.killed {
		return errors.New("killed")
	}
	p.refused = false
	p.stdout = &LineWriter{Take: func(line []byte) error {
		p.heard = true
		return p.to.Line(line)
	}}
	p.stderr = &LineWriter{Take: func(line []byte) error {
		p.refused = p.refused || refusedLogin.Match(line)
		return p.to.Error(line)
	}}
	cmd := p.command()
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = p.in, p.stdout, p.stderr, nodes.LeaveDelay
	p.cmd = cmd
	return cmd.Start()
}

// wait waits for the end of the program and of its output.
func (p *Running) wait() error {
	return errors.Join(p.cmd.Wait(), p.stdout.Flush(), p.stderr.Flush())
}

// Signal sends a signal to the process and its children. For a program on another machine,
// that is only the connection, which is not made again.
func (p *Running) Signal(signal syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.killed = true
	syscall.Kill(-p.cmd.Process.Pid, signal)
}

// Pid returns the id of the process on this machine.
func (p *Running) Pid() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cmd.Process.Pid
}

// Status returns the status with which it ended.
func (p *Running) Status() syscall.WaitStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	status, _ := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return status
}
