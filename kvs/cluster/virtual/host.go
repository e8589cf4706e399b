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
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// host is one machine of the lab, as the hub sees it.
type host struct {
	index int
	name  string
	cmd   *exec.Cmd // its pid 1
	gate  io.Closer // closed when its network exists
	said  tail
	ended chan struct{} // closed when pid 1 ends
}

// startHost starts a host's pid 1 in new namespaces. It waits at its gate before it
// becomes sshd.
func startHost(index int) (*host, error) {
	h := &host{index: index, name: hostname(index), ended: make(chan struct{})}
	h.cmd = &exec.Cmd{
		Path: self, Args: []string{hostName, h.name, strconv.Itoa(index)}, Stderr: &h.said,
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

// greeted waits until the host's sshd greets on the control network.
func (h *host) greeted(ctx context.Context) error {
	for {
		if greets(ctx, net.JoinHostPort(controlAddress(h.index), "22")) {
			return nil
		}
		select {
		case <-h.ended:
			return fmt.Errorf("%s did not start: %s", h.name, h.said.String())
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer on port 22: %w %s", h.name, context.Cause(ctx), h.said.String())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// greets reports whether an SSH server answers.
func greets(ctx context.Context, address string) bool {
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", address)
	if err != nil {
		return false
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(5 * time.Second))
	greeting := make([]byte, 4)
	io.ReadFull(conn, greeting)
	return string(greeting) == "SSH-"
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
	if err := errors.Join(privateMounts(), mount("tmpfs", "/tmp", "mode=1777"), mount("tmpfs", root.HomeDir, "mode=0700"),
		// A sysfs shows the interfaces of the network that it was mounted in.
		mount("sysfs", "/sys", ""), unix.Sethostname([]byte(name)), ownClock(index)); err != nil {
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
	sshd := find("sshd")
	err = syscall.Exec(sshd, []string{sshd, "-D", "-e", "-f", filepath.Join(own, "sshd_config")}, os.Environ())
	return fmt.Errorf("start %s: %w", sshd, err)
}

// show binds files of a host's folder over the system's. It skips a file that either of
// them lacks.
func show(own string, files map[string]string) error {
	for file, at := range files {
		if err := bind(filepath.Join(own, file), at); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// tail keeps the end of its input. It is safe for concurrent use.
type tail struct {
	mu   sync.Mutex
	text []byte // guarded by mu
}

func (t *tail) Write(p []byte) (int, error) {
	const enough = 1 << 10
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-enough):]
	return len(p), nil
}

// String returns the end as one line.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(strings.Fields(string(t.text)), " ")
}
