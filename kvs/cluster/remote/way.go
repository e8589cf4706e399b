// Package remote runs programs on nodes: on this machine, through ssh, or as steps of a
// Slurm job.
package remote

import (
	"context"
	"fmt"
	"os/exec"
	"syscall"

	"kvlab/kvs/cluster/nodes"
)

// Way runs programs on nodes.
type Way interface {
	// Command returns a process, not yet started, that runs words on the node with its
	// own standard input and output. It is killed when ctx ends. It leads its own
	// process group, so that a terminal's Ctrl-C reaches only the launcher. The words
	// are plain, because a login shell may read them.
	Command(ctx context.Context, node nodes.Node, words ...string) *exec.Cmd
	// Unreached returns the message of a process that ended with err because it did not
	// reach the node; "" if the node's command has failed. stderr is the output of both.
	Unreached(err error, stderr string) string
	// Death describes how a node's program ended before its work was done, from the
	// status of its Command and the last lines of its log.
	Death(status syscall.WaitStatus, log []string) string
	// Typed returns the command line that a person types here to run a command on the
	// node.
	Typed(node nodes.Node, command string) string
}

// Programs are the programs of the ways, as paths or names on PATH.
type Programs struct {
	SSH       string
	SSHConfig string // ssh -F; "" for the user's own
	Srun      string
}

// ways returns the ways by their kinds.
func (p Programs) ways() map[nodes.Kind]Way {
	return map[nodes.Kind]Way{
		nodes.Local: local{},
		nodes.SSH:   ssh{p.SSH, p.SSHConfig},
		nodes.Srun:  srun{p.Srun},
	}
}

// death describes how a process ended.
func death(status syscall.WaitStatus) string {
	if status.Signaled() {
		return fmt.Sprintf("died of signal %d (%s)", status.Signal(), status.Signal())
	}
	return fmt.Sprintf("died with exit status %d", status.ExitStatus())
}

// shellSignal is the number that a shell, and srun, add to the number of the signal that
// killed their command (Shell Command Language, 2.8.2).
const shellSignal = 128

// shellDeath describes how a command ended whose ssh or srun exited with status.
func shellDeath(status syscall.WaitStatus) string {
	if code := status.ExitStatus(); code > shellSignal && code < 255 {
		return death(syscall.WaitStatus(code - shellSignal))
	}
	return death(status)
}
