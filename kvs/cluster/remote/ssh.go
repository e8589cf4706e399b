package remote

import (
	"cmp"
	"context"
	"errors"
	"os/exec"
	"syscall"

	"kvlab/kvs/cluster/nodes"
	"kvlab/metrics/format"
)

// sshFailed is ssh's exit status for its own errors, ssh(1).
const sshFailed = 255

// ssh reaches nodes through the system's ssh.
type ssh struct {
	program string
	config  string // -F; "" for the user's own
}

// Command opens a separate connection, which ends with the node's program. Without
// --ssh-config, ssh accepts and keeps the host key of a new host, and rejects a changed
// one.
func (s ssh) Command(ctx context.Context, node nodes.Node, words ...string) *exec.Cmd {
	args := []string{"-T", "-x", "-a",
		"-o", "BatchMode=yes", "-o", "ConnectTimeout=5",
		"-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3",
		"-o", "ControlPath=none", "-o", "ClearAllForwardings=yes",
		"-o", "RemoteCommand=none", "-o", "RequestTTY=no"} // which a user's configuration may set
	if s.config == "" {
		args = append(args, "-o", "StrictHostKeyChecking=accept-new")
	} else {
		args = append(args, "-F", s.config)
	}
	if node.Way.Port != "" {
		args = append(args, "-p", node.Way.Port)
	}
	return command(ctx, s.program, append(append(args, "--", node.Way.To), words...)...)
}

// Unreached returns the last line of an ssh that has failed itself.
func (s ssh) Unreached(err error, stderr string) string {
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == sshFailed {
		return cmp.Or(format.LastLine(stderr), "ssh gives no reason")
	}
	return ""
}

// Death describes ssh's exit status, which is the remote shell's.
func (s ssh) Death(status syscall.WaitStatus, _ []string) string {
	if status.ExitStatus() == sshFailed {
		return "died of a signal, or its connection was lost (exit status 255 of ssh)"
	}
	return shellDeath(status)
}

// Typed returns an ssh command line.
func (s ssh) Typed(node nodes.Node, command string) string {
	if node.Way.Port != "" {
		return "ssh -p " + node.Way.Port + " " + node.Way.To + " " + command
	}
	return "ssh " + node.Way.To + " " + command
}
