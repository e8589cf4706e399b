package cluster

import (
	"context"
	"fmt"
	"os/exec"
	"syscall"

	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/node"
	"kvlab/metrics"
	"kvlab/metrics/format"
)

// backend runs programs on nodes: here, or on other machines.
type backend interface {
	// Prepare makes sure that every place can run its program. Its errors are
	// faults that name the node.
	Prepare(ctx context.Context, places []plan.Place) error
	// Command is the process, not yet started, that runs a place's program in a
	// mode, with the mode's pipe as its standard input and output. It is the
	// leader of its own process group, so that a terminal's Ctrl-C reaches the
	// launcher alone, which then ends the run in order.
	Command(place plan.Place, as mode) *exec.Cmd
	// Death says how the program of a Command ended before its work was done,
	// from the exit status of the process and the last lines of its log.
	Death(status syscall.WaitStatus, log []string) string
	// Signal sends a signal to a place's process itself, which may be beyond
	// the reach of signals to its Command. After SIGKILL it has gone.
	Signal(ctx context.Context, place plan.Place, id metrics.ProcessID, signal syscall.Signal) error
}

// mode is what a program is started for: the only word of its command line.
type mode string

const (
	asNode  mode = "-control" // to take part in the run; see package node
	asProbe mode = "-probe"   // to tell what its machine is; see package node
)

var (
	_ backend = local{}
	_ backend = (*remote)(nil)
)

// local runs nodes as processes on this machine.
type local struct {
	programs plan.Programs
}

// Prepare checks that the programs are there.
func (l local) Prepare(_ context.Context, places []plan.Place) error {
	for _, place := range places {
		if _, err := exec.LookPath(l.programs[place.Role]); err != nil {
			return &plan.Fault{Node: place.Name, Role: place.Role, Reason: format.OneLine(err.Error())}
		}
	}
	return nil
}

// Command runs the program itself.
func (l local) Command(place plan.Place, as mode) *exec.Cmd {
	cmd := exec.Command(l.programs[place.Role], string(as))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// Death is what the kernel says.
func (l local) Death(status syscall.WaitStatus, _ []string) string { return death(status) }

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

// shellDeath says how a command ended whose carrier left with status.
func shellDeath(status syscall.WaitStatus) string {
	if code := status.ExitStatus(); code > shellSignal && code < 255 {
		return death(syscall.WaitStatus(code - shellSignal))
	}
	return death(status)
}

// Signal sends it from here.
func (l local) Signal(_ context.Context, _ plan.Place, id metrics.ProcessID, signal syscall.Signal) error {
	return node.Signal(id, signal)
}
