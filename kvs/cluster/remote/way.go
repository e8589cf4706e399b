// Package remote runs programs on nodes: on this machine, through ssh, or as
// steps of a Slurm job.
package remote

import (
	"context"
	"fmt"
	"os/exec"
	"syscall"

	"kvlab/kvs/cluster/nodes"
)

// Way is how a node's programs are run.
type Way interface {
	// Command is the process, not yet started, that runs words on the node with
	// its own standard input and output as theirs, and is killed when ctx ends.
	// It leads its own process group, so that a terminal's Ctrl-C reaches the
	// launcher alone. The words are plain: a login shell may read them.
	Command(ctx context.Context, node nodes.Node, words ...string) *exec.Cmd
	// Failure says why such a process ended with err, when stderr is what it and
	// the node's command have printed there.
	Failure(err error, stderr string) error
	// Death says how a node's program ended before its work was done, from the
	// status of its Command and the last lines of its log.
	Death(status syscall.WaitStatus, log []string) string
	// Typed is a command as a person types it here to run it on the node.
	Typed(node nodes.Node, command string) string
}

// Programs names what the ways are made of, paths or names on PATH.
type Programs struct {
	SSH       string
	SSHConfig string // ssh -F; "" for the user's own
	Srun      string
}

// ways are the ways, by their kinds.
func (p Programs) ways() map[nodes.Kind]Way {
	return map[nodes.Kind]Way{
		nodes.Local: local{},
		nodes.SSH:   ssh{p.SSH, p.SSHConfig},
		nodes.Srun:  srun{p.Srun},
	}
}

// death says how a process ended.
func death(status syscall.WaitStatus) string {
	if status.Signaled() {
		return fmt.Sprintf("died of signal %d (%s)", status.Signal(), status.Signal())
	}
	return fmt.Sprintf("died with exit status %d", status.ExitStatus())
}

// shellSignal is what a shell, and srun, add to the number of the signal that
// their command died of (Shell Command Language, 2.8.2).
const shellSignal = 128

// shellDeath says how a command ended whose ssh or srun left with status.
func shellDeath(status syscall.WaitStatus) string {
	if code := status.ExitStatus(); code > shellSignal && code < 255 {
		return death(syscall.WaitStatus(code - shellSignal))
	}
	return death(status)
}
