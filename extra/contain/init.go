package contain

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"kvlab/internal/namespace"
	"kvlab/kvs/node"
)

// init keeps the process inside on its main thread. There it gives up rights, which belong to
// threads, and starts the program.
func init() {
	if os.Args[0] == node.ContainInit {
		runtime.LockOSThread()
	}
}

// runInit does the work of the process inside: it reads its order, starts the program, passes
// signals on, reaps orphans and answers how the program ended. It ends if the first process of
// the containment dies before the order is complete.
func runInit() {
	gate, answer := os.NewFile(3, "gate"), os.NewFile(4, "answer")
	unix.CloseOnExec(3)
	unix.CloseOnExec(4)
	var o order
	if json.NewDecoder(gate).Decode(&o) != nil {
		os.Exit(exitFailed)
	}
	gate.Close()
	out := outcome{Weak: make(map[string]string)}
	pass := namespace.Pass(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2)
	program, err := o.start(out.Weak)
	if err == nil {
		pass(program)
		out.Status, err = namespace.Reap(program.Pid)
	}
	if err != nil {
		out.Err = err.Error()
	}
	_ = json.NewEncoder(answer).Encode(out) // without a reader nobody is left
	os.Exit(0)
}

// start makes the program's view of the machine, gives up every right, and starts it.
func (o order) start(weak map[string]string) (*os.Process, error) {
	if o.Bare { // its folders are the machine's
		o.Read, o.Over = append(o.Read, o.Over...), nil
		if !within(o.Dir, "/tmp") {
			o.Dir = "/tmp"
		}
		for _, wall := range []string{"files", "network", "others", "end", "disk"} {
			weak[wall] = "the kernel refuses namespaces to this user"
		}
	}
	readable, writable := o.readable(), o.writable()
	if !o.Bare {
		if err := o.enter(readable, writable); err != nil {
			return nil, err
		}
	}
	if abi, err := landlock(append(readable, "/proc", "/dev", o.Dir), append(writable, devices...)); err != nil {
		weak[landlockWall] = fmt.Sprintf("the kernel has no Landlock (version %d): %v", abi, err)
	}
	if err := o.Limits.apply(o.Nproc, cmp.Or(o.User, os.Getuid())); err != nil {
		return nil, err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("give up new privileges: %w", err)
	}
	// Only a process with CAP_SETPCAP may; one without has nothing to give up.
	for capability := uintptr(0); unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0) == nil; capability++ {
	}
	attr := &os.ProcAttr{Dir: o.Dir, Env: o.Env, Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}, Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}}
	if o.User != 0 {
		attr.Sys.Credential = &syscall.Credential{Uid: uint32(o.User), Gid: uint32(o.User)}
	}
	program, err := os.StartProcess(o.Program, o.Words, attr)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", o.Words[0], err)
	}
	return program, nil
}

// tasks returns how many processes and threads a user has. RLIMIT_NPROC limits all of them
// together.
func tasks(user int) (n uint64) {
	all, _ := procfs.AllProcs() // one that has ended is none
	for _, p := range all {
		status, gone := p.NewStatus()
		if stat, err := p.Stat(); gone == nil && err == nil && status.UIDs[0] == uint64(user) {
			n += uint64(stat.NumThreads)
		}
	}
	return n
}

// apply sets the limits of a single process of a user, which children inherit.
func (l Limits) apply(nproc bool, user int) error {
	limits := map[int]uint64{unix.RLIMIT_CORE: 0, unix.RLIMIT_FSIZE: l.Disk}
	if l.Files > 0 {
		limits[unix.RLIMIT_NOFILE] = uint64(l.Files)
	}
	if nproc && l.Processes > 0 {
		limits[unix.RLIMIT_NPROC] = uint64(l.Processes) + tasks(user)
	}
	for limit, n := range limits {
		var now syscall.Rlimit
		if err := syscall.Getrlimit(limit, &now); err != nil {
			return err
		}
		n = min(n, now.Max)
		if err := syscall.Setrlimit(limit, &syscall.Rlimit{Cur: n, Max: n}); err != nil {
			return fmt.Errorf("set limit %d to %d: %w", limit, n, err)
		}
	}
	return nil
}
