package virtual

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"kvlab/internal/namespace"
)

// host is one machine of the lab, as the hub sees it.
type host struct {
	index int
	name  string
	cmd   *exec.Cmd     // its pid 1
	gate  io.Closer     // closed when its network exists
	ended chan struct{} // closed when pid 1 ends
}

// startHost starts a host's pid 1 in new namespaces. It waits at its gate before it
// becomes sshd.
func startHost(index int) (*host, error) {
	h := &host{index: index, name: Hostname(index), ended: make(chan struct{})}
	stderr, err := os.Create(h.stderr())
	if err != nil {
		return nil, err
	}
	defer stderr.Close()
	h.cmd = &exec.Cmd{
		Path: namespace.Self, Args: []string{hostName, h.name, strconv.Itoa(index)}, Stderr: stderr,
		SysProcAttr: &syscall.SysProcAttr{
			Cloneflags: namespaces,
			Setpgid:    true, // as in Enter
		},
	}
	gate, err := h.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	h.gate = gate
	if err := h.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", h.name, err)
	}
	go func() {
		h.cmd.Wait()
		close(h.ended)
	}()
	return h, nil
}

func (h *host) pid() int { return h.cmd.Process.Pid }

// stderr returns the path of the file with the errors of pid 1.
func (h *host) stderr() string { return filepath.Join(folder, h.name, "stderr") }

// said returns the errors of pid 1 as one line.
func (h *host) said() string {
	text, _ := os.ReadFile(h.stderr())
	return strings.Join(strings.Fields(string(text)), " ")
}

// answers waits until the host's sshd listens on the control network.
func (h *host) answers(ctx context.Context) error {
	for {
		conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", net.JoinHostPort(controlAddress(h.index), "22"))
		if err == nil {
			return conn.Close()
		}
		select {
		case <-h.ended:
			return fmt.Errorf("%s did not start: %s", h.name, h.said())
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer on port 22: %w %s", h.name, context.Cause(ctx), h.said())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// runHost prepares a host in its pid 1, which then becomes sshd. sshd reaps orphans, as an
// init must. The host gets its own name, clock, /tmp, home and system files; the rest of
// the file system is the machine's. With the user's home every login would run the
// user's start-up files, and a kill would leave their processes half done.
func runHost() error {
	name := os.Args[1]
	own := filepath.Join(folder, name)
	index, err := strconv.Atoi(os.Args[2])
	if err != nil {
		return err
	}
	root, err := user.LookupId("0")
	if err != nil {
		return err
	}
	if err := errors.Join(namespace.Private(), namespace.Mount("proc", "/proc", ""),
		namespace.Mount("tmpfs", "/tmp", "mode=1777"), namespace.Mount("tmpfs", root.HomeDir, "mode=0700"),
		// A sysfs shows the interfaces of the network in which it was mounted.
		namespace.Mount("sysfs", "/sys", ""), unix.Sethostname([]byte(name)), ownClock(index)); err != nil {
		return err
	}
	if err := show(own, map[string]string{"hosts": "/etc/hosts", "hostname": "/etc/hostname", "shadow": "/etc/shadow", "emulab": "/var/emulab"}); err != nil {
		return err
	}
	io.Copy(io.Discard, os.Stdin) // the gate
	// The kernel reports 10 Gb/s for every veth interface.
	if err := show(own, map[string]string{"speed": "/sys/class/net/" + dataCard + "/speed"}); err != nil {
		return err
	}
	sshd, err := exec.LookPath("sshd")
	if err != nil {
		return err
	}
	err = syscall.Exec(sshd, []string{sshd, "-D", "-e", "-f", folder + "/sshd_config"}, os.Environ())
	return fmt.Errorf("start %s: %w", sshd, err)
}

// show binds files of a host's folder over the system's. It skips a file that either of
// them lacks.
func show(own string, files map[string]string) error {
	for file, at := range files {
		if err := namespace.Bind(filepath.Join(own, file), at); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}
