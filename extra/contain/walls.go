package contain

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"kvlab/kvs/node"
	"kvlab/metrics"
)

// The limits of the probes' memory, processes and disk. Probes ask for twice the limit, which is
// little for a machine without walls.
const (
	probedMemory    = 128 << 20
	probedProcesses = 64
	probedDisk      = 4e6
)

// probe is a command that must fail behind a wall.
type probe struct {
	wall    string
	command string // of sh(1); $1 is a file that belongs to another user
	weak    string // why the wall does not hold, if no step of the containment says it
}

// probes are the probes of all walls that a command can test. A command that lacks a file of
// /proc succeeds: the missing file is no wall.
var probes = []probe{
	{"memory", "dd if=/dev/zero of=/dev/null bs=256M count=1", "a program got more memory than its limit"},
	{"processes", "for i in $(seq 128); do sleep 5 & done", "a program started more processes than its limit"},
	{"disk", "f=$(mktemp) && trap 'rm -f $f $f-2' EXIT && head -c 4000000 /dev/zero >$f && head -c 4000000 /dev/zero >$f-2", "a program wrote more files than its limit"},
	{"files", `cat "$1"`, "a program read another's file"},
	{"network", `! test "$(wc -l </proc/net/route)" -le 1`, "servers and clients share the network of their machine"},
	{"others", "! grep -q " + node.ContainInit + " /proc/1/cmdline", "a program saw another's process"},
	{"privileges", "mount -t tmpfs none /tmp || chown 1:1 /tmp", "a program did what only root may do"},
	{endWall, "sleep 5 &", "a process outlived the program that started it"},
}

// endWall is the wall that no process of a program outlives. It is tested from outside.
const endWall = "end"

// The walls without a probe: the kernel holds them once they are made.
const (
	coresWall    = "cores"
	landlockWall = "landlock"
	userWall     = "user"
)

// findWalls runs every probe contained, and returns the walls of programs with such limits on
// this machine.
func findWalls(l Limits) ([]metrics.Wall, error) {
	secret, err := os.CreateTemp("", "kvlab-secret-")
	if err != nil {
		return nil, err
	}
	defer os.Remove(secret.Name())
	if err := errors.Join(secret.Chmod(0o644), secret.Close()); err != nil {
		return nil, err
	}
	b := box{Limits: l}
	b.Limits.Disk = probedDisk
	if l.Memory > 0 {
		b.Limits.Memory = probedMemory
	}
	if l.Processes > 0 {
		b.Limits.Processes = probedProcesses
	}
	var walls []metrics.Wall
	var weak map[string]string
	for _, p := range probes {
		var broken bool
		if broken, weak, err = b.test(p, secret.Name()); err != nil {
			return nil, fmt.Errorf("try the wall %s: %w", p.wall, err)
		}
		found := metrics.Wall{Name: p.wall, Held: !broken}
		if broken {
			found.Why = cmp.Or(weak[p.wall], p.weak)
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

// test runs a probe contained, and reports whether its wall is broken: the command succeeded, or
// at endWall the process that it started is still there. weak has the walls that the containment
// knows not to hold, with the reasons.
func (b box) test(p probe, secret string) (broken bool, weak map[string]string, err error) {
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
	o, err := b.run([]string{"sh", "-c", p.command, "sh", secret}, null, in, null)
	in.Close()
	if p.wall != endWall {
		return o.Status.Exited() && o.Status.ExitStatus() == 0, o.Weak, err
	}
	// The pipe ends with the last process that has it.
	if unset := out.SetReadDeadline(time.Now().Add(time.Second)); unset != nil {
		return false, o.Weak, unset
	}
	_, unread := out.Read(make([]byte, 1))
	return !errors.Is(unread, io.EOF), o.Weak, err
}
