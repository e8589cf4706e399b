package contain

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"kvlab/kvs/cluster/namespace"
	"kvlab/metrics"
)

// The limits with which the walls are tried, if the real ones are larger, and what the
// deeds take: enough to go beyond them, and little for a machine without walls.
const (
	triedMemory    = 128e6
	takenMemory    = 256e6
	triedProcesses = 64
	takenProcesses = 128
	triedDisk      = 4e6
	takenDisk      = 8e6
)

// wall is a wall, and a deed that it makes impossible. The deed returns nil if it has
// succeeded.
type wall struct {
	name string
	deed func(args []string) error
	weak string // why a deed succeeds that no step has announced
}

// deeds are the walls that are found by trying. What stands for a deed's arguments is made
// by Walls: a file of another's, and this process's number.
var deeds = []wall{
	{"memory", func([]string) error { return takeMemory() }, "a program got more memory than its limit"},
	{"processes", func([]string) error { return startMany() }, "a program started more processes than its limit"},
	{"cores", func([]string) error { return runAnywhere() }, "a program chose its processors itself"},
	{"disk", func([]string) error { return fill() }, "a program wrote more files than its limit"},
	{"files", func(args []string) error { _, err := os.ReadFile(args[0]); return err }, "a program read another's file"},
	{"network", func([]string) error { return leave() }, "servers and clients share the network of their machine"},
	{"others", func(args []string) error { return find(args[1]) }, "a program saw another's process"},
	{"privileges", func([]string) error { return rise() }, "a program did what only root may do"},
}

// succeeded is the exit status of a deed that no wall has stopped. Any other end, such as
// a crash, means that a wall has.
const succeeded = 42

// attempt does a deed in a contained process, and returns its exit status.
func attempt(name string, args []string) int {
	if name == endWall {
		stay := exec.Command("sleep", "5")
		stay.Stdout, stay.SysProcAttr = os.Stdout, &syscall.SysProcAttr{Setsid: true}
		if stay.Start() != nil {
			return exitFailed
		}
		return succeeded
	}
	for _, w := range deeds {
		if w.name == name {
			err := w.deed(args)
			if err == nil {
				return succeeded
			}
			fmt.Fprintln(os.Stderr, err)
		}
	}
	return exitFailed
}

// endWall is the wall around what outlives a program. It is seen from outside.
const endWall = "end"

// Walls returns the walls that hold here for programs with such limits. It finds them by
// contained programs that try what each wall is to prevent.
func Walls(l Limits) ([]metrics.Wall, error) {
	outside, err := os.MkdirTemp("", "kvlab-walls-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(outside)
	secret := filepath.Join(outside, "secret")
	if err := cmp.Or(os.Chmod(outside, 0o755), os.WriteFile(secret, nil, 0o644)); err != nil {
		return nil, err
	}
	tried := Box{Limits: l}
	tried.Limits.Disk = triedDisk
	if l.Memory > 0 {
		tried.Limits.Memory = triedMemory
	}
	if l.Processes > 0 {
		tried.Limits.Processes = triedProcesses
	}
	var walls []metrics.Wall
	var weak map[string]string
	for _, w := range append(deeds, wall{name: endWall, weak: "a process outlived the program that started it"}) {
		var broken bool
		if broken, weak, err = tried.try(w.name, secret, strconv.Itoa(os.Getpid())); err != nil {
			return nil, fmt.Errorf("try the wall %s: %w", w.name, err)
		}
		found := metrics.Wall{Name: w.name, Held: !broken}
		if broken {
			found.Why = cmp.Or(weak[w.name], w.weak)
		}
		if w.name != "cores" || l.Cores != "" {
			walls = append(walls, found)
		}
	}
	for _, name := range []string{userWall, landlockWall} {
		walls = append(walls, metrics.Wall{Name: name, Held: weak[name] == "", Why: weak[name]})
	}
	return walls, nil
}

// try does a deed contained, and reports whether it has succeeded: one of endWall, whether
// its process is still there.
func (b Box) try(name string, args ...string) (broken bool, weak map[string]string, err error) {
	self, err := os.Readlink(namespace.Self)
	if err != nil {
		return false, nil, err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return false, nil, err
	}
	defer null.Close()
	out, in, err := os.Pipe()
	if err != nil {
		return false, nil, err
	}
	defer out.Close()
	o, err := b.run(append([]string{self, deedWord, name}, args...), null, in, null)
	in.Close()
	if name != endWall {
		return o.Status.Exited() && o.Status.ExitStatus() == succeeded, o.Weak, err
	}
	// The pipe ends with the last process that has it.
	if unset := out.SetReadDeadline(time.Now().Add(time.Second)); unset != nil {
		return false, o.Weak, unset
	}
	_, unread := out.Read(make([]byte, 1))
	return !errors.Is(unread, io.EOF), o.Weak, err
}

func takeMemory() error {
	held := make([]byte, takenMemory)
	for i := 0; i < len(held); i += os.Getpagesize() {
		held[i] = 1
	}
	return nil
}

func startMany() error {
	for range takenProcesses {
		if err := exec.Command("sleep", "5").Start(); err != nil {
			return err
		}
	}
	return nil
}

// runAnywhere asks for every processor, and reports an error if it did not get one more.
func runAnywhere() error {
	var before, all, after unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return err
	}
	for i := range all {
		all[i] = ^all[i]
	}
	if err := cmp.Or(unix.SchedSetaffinity(0, &all), unix.SchedGetaffinity(0, &after)); err != nil {
		return err
	}
	if after == before {
		return errors.New("no further processor")
	}
	return nil
}

// fill writes beyond the limit of files, a file in each of several folders.
func fill() error {
	dir, err := os.Getwd()
	for _, folder := range []string{dir, "/tmp", "/dev/shm"} {
		for i := range 2 {
			file := fmt.Sprintf("%s/kvlab-deed-%d", folder, i)
			defer os.Remove(file)
			err = cmp.Or(err, os.WriteFile(file, make([]byte, takenDisk/2), 0o600))
		}
	}
	return err
}

// leave looks for a way to another machine, at an address for documents (RFC 5737). It
// sends nothing.
func leave() error {
	conn, err := net.Dial("udp", "192.0.2.1:9")
	if err == nil {
		conn.Close()
	}
	return err
}

// find looks for a process that runs this program's other work.
func find(pid string) error {
	line, err := os.ReadFile("/proc/" + pid + "/cmdline")
	if err == nil && strings.Contains(string(line), deedWord) {
		return errors.New("that is a process inside")
	}
	return err
}

// rise tries what only root may.
func rise() error {
	mounted := unix.Mount("tmpfs", "/tmp", "tmpfs", 0, "")
	chowned := os.Chown("/tmp", 1, 1)
	if mounted == nil || chowned == nil {
		return nil
	}
	return mounted
}

// Fewest returns the walls of the machine on which the fewest hold.
func Fewest(machines ...[]metrics.Wall) []metrics.Wall {
	held := func(walls []metrics.Wall) (n int) {
		for _, w := range walls {
			if w.Held {
				n++
			}
		}
		return n
	}
	var fewest []metrics.Wall
	for i, walls := range machines {
		if i == 0 || held(walls) < held(fewest) {
			fewest = walls
		}
	}
	return fewest
}
