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

	"golang.org/x/sys/unix"

	"kvlab/internal/namespace"
)

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
	cmd := again(initName, args, stdout, stderr)
	cmd.ExtraFiles, cmd.SysProcAttr.Cloneflags = []*os.File{gate}, namespaces
	status, err = follow(ctx, cmd, force, func() (end func(), err error) {
		gate.Close()
		if end, err = startGuard(cmd.Process.Pid); err == nil {
			open.Write([]byte{1}) // fails only if init has ended
		}
		return end, err
	})
	if err != nil {
		err = fmt.Errorf("--virtual: %w", err)
	}
	return status, err
}

// EnterLoopback runs this program as Enter does, in a network namespace that has only a
// loopback interface: no process in it reaches another machine, and none outside reaches its
// ports. Without root the kernel must allow user namespaces.
func EnterLoopback(ctx context.Context, args []string, stdout, stderr io.Writer, force <-chan struct{}) (status int, err error) {
	cmd := again(loopbackName, args, stdout, stderr)
	cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWNET
	if uid := os.Geteuid(); uid != 0 {
		own := func(id int) []syscall.SysProcIDMap {
			return []syscall.SysProcIDMap{{ContainerID: id, HostID: id, Size: 1}}
		}
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings, cmd.SysProcAttr.GidMappings = own(uid), own(os.Getegid())
		cmd.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_NET_ADMIN} // to bring the interface up
	}
	return follow(ctx, cmd, force, func() (func(), error) { return func() {}, nil })
}

// InLoopback reports whether this process is the program that EnterLoopback runs.
func InLoopback() bool { return os.Args[0] == loopbackName }

// loopbackUp brings the loopback interface of this network namespace up.
func loopbackUp() error {
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	lo.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, lo); err != nil {
		return fmt.Errorf("bring the loopback interface up: %w", err)
	}
	return nil
}

// again returns a command that runs this program once more under another name.
func again(name string, args []string, stdout, stderr io.Writer) *exec.Cmd {
	return &exec.Cmd{
		Path: namespace.Self, Args: append([]string{name}, args...),
		Stdin: os.Stdin, Stdout: stdout, Stderr: stderr,
		SysProcAttr: &syscall.SysProcAttr{
			Pdeathsig: syscall.SIGKILL,
			Setpgid:   true, // a terminal's Ctrl-C arrives once, through ctx
		},
	}
}

// follow starts a program in new namespaces and passes the end of ctx and the close of force
// on. It calls started, and at the end the func that started returns. It returns the exit
// status.
func follow(ctx context.Context, cmd *exec.Cmd, force <-chan struct{}, started func() (end func(), err error)) (status int, err error) {
	runtime.LockOSThread() // the kernel sends Pdeathsig when the thread that started the process ends
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); errors.Is(err, syscall.EPERM) {
		return 0, fmt.Errorf("the kernel refuses namespaces (they need CAP_SYS_ADMIN, which containers seldom have): %w", err)
	} else if err != nil {
		return 0, fmt.Errorf("start the launcher in its namespaces: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	end, err := started()
	if err != nil {
		cmd.Process.Kill()
		<-ended
		return 0, err
	}
	defer end()
	for interrupt := ctx.Done(); ; {
		select {
		case err := <-ended:
			if cmd.ProcessState.Exited() {
				return cmd.ProcessState.ExitCode(), nil
			}
			return 0, fmt.Errorf("the launcher in its namespaces ended: %w", err)
		case <-interrupt:
			interrupt = nil
		case <-force:
			force = nil
		}
		cmd.Process.Signal(syscall.SIGINT)
	}
}
