package virtual

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// controller is where the kernel's cpu controller for cgroups can be written.
type controller struct {
	folder  string // the root of its hierarchy
	unified bool   // cgroup v2, cgroups(7)
}

// errNoController is why hosts have no CPU shares.
var errNoController = errors.New("no cpu controller for cgroups is mounted here")

// findController looks for the cpu controller among the mounts that table, in
// the form of /proc/PID/mountinfo (proc_pid_mountinfo(5)), lists. In version 2
// it must be enabled for the root's children, as systemd does it: that setting
// is the whole machine's, and not a lab's to change.
func findController(table io.Reader) (controller, error) {
	lines := bufio.NewScanner(table)
	for lines.Scan() {
		before, after, _ := strings.Cut(lines.Text(), " - ")
		where, how := strings.Fields(before), strings.Fields(after)
		if len(where) < 5 || len(how) < 3 {
			continue
		}
		c := controller{folder: where[4], unified: how[0] == "cgroup2"}
		switch {
		case how[0] == "cgroup" && slices.Contains(strings.Split(how[2], ","), "cpu"):
			return c, nil
		case c.unified:
			enabled, _ := os.ReadFile(filepath.Join(c.folder, "cgroup.subtree_control"))
			if slices.Contains(strings.Fields(string(enabled)), "cpu") {
				return c, nil
			}
		}
	}
	return controller{}, errNoController
}

// ownController is the one that this process can write.
func ownController() (controller, error) {
	table, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return controller{}, err
	}
	defer table.Close()
	return findController(table)
}

// group is the folder of the cgroup of the lab that the process is in. The
// number of its pid namespace names it inside and outside.
func (c controller) group(process string) (string, error) {
	link, err := os.Readlink("/proc/" + process + "/ns/pid")
	if err != nil {
		return "", err
	}
	return filepath.Join(c.folder, "kvlab-lab-"+strings.Trim(link, "pid:[]")), nil
}

// share divides the machine among the hosts. Its error says why that cannot be.
func share(hosts []*host) error {
	c, err := ownController()
	if err != nil {
		return err
	}
	return c.share(hosts)
}

// share puts every host, by its pid 1, into a cgroup of its own, all with the
// same weight. The launcher and its ssh processes are due as much as all hosts
// together, though they use little: a barrier's message that waited for the
// cores would move one node's window against the others'. The lab is due, of
// the machine, what as many ordinary processes as it has hosts are.
func (c controller) share(hosts []*host) error {
	group, err := c.group("self")
	if err != nil {
		return err
	}
	if err := c.add(group, len(hosts)); err != nil {
		return err
	}
	if c.unified {
		if err := write(group, "cgroup.subtree_control", "+cpu"); err != nil {
			return err
		}
	}
	hub := filepath.Join(group, "hub")
	if err := c.add(hub, len(hosts), 1, os.Getpid()); err != nil { // 1 is init
		return err
	}
	for _, h := range hosts {
		if err := c.add(filepath.Join(group, h.name), 1, h.pid()); err != nil {
			return err
		}
	}
	return nil
}

// add makes a cgroup of so many times the default weight, and moves processes
// into it. The defaults are in cgroup-v2.rst and, for version 1, in
// sched-design-CFS.rst of the kernel's documentation.
func (c controller) add(group string, weights int, processes ...int) error {
	if err := os.Mkdir(group, 0o755); err != nil {
		return err
	}
	file, weight := "cpu.shares", 1024
	if c.unified {
		file, weight = "cpu.weight", 100
	}
	if err := write(group, file, strconv.Itoa(weights*weight)); err != nil {
		return err
	}
	for _, pid := range processes {
		if err := write(group, "cgroup.procs", strconv.Itoa(pid)); err != nil {
			return err
		}
	}
	return nil
}

// write sets one of a cgroup's files.
func write(group, file, value string) error {
	return os.WriteFile(filepath.Join(group, file), []byte(value), 0o644)
}

// guard is a process outside of the lab that removes its cgroups when this
// process closes a pipe to it, or ends in whatever way.
type guard struct {
	cmd   *exec.Cmd
	stdin io.Closer
}

// guardScript has the group as its argument. The kernel takes a moment to free
// a group whose processes have been killed.
const guardScript = `cat >/dev/null
for try in $(seq 200); do
	[ -d "$1" ] || exit 0
	rmdir "$1"/*/ "$1" 2>/dev/null && exit 0
	sleep 0.05
done
`

// startGuard starts the guard of the lab whose init is given; nil without a
// controller, when there is nothing to remove.
func startGuard(init int) (*guard, error) {
	c, err := ownController()
	if err != nil {
		return nil, nil
	}
	group, err := c.group(strconv.Itoa(init))
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("/bin/sh", "-c", guardScript, "kvlab-lab-guard", group)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // out of reach of Ctrl-C
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("--virtual: %w", err)
	}
	return &guard{cmd, stdin}, nil
}

// end lets the guard do its work.
func (g *guard) end() {
	if g != nil {
		g.stdin.Close()
		g.cmd.Wait()
	}
}
