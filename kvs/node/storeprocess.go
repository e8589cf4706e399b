package node

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"kvlab/metrics"
	"kvlab/metrics/usage"
)

// forwarder is the program of Docker that listens in place of a process in a container.
const forwarder = "docker-proxy"

// StoreProcess returns the number of the process that listens on a running store's address:
// host:port, or the path of a Unix socket. If it is not known, the number is 0 and unseen says
// why. elsewhere reports that the address is another machine's.
func StoreProcess(address string) (pid int, unseen string, elsewhere bool, err error) {
	if strings.HasPrefix(address, "/") {
		if pid, err = socketOwner(address); pid == 0 && err == nil {
			unseen = "it runs in a container"
		}
		return pid, unseen, false, err
	}
	at, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return 0, "", false, err
	}
	addr := at.AddrPort().Addr().Unmap()
	switch holders, err := usage.Holders(addr); {
	case err != nil:
		return 0, "", false, err
	case len(holders) == 0:
		return 0, "it runs on another machine", true, nil
	}
	found := thisMachine.listeners(at.AddrPort().String())
	if len(found) > 1 { // systemd holds the sockets of what it activates
		found = slices.DeleteFunc(found, func(p metrics.Process) bool { return p.PID == 1 })
	}
	switch {
	case len(found) == 0:
		return 0, "its port is forwarded from elsewhere", false, nil
	case found[0].PID == 0:
		return 0, fmt.Sprintf("only %s and root see the process", found[0].User), false, nil
	case found[0].Name == forwarder:
		return 0, "it runs in a container, whose port " + forwarder + " forwards", false, nil
	}
	return found[0].PID, "", false, nil
}

// socketOwner returns the number of the process that listens on a Unix socket
// (SO_PEERCRED in unix(7)); 0 for a process in another namespace.
func socketOwner(path string) (pid int, err error) {
	conn, err := net.Dial("unix", path)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return 0, err
	}
	var owner *unix.Ucred
	var asked error
	err = raw.Control(func(fd uintptr) { owner, asked = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err = errors.Join(err, asked); err != nil {
		return 0, fmt.Errorf("ask who listens on %s: %w", path, err)
	}
	return int(owner.Pid), nil
}
