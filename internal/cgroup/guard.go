package cgroup

import (
	_ "embed"
	"fmt"
	"os/exec"
	"syscall"
)

//go:embed guard.sh
var guardScript string

// Guard starts a process that removes cgroups after this process calls end, or ends in any
// way; end waits for that. No process may be left in them then.
func Guard(groups ...string) (end func(), err error) {
	cmd := exec.Command("/bin/sh", append([]string{"-c", guardScript, "kvlab-cgroup-guard"}, groups...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // out of reach of Ctrl-C
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the guard of the cgroups: %w", err)
	}
	return func() {
		stdin.Close()
		cmd.Wait()
	}, nil
}
