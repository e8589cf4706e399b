package faults

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// host is one of the lab's hosts, as the hub sees it.
type host struct {
	name  string
	index int
	pid   int    // of its pid 1
	space string // its pid namespace
}

// findHosts finds the lab's hosts by the processes that are number 1 in a pid
// namespace below this one (NSpid, proc_pid_status(5)).
func findHosts(t *testing.T) []*host {
	t.Helper()
	var hosts []*host
	for _, pid := range processes() {
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		_, rest, _ := bytes.Cut(status, []byte("\nNSpid:"))
		line, _, _ := bytes.Cut(rest, []byte("\n"))
		if numbers := strings.Fields(string(line)); len(numbers) < 2 || numbers[len(numbers)-1] != "1" {
			continue
		}
		name, err := os.ReadFile(fmt.Sprintf("/proc/%d/root/etc/hostname", pid))
		if err != nil {
			t.Fatal(err)
		}
		h := &host{name: strings.TrimSpace(string(name)), pid: pid, space: space(pid)}
		if h.index, err = strconv.Atoi(strings.TrimPrefix(h.name, "node")); err != nil {
			t.Fatal(err)
		}
		hosts = append(hosts, h)
	}
	slices.SortFunc(hosts, func(a, b *host) int { return a.index - b.index })
	return hosts
}

// processes lists the pids that this process sees.
func processes() (pids []int) {
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range folders {
		if pid, err := strconv.Atoi(filepath.Base(folder)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// space returns a process's pid namespace, "" if it has ended.
func space(pid int) string {
	link, _ := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", pid))
	return link
}

// data returns the host's address on the data network.
func (h *host) data() string { return fmt.Sprintf("10.10.1.%d", h.index+1) }

// command returns a command that runs on the host.
func (h *host) command(words ...string) *exec.Cmd {
	return exec.Command("nsenter", append([]string{"-t", strconv.Itoa(h.pid), "-a", "--"}, words...)...)
}

// do runs a command on the host.
func (h *host) do(t *testing.T, words ...string) {
	t.Helper()
	if out, err := h.command(words...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %q: %v: %s", h.name, words, err, out)
	}
}

// power disconnects the host from both networks, or connects it again.
func (h *host) power(t *testing.T, state string) {
	t.Helper()
	for _, network := range []string{"data", "control"} {
		link := fmt.Sprintf("%s%d", network, h.index)
		if out, err := exec.Command("ip", "link", "set", link, state).CombinedOutput(); err != nil {
			t.Fatalf("ip link set %s %s: %v: %s", link, state, err, out)
		}
	}
}

// runs lists the host's processes of a program.
func (h *host) runs(program string) (pids []int) {
	for _, pid := range processes() {
		exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		if space(pid) == h.space && filepath.Base(exe) == program {
			pids = append(pids, pid)
		}
	}
	return pids
}

// signal sends a signal to the host's only process of a program.
func (h *host) signal(t *testing.T, program string, s syscall.Signal) {
	t.Helper()
	pids := h.runs(program)
	if len(pids) != 1 {
		t.Fatalf("%s runs %s as %v, want one process", h.name, program, pids)
	}
	if err := syscall.Kill(pids[0], s); err != nil {
		t.Fatal(err)
	}
}

// cached matches a program that stays on a node by design, and its folders.
var cached = regexp.MustCompile(`^kvlab-root(/[0-9a-f]{16}(/kvs(server|client))?)?$`)

// state returns what a run must restore: the host's processes, the files in its /tmp and in
// root's home, its mounts.
func (h *host) state() string {
	var b strings.Builder
	for _, pid := range processes() {
		if space(pid) == h.space && pid != h.pid {
			words, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			fmt.Fprintf(&b, "%s: process %d %q\n", h.name, pid, bytes.ReplaceAll(words, []byte{0}, []byte{' '}))
		}
	}
	for _, folder := range []string{"tmp", "root"} {
		top := fmt.Sprintf("/proc/%d/root/%s", h.pid, folder)
		filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
			if name, _ := filepath.Rel(top, path); err == nil && path != top && !cached.MatchString(name) {
				fmt.Fprintf(&b, "%s: file /%s/%s\n", h.name, folder, name)
			}
			return nil
		})
	}
	mounts, _ := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", h.pid))
	fmt.Fprintf(&b, "%s: %d mounts\n", h.name, bytes.Count(mounts, []byte("\n")))
	return b.String()
}
