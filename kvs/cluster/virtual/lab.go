// Package virtual makes a cluster on one Linux machine: hosts that are network
// namespaces, each with its own sshd and monotonic clock, joined by a shaped data
// network and a control network that is not shaped.
//
// A lab is a tree of processes that all run this one program, or sshd:
//
//	run-cluster.sh      Enter: starts the next one in new namespaces, and waits
//	  init              pid 1 of the lab: passes signals on and reaps
//	    run-cluster.sh  the same command line again: Start, then the run itself
//	      sshd          pid 1 of node0, in namespaces of its own
//	      sshd          pid 1 of node1 ...
//
// Nothing of it outlives the first process, however that ends: the kernel then
// kills init (PR_SET_PDEATHSIG, prctl(2)), with it everything in its pid
// namespace (pid_namespaces(7)), and with the last process of each namespace
// its interfaces and mounts (namespaces(7)). Files are in memory that only the
// lab's mount namespace shows. Only the cgroups are visible outside; a shell
// that waits for the first process's end removes them.
package virtual

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// A run needs a server and a client. More hosts than maxHosts have been tried
// on no machine.
const (
	minHosts = 2
	maxHosts = 64
)

// ValidateHosts checks that a lab can have so many hosts. Its error names the
// flag.
func ValidateHosts(hosts int) error {
	if hosts < minHosts || hosts > maxHosts {
		return fmt.Errorf("--virtual %d: must be a number of hosts from %d to %d", hosts, minHosts, maxHosts)
	}
	return nil
}

// The process names, argv[0], by which a process of the lab knows what it is.
const (
	initName = "kvlab-lab-init"
	hubName  = "kvlab-lab"
	hostName = "kvlab-lab-host"
)

// Main does the work of those of the lab's processes that are not the program
// itself, and returns their exit status. It returns ok false at once in any
// other process. A program that calls Enter begins with it.
func Main() (status int, ok bool) {
	var err error
	switch os.Args[0] {
	case initName:
		status, err = runInit()
	case hostName:
		err = runHost()
	default:
		return 0, false
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	return status, true
}

// Inside reports whether this process is the program inside a lab, where Start
// may be called.
func Inside() bool { return os.Args[0] == hubName }

// tool is a program that a lab needs, and the Debian package that has it.
type tool struct{ program, debian string }

var tools = []tool{
	{"ip", "iproute2"},
	{"tc", "iproute2"},
	{"sshd", "openssh-server"},
	{"ssh", "openssh-client"},
	{"ssh-keygen", "openssh-client"},
}

// need says what has to be installed when one of the tools is missing.
func need(tools []tool) error {
	for _, t := range tools {
		if find(t.program) == "" {
			return fmt.Errorf("--virtual needs %s: type apt-get install %s", t.program, t.debian)
		}
	}
	return nil
}

// find returns a program's path, "" when it is not installed. Not every
// root's PATH has the folders of system programs.
func find(program string) string {
	folders := append(filepath.SplitList(os.Getenv("PATH")), "/usr/sbin", "/sbin", "/usr/local/sbin")
	at := slices.IndexFunc(folders, func(folder string) bool {
		info, err := os.Stat(filepath.Join(folder, program))
		return filepath.IsAbs(folder) && err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
	})
	if at < 0 {
		return ""
	}
	return filepath.Join(folders[at], program)
}
