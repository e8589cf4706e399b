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
// The lab ends with the first process, however that process ends: the kernel kills init
// (PR_SET_PDEATHSIG, prctl(2)), with it every process of its pid namespace
// (pid_namespaces(7)), and removes the interfaces and mounts of each namespace with its
// last process (namespaces(7)). Files are in memory, in the lab's mount namespace. Only
// the cgroups are visible outside; a guard process removes them.
package virtual

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"kvlab/internal/cgroup"
	"kvlab/metrics"
)

// A run needs a server and a client. Labs of more than maxHosts are untested.
const (
	minHosts = 2
	maxHosts = 64
)

// ValidateHosts checks a lab's number of hosts. Its error names the flag.
func ValidateHosts(hosts int) error {
	if hosts < minHosts || hosts > maxHosts {
		return fmt.Errorf("--virtual %d: must be from %d to %d hosts", hosts, minHosts, maxHosts)
	}
	return nil
}

// The values of argv[0] that tell a process its part in the lab.
const (
	initName = "kvlab-lab-init"
	hubName  = "kvlab-lab"
	hostName = "kvlab-lab-host"

	loopbackName = "kvlab-loopback" // of the program that EnterLoopback runs
)

// Main does the work of the lab's init and hosts, and returns their exit status. In any
// other process it returns ok false at once. A program that calls Enter or EnterLoopback
// calls Main first.
func Main() (status int, ok bool) {
	var err error
	switch os.Args[0] {
	case initName:
		status, err = runInit()
	case hostName:
		err = runHost()
	case loopbackName:
		if err = loopbackUp(); err == nil {
			return 0, false
		}
	default:
		return 0, false
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	return status, true
}

// Inside reports whether this process is the program inside a lab, which may call Start.
func Inside() bool { return os.Args[0] == hubName }

// tool is a program that a lab needs, and its Debian package.
type tool struct{ program, debian string }

var tools = []tool{
	{"ip", "iproute2"},
	{"tc", "iproute2"},
	{"nsenter", "util-linux"},
	{"sshd", "openssh-server"},
	{"ssh", "openssh-client"},
	{"ssh-keygen", "openssh-client"},
}

// need returns an error that names the package of the first missing tool. It adds the
// folders of system programs to PATH, which root's may lack.
func need(tools []tool) error {
	os.Setenv("PATH", os.Getenv("PATH")+":/usr/sbin:/sbin:/usr/local/sbin")
	for _, t := range tools {
		if _, err := exec.LookPath(t.program); err != nil {
			return fmt.Errorf("--virtual needs %s: type apt-get install %s", t.program, t.debian)
		}
	}
	return nil
}

// startTimeout limits the start of all hosts, which takes seconds on an idle machine.
const startTimeout = time.Minute

// Lab is a running lab. It ends with the process.
type Lab struct {
	metrics.Lab
	SSHConfig string // for ssh -F: reaches every host by its name
	NoShares  error  // why the hosts have no CPU shares; nil if they have

	hosts []*host
}

// Start makes the hosts of a lab and their networks, and returns when all of them
// answer. Only a process that is Inside a lab may call it, once.
func Start(ctx context.Context, spec metrics.Lab) (*Lab, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := writeFiles(spec); err != nil {
		return nil, err
	}
	l := &Lab{Lab: spec, SSHConfig: filepath.Join(folder, "ssh_config")}
	for i := range spec.Hosts {
		h, err := startHost(i)
		if err != nil {
			return nil, err
		}
		l.hosts = append(l.hosts, h)
	}
	controller, err := cgroup.Find("cpu")
	if err == nil {
		err = share(controller, l.hosts)
	}
	l.NoShares, l.CPUShares = err, err == nil
	err = connect(l.hosts)
	if err == nil && spec.LinkBitsPerS > 0 {
		err = shape(l.hosts, spec.LinkBitsPerS)
	}
	if err != nil {
		return nil, err
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, h := range l.hosts {
		h.gate.Close()
		group.Go(func() error { return h.answers(ctx) })
	}
	return l, group.Wait()
}
