package contain

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"kvlab/internal/cgroup"
	"kvlab/internal/namespace"
	"kvlab/kvs/node"
	"kvlab/metrics/format"
)

// order is what the outside process tells init, through the gate.
type order struct {
	box
	Program string   // its path
	Words   []string // its command line
	Env     []string
	Dir     string // the working directory
	Root    string // an empty folder, where init makes the program's own root
	User    int    // of the program; 0: this process's
	Bare    bool   // the kernel has refused namespaces
	Nproc   bool   // no cgroup limits the processes
}

// outcome is what init answers, and what this process adds.
type outcome struct {
	Err    string             // why the program could not be started; "" if it could
	Status syscall.WaitStatus // of the program
	Weak   map[string]string  // why walls do not hold, by their names

	outOfMemory, outOfProcesses bool
}

const spaces = unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS

// run runs a command contained, and returns how it ended. It keeps the calling goroutine on its
// thread: the kernel ends the program when that thread ends.
func (b box) run(words []string, stdin, stdout, stderr *os.File) (o outcome, err error) {
	o.Weak = make(map[string]string)
	tell := order{box: b, Words: words, Env: environment(os.Environ())}
	if tell.Program, err = program(words[0]); err != nil {
		return o, err
	}
	if tell.Dir, err = os.Getwd(); err != nil {
		return o, err
	}
	if tell.Root, err = os.MkdirTemp("", "kvlab-box-"); err != nil {
		return o, err
	}
	if os.Geteuid() == 0 {
		var release func()
		if tell.User, release, err = freeUser(); err != nil {
			return o, errors.Join(err, os.Remove(tell.Root))
		}
		defer release()
	} else {
		o.Weak[userWall] = "without root a program has the rights of the user who starts it"
	}
	groups := b.Limits.groups(o.Weak)
	tell.Nproc = groups["processes"] == ""
	remains := []string{tell.Root}
	for _, folder := range groups {
		remains = append(remains, folder)
	}
	end, err := cgroup.Guard(remains...)
	if err != nil {
		return o, errors.Join(err, os.Remove(tell.Root))
	}
	defer end()
	err = o.lead(tell, groups, [3]*os.File{stdin, stdout, stderr})
	if o.outOfMemory = groups["memory"] != "" && cgroup.OutOfMemory(groups["memory"]); o.outOfMemory && err != nil {
		err = fmt.Errorf("at the limit of memory, %s: %w", format.Bytes(b.Limits.Memory), err)
	}
	o.outOfProcesses = groups["processes"] != "" && cgroup.OutOfProcesses(groups["processes"])
	if peak := cgroup.PeakMemory(groups["memory"]); b.Node && peak > 0 && err == nil {
		err = json.NewEncoder(stdout).Encode(node.Event{Event: node.Contained, PeakBytes: peak})
	}
	return o, err
}

// groups makes a cgroup for each limit, and returns their folders by the walls' names.
func (l Limits) groups(weak map[string]string) map[string]string {
	folders := make(map[string]string)
	for wall, limit := range map[string]cgroup.Limit{
		"memory": {Controller: "memory", Value: strconv.FormatUint(l.Memory, 10)}, "processes": {Controller: "pids", Value: strconv.Itoa(l.Processes)}, coresWall: {Controller: "cpuset", Value: l.Cores},
	} {
		if limit.Value == "" || limit.Value == "0" && wall != coresWall {
			weak[wall] = "no limit is set"
			continue
		}
		folder, err := limit.Limited("kvlab-contain-" + strconv.Itoa(os.Getpid()))
		if err != nil {
			weak[wall] = "no cgroup can be made: " + format.OneLine(err.Error())
		}
		if folder != "" {
			folders[wall] = folder
		}
	}
	return folders
}

// lead starts init, moves it into the cgroups, sends it its order and waits for its answer.
func (o *outcome) lead(tell order, groups map[string]string, streams [3]*os.File) error {
	gate, orders, err := os.Pipe()
	if err != nil {
		return err
	}
	defer orders.Close()
	answers, answer, err := os.Pipe()
	if err != nil {
		return errors.Join(err, gate.Close())
	}
	defer answers.Close()
	pass := namespace.Pass(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2)
	cmd, err := startInit(&tell, streams, gate, answer)
	gate.Close()
	answer.Close()
	if err != nil {
		return err
	}
	pass(cmd.Process)
	for wall, folder := range groups {
		if err := cgroup.Move(folder, cmd.Process.Pid); err != nil {
			o.Weak[wall] = "the cgroup takes no process: " + format.OneLine(err.Error())
		}
	}
	if tell.Node {
		if err := announce(streams[1]); err != nil {
			return err
		}
		go endWithPipe(streams[0], cmd.Process)
	}
	// A failure to write or to read means that init has ended.
	_ = json.NewEncoder(orders).Encode(tell)
	orders.Close()
	unanswered := json.NewDecoder(answers).Decode(o)
	ended := cmd.Wait()
	switch {
	case unanswered != nil:
		return fmt.Errorf("the processes inside were killed: %w", cmp.Or(ended, unanswered))
	case o.Err != "":
		return errors.New(o.Err)
	}
	return nil
}

// startInit starts init in namespaces, or without them where the kernel refuses. It locks the
// goroutine to its thread: the kernel sends Pdeathsig when the thread that started a process ends.
func startInit(tell *order, streams [3]*os.File, gate, answer *os.File) (*exec.Cmd, error) {
	runtime.LockOSThread()
	// A program could type on a terminal of its session, so it gets a session of its own. Only
	// then: the kernel may give each session an equal share of the processors (autogroup in
	// sched(7)).
	terminal := slices.ContainsFunc(streams[:], isTerminal)
	plain := syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setsid: terminal, Setpgid: !terminal}
	attr := new(plain)
	attr.Cloneflags = spaces
	if tell.Alone {
		attr.Cloneflags |= unix.CLONE_NEWNET
	}
	if os.Geteuid() != 0 {
		attr.Cloneflags |= unix.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}}
	}
	start := func() (*exec.Cmd, error) {
		cmd := &exec.Cmd{
			Path: namespace.Self, Args: []string{node.ContainInit}, Env: append(os.Environ(), "GOMAXPROCS=1"),
			Stdin: streams[0], Stdout: streams[1], Stderr: streams[2],
			ExtraFiles: []*os.File{gate, answer}, SysProcAttr: attr,
		}
		return cmd, cmd.Start()
	}
	cmd, err := start()
	if namespace.Refused(err) {
		tell.Bare, attr = true, &plain
		cmd, err = start()
	}
	return cmd, err
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// program returns the path of a program, with its symbolic links resolved.
func program(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	return path, err
}

// announce tells the launcher which process it can signal. The program inside writes to the same
// pipe later.
func announce(stdout io.Writer) error {
	id, err := node.Find(os.Getpid())
	if err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(node.Event{Event: node.Contained, Process: &id})
}

// leaveWithin is how long a node's program may take to end once its launcher has ended.
const leaveWithin = 10 * time.Second

// endWithPipe kills init leaveWithin after the launcher's end of a pipe has closed. It only polls
// the pipe, which the program inside reads.
func endWithPipe(stdin *os.File, init *os.Process) {
	poll := []unix.PollFd{{Fd: int32(stdin.Fd()), Events: unix.POLLRDHUP}}
	for {
		_, err := unix.Poll(poll, -1)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	time.Sleep(leaveWithin)
	init.Kill()
}

// exit returns the program's exit status. If a signal killed the program, it kills this process
// by the same signal.
func (o outcome) exit(l Limits, stderr io.Writer) int {
	if o.outOfMemory {
		fmt.Fprintf(stderr, "kvscluster %s: the kernel killed a process at the limit of memory, %s\n", node.ContainFlag, format.Bytes(l.Memory))
	}
	if o.outOfProcesses {
		fmt.Fprintf(stderr, "kvscluster %s: the kernel refused a process or a thread at the limit of them, %d\n", node.ContainFlag, l.Processes)
	}
	if !o.Status.Signaled() {
		return o.Status.ExitStatus()
	}
	sig := o.Status.Signal()
	signal.Reset(sig)
	syscall.Kill(os.Getpid(), sig)
	time.Sleep(time.Second)
	return 128 + int(sig)
}
