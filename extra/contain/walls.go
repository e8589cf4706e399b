package contain

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"kvlab/kvs/node"
	"kvlab/metrics"
)

// The limits with which the walls are tried, if the real ones are larger. The deeds take
// twice as much: enough to go beyond them, and little for a machine without walls.
const (
	triedMemory    = 128 << 20
	triedProcesses = 64
	triedDisk      = 4e6
)

// wall is a wall, and a deed that it makes impossible.
type wall struct {
	name string
	deed string // of sh(1), which ends with 0 if it has succeeded; $1 is a file of another's
	weak string // why a deed succeeds that no step has announced
}

// deeds are the walls that are found by trying. A file of /proc that is not there is no wall.
var deeds = []wall{
	{"memory", "dd if=/dev/zero of=/dev/null bs=256M count=1", "a program got more memory than its limit"},
	{"processes", "for i in $(seq 128); do sleep 5 & done", "a program started more processes than its limit"},
	{"disk", "f=$(mktemp) && trap 'rm -f $f $f-2' EXIT && head -c 4000000 /dev/zero >$f && head -c 4000000 /dev/zero >$f-2", "a program wrote more files than its limit"},
	{"files", `cat "$1"`, "a program read another's file"},
	{"network", `! test "$(wc -l </proc/net/route)" -le 1`, "servers and clients share the network of their machine"},
	{"others", "! grep -q " + node.ContainInit + " /proc/1/cmdline", "a program saw another's process"},
	{"privileges", "mount -t tmpfs none /tmp || chown 1:1 /tmp", "a program did what only root may do"},
	{endWall, "sleep 5 &", "a process outlived the program that started it"},
}

// endWall is the wall around what outlives a program. It is seen from outside.
const endWall = "end"

// The walls that no deed shows: the kernel holds them once they are made.
const (
	coresWall    = "cores"
	landlockWall = "landlock"
	userWall     = "user"
)

// Walls returns the walls that hold here for programs with such limits. It finds them by
// contained programs that try what each wall is to prevent.
func Walls(l Limits) ([]metrics.Wall, error) {
	secret, err := os.CreateTemp("", "kvlab-secret-")
	if err != nil {
		return nil, err
	}
	defer os.Remove(secret.Name())
	if err := errors.Join(secret.Chmod(0o644), secret.Close()); err != nil {
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
	for _, w := range deeds {
		var broken bool
		if broken, weak, err = tried.try(w, secret.Name()); err != nil {
			return nil, fmt.Errorf("try the wall %s: %w", w.name, err)
		}
		found := metrics.Wall{Name: w.name, Held: !broken}
		if broken {
			found.Why = cmp.Or(weak[w.name], w.weak)
		}
		walls = append(walls, found)
	}
	for _, name := range []string{coresWall, userWall, landlockWall} {
		if name != coresWall || l.Cores != "" {
			walls = append(walls, metrics.Wall{Name: name, Held: weak[name] == "", Why: weak[name]})
		}
	}
	return walls, nil
}

// try does a deed contained, and reports whether it has succeeded: that of endWall, whether
// its process is still there.
func (b Box) try(w wall, secret string) (broken bool, weak map[string]string, err error) {
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
	o, err := b.run([]string{"sh", "-c", w.deed, "sh", secret}, null, in, null)
	in.Close()
	if w.name != endWall {
		return o.Status.Exited() && o.Status.ExitStatus() == 0, o.Weak, err
	}
	// The pipe ends with the last process that has it.
	if unset := out.SetReadDeadline(time.Now().Add(time.Second)); unset != nil {
		return false, o.Weak, unset
	}
	_, unread := out.Read(make([]byte, 1))
	return !errors.Is(unread, io.EOF), o.Weak, err
}

// Fewest returns the walls of the machine on which the fewest hold.
func Fewest(machines ...[]metrics.Wall) []metrics.Wall {
	broken := func(walls []metrics.Wall) int {
		return len(slices.DeleteFunc(slices.Clone(walls), func(w metrics.Wall) bool { return w.Held }))
	}
	return slices.MaxFunc(machines, func(a, b []metrics.Wall) int { return cmp.Compare(broken(a), broken(b)) })
}
