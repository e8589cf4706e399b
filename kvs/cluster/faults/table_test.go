package faults

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// table is every fault, and the verdict that it must come to.
func table() []row {
	return []row{
		{name: "node unreachable", strike: clientOff, status: 1,
			verdict: `INVALID\(cannot be reached: .*, CLIENT\)`},
		{name: "wrong key", strike: wrongKey, status: 1,
			verdict: `INVALID\(cannot be reached: .*Permission denied.*, CLIENT\)`},
		{name: "sshd accepts and hangs", strike: hangingSSHD, status: 1,
			verdict: `INVALID\(cannot be reached: .*, CLIENT\)`},
		{name: "port in use", strike: stranger, status: 1,
			verdict: `INVALID\(10\.10\.1\.\d+:8080 is taken by process \d+ .*, SERVER\)`},
		{name: "stale server", strike: staleServer, status: 1,
			verdict: `INVALID\(10\.10\.1\.\d+:8080 is taken by process \d+ \(kvsserver of root, since .*\), SERVER\)`},
		{name: "node's disk full", strike: fullNode, status: 1,
			verdict: `INVALID\(.*No space left on device.*, SERVER\)`},
		{name: "logs' disk full at the start", strike: fullOut, status: 1,
			verdict: `INVALID\(--out: only \d+ MB are free in .*\)`},
		{name: "logs' disk full in the window", prepare: smallOut, phase: "window", strike: fillOut, status: 1,
			verdict: `INVALID\(the logs cannot be written: .*: no space left on device\)`},
		{name: "server off in the load", phase: "load", strike: serverOff, status: 1,
			verdict: `INVALID\(has sent nothing for .*, SERVER\)`},
		{name: "client off in the warm-up", phase: "warmup", strike: clientOff, status: 1,
			verdict: `INVALID\(has sent nothing for .*, CLIENT\)`},
		{name: "server off in the window", phase: "window", strike: serverOff, status: 1,
			verdict: `INVALID\(has sent nothing for .*, SERVER\)`},
		{name: "client off in the window", phase: "window", strike: clientOff, status: 1,
			verdict: `INVALID\(has sent nothing for .*, CLIENT\)`},
		{name: "client killed", phase: "window", strike: clientSignal(syscall.SIGKILL), status: 1,
			verdict: `INVALID\(died of .*, CLIENT\)`},
		{name: "server killed", phase: "window", strike: serverSignal(syscall.SIGKILL), status: 1,
			verdict: `INVALID\(died of .*, SERVER\)`},
		{name: "launcher killed, hosts cut off", phase: "window", strike: allAlone, status: -1},
		{name: "server stopped", phase: "window", strike: serverSignal(syscall.SIGSTOP), status: 1,
			verdict: `INVALID\(.*, SERVER\)`},
		{name: "client stopped", phase: "window", strike: clientSignal(syscall.SIGSTOP), status: 1,
			verdict: `INVALID\(has sent nothing for .*, CLIENT\)`},
	}
}

func serverOff(t *testing.T, s *scene) { s.off(t, s.server) }
func clientOff(t *testing.T, s *scene) { s.off(t, s.client) }

// off is a machine that loses its power, as far as anybody else can tell.
func (s *scene) off(t *testing.T, h *host) {
	h.power(t, "down")
	s.mended(func() { h.power(t, "up") })
}

// allAlone leaves the nodes without a launcher, and without a sign of that.
func allAlone(t *testing.T, s *scene) {
	serverOff(t, s)
	clientOff(t, s)
	s.run.Process.Kill()
}

func serverSignal(signal syscall.Signal) func(*testing.T, *scene) {
	return func(t *testing.T, s *scene) { s.server.signal(t, "kvsserver", signal) }
}

func clientSignal(signal syscall.Signal) func(*testing.T, *scene) {
	return func(t *testing.T, s *scene) { s.client.signal(t, "kvsclient", signal) }
}

var identity = regexp.MustCompile(`(?m)^  IdentityFile (.*)\n`)

// wrongKey offers the client's host a key that it does not know.
func wrongKey(t *testing.T, s *scene) {
	dir := t.TempDir()
	wrong := filepath.Join(dir, "wrong")
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", wrong).CombinedOutput(); err != nil {
		t.Fatalf("ssh-keygen: %v: %s", err, out)
	}
	text, err := os.ReadFile(s.ssh)
	if err != nil {
		t.Fatal(err)
	}
	right := identity.FindStringSubmatch(string(text))[1]
	config := "Host " + s.client.name + "\n  IdentityFile " + wrong + "\nHost " + s.server.name + "\n  IdentityFile " + right + "\n" +
		identity.ReplaceAllString(string(text), "")
	path := filepath.Join(dir, "config")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	s.args = append(s.args, "--ssh-config", path)
}

// hangingSSHD stops the client's sshd: the kernel accepts connections for it.
func hangingSSHD(t *testing.T, s *scene) {
	if err := syscall.Kill(s.client.pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	s.mended(func() {
		syscall.Kill(s.client.pid, syscall.SIGCONT)
		// What had piled up comes before this.
		if out, err := exec.Command("ssh", "-F", s.ssh, s.client.name, "true").CombinedOutput(); err != nil {
			t.Errorf("ssh %s: %v: %s", s.client.name, err, out)
		}
	})
}

// stranger has somebody else listen where the server is to listen.
func stranger(t *testing.T, s *scene) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// With the host's network and process numbers, and the hub's files.
	cmd := exec.Command("nsenter", "-t", strconv.Itoa(s.server.pid), "-n", "-p", "--", self)
	cmd.Env = append(os.Environ(), listenVariable+"="+s.server.data()+":8080")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.mended(func() {
		stdin.Close()
		cmd.Wait()
	})
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != listening {
		t.Fatalf("the stranger says %q, %v", line, err)
	}
}

// staleServer leaves a server of another version that nobody leads.
func staleServer(t *testing.T, s *scene) {
	const folder = "/tmp/kvlab-root/0123456789abcdef"
	program, err := os.ReadFile(filepath.Join(os.Getenv(rootVariable), "bin", "kvsserver"))
	if err != nil {
		t.Fatal(err)
	}
	s.server.do(t, "mkdir", "-p", "-m", "700", folder)
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/root%s/kvsserver", s.server.pid, folder), program, 0o700); err != nil {
		t.Fatal(err)
	}
	s.server.do(t, "setsid", "-f", "sh", "-c", "exec "+folder+"/kvsserver -listen "+s.server.data()+":8080 >/dev/null 2>&1 </dev/null")
	s.mended(func() { s.server.signal(t, "kvsserver", syscall.SIGKILL) })
	for deadline := time.Now().Add(within); s.server.command("sh", "-c", "ss -ltn | grep -q :8080").Run() != nil; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the stale server does not listen")
		}
	}
}

// fullNode leaves the server's host no room for programs.
func fullNode(t *testing.T, s *scene) {
	s.server.do(t, "mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", "/tmp")
	s.mended(func() { s.server.do(t, "umount", "/tmp") })
}

// fullOut gives the run's files a disk that has no room.
func fullOut(t *testing.T, s *scene) { s.mountOut(t, "64k") }

// smallOut gives them one that the preflight finds large enough.
func smallOut(t *testing.T, s *scene) { s.mountOut(t, "120m") }

func (s *scene) mountOut(t *testing.T, size string) {
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size="+size, "tmpfs", s.out).CombinedOutput(); err != nil {
		t.Fatalf("mount: %v: %s", err, out)
	}
	s.mended(func() {
		if out, err := exec.Command("umount", s.out).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
}

// fillOut takes what room is left.
func fillOut(t *testing.T, s *scene) {
	file, err := os.Create(filepath.Join(s.out, "ballast"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for block := make([]byte, 1<<20); err == nil; {
		_, err = file.Write(block)
	}
	for err = nil; err == nil; { // what is less than a block
		_, err = file.Write([]byte{0})
	}
}
