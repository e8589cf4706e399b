package nodes

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"time"

	"kvlab/metrics/format"
)

// LeaveDelay limits how long the pipes of an ended process are still read: its child may
// hold them open. A launcher on a busy machine may need seconds for the
// last lines.
const LeaveDelay = 5 * time.Second

// Output runs a command and returns its standard output. The error of a command that fails
// after a message is the message's last line.
func Output(cmd *exec.Cmd) (string, error) {
	var said bytes.Buffer
	cmd.Stderr, cmd.WaitDelay = &said, LeaveDelay
	out, err := cmd.Output()
	if line := format.LastLine(said.String()); err != nil && line != "" {
		err = errors.New(line)
	}
	return string(out), err
}

// askTimeout limits a program's answer. Slurm's programs wait for slurmctld 10 s at a time
// (MessageTimeout in slurm.conf(5)).
const askTimeout = 20 * time.Second

// Ask runs a program that answers at once and returns its output.
func Ask(ctx context.Context, program string, question ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	return Output(exec.CommandContext(ctx, program, question...))
}
