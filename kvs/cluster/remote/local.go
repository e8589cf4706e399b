package remote

import (
	"context"
	"os/exec"
	"syscall"

	"kvlab/kvs/cluster/nodes"
)

// local runs programs as processes on this machine.
type local struct{}

// Command executes the words.
func (local) Command(ctx context.Context, _ nodes.Node, words ...string) *exec.Cmd {
	return command(ctx, words[0], words[1:]...)
}

// command returns a process of this machine that leads its own process group.
func command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// Unreached returns "": this machine is always reached.
func (local) Unreached(error, string) string { return "" }

// Death describes the status.
func (local) Death(status syscall.WaitStatus, _ []string) string { return death(status) }

// Typed returns the command itself.
func (local) Typed(_ nodes.Node, command string) string { return command }
