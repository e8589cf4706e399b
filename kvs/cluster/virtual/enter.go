package virtual

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// self is this program, even if its file is replaced.
const self = "/proc/self/exe"

// namespaces are the namespaces that each lab and each host have.
const namespaces = syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC

// Enter runs this program again, with args, in the namespaces of a new lab, and returns
// its exit status after the lab is gone. The end of ctx becomes SIGINT, the close of
// force a second one. An error means that no lab could be made.
func Enter(ctx context.Context, args []string, stdout, stderr io.Writer, force <-chan struct{}) (status int, err error) {
	if os.Geteuid() != 0 {
		return 0, errors.New("--virtual makes network namespaces and needs root: type sudo ./run-cluster.sh and the same arguments")
	}
	if err := need(tools); err != nil {
		return 0, err
	}
	gate, open, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer open.Close()
	cmd := &exec.Cmd{
		Path: self, Args: append([]string{initName}, args...),
		Stdin: os.Stdin, Stdout: stdout, Stderr: stderr,
		ExtraFiles: []*os.File{gate},
		SysProcAttr: &syscall.SysProcAttr{
			Cloneflags: namespaces,
			Pdeathsig:  syscall.SIGKILL,
			Setpgid:    true, // a terminal's Ctrl-C arrives once, through ctx
		},
	}
	runtime.LockOSThread() // the kernel sends Pdeathsig when the thread that started the process ends
	defer runtime.UnlockOSThread()
	err = cmd.Start()
	gate.Close()
	if errors.Is(err, syscall.EPERM) {
		return 0, fmt.Errorf("--virtual: the kernel refuses namespaces (they need CAP_SYS_ADMIN, which containers seldom have): %w", err)
	}
	if err != nil {
		return 0, fmt.Errorf("--virtual: start the lab: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	endGuard, err := startGuard(cmd.Process.Pid)
	if err != nil {
		cmd.Process.Kill()
		<-ended
		return 0, err
	}
	defer endGuard()
	open.Write([]byte{1}) // fails only if init has ended
	for interrupt := ctx.Done(); ; {
		select {
		case err := <-ended:
			if cmd.ProcessState.Exited() {
				return cmd.ProcessState.ExitCode(), nil
			}
			return 0, fmt.Errorf("--virtual: the lab ended: %w", err)
		case <-interrupt:
			interrupt = nil
		case <-force:
			force = nil
		}
		cmd.Process.Signal(syscall.SIGINT)
	}
}
