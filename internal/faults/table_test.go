package faults

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"

	"kvlab/metrics"
)

// kind is a kind of fault. A seed draws the moments and the victims.
type kind struct {
	row
	phases  []string       // one is drawn
	victims []metrics.Role // likewise; none if the fault strikes no node
	short   int            // the number of draws in a short test; 0: one
}

var (
	anyPhase = []string{"load", "warmup", "window"}
	anyTime  = append([]string{starting}, anyPhase...)
	before   = []string{""} // the launcher starts
	inWindow = []string{"window"}

	either = []metrics.Role{metrics.Server, metrics.Client}
	server = either[:1]
)

// kinds lists every fault with the required verdict.
func kinds() []kind {
	invalid := func(name, verdict string, strike func(*testing.T, *scene)) row {
		return row{name: name, strike: strike, verdict: `INVALID\(` + verdict + `\)`}
	}
	logs := invalid("logs' disk full", `the logs cannot be written: .*: no space left on device`, fillOut)
	logs.prepare = smallOut
	all := []kind{
		{row: invalid("node unreachable", `cannot be reached: .*, VICTIM`, off), phases: before, victims: either},
		{row: invalid("wrong key", `cannot be reached: .*Permission denied.*, VICTIM`, wrongKey), phases: before, victims: either},
		{row: invalid("sshd accepts and hangs", `cannot be reached: .*, VICTIM`, hangingSSHD), phases: before, victims: either},
		{row: invalid("login hangs", `cannot be reached: the login gets no further within 12s.*, VICTIM`, hangingLogin), phases: before, victims: either},
		{row: invalid("port in use", `10\.10\.1\.\d+:8080 is taken by process \d+ .*, VICTIM`, stranger), phases: before, victims: server},
		{row: invalid("stale server", `10\.10\.1\.\d+:8080 is taken by process \d+ \(kvsserver of root, since .*\), VICTIM`, staleServer), phases: before, victims: server},
		{row: invalid("node's disk full", `.*No space left on device.*, VICTIM`, fullNode), phases: before, victims: either},
		{row: invalid("logs' disk full at the start", `--out: only \d+ MB are free in .*`, fullOut), phases: before},
		{row: logs, phases: anyPhase},
		{row: invalid("power or network lost", `has sent nothing for .*, VICTIM`, off), phases: anyPhase, victims: either, short: 2},
		{row: invalid("SIGKILL", `.*died of .*, VICTIM`, signalled(syscall.SIGKILL)), phases: anyTime, victims: either, short: 2},
		{row: invalid("SIGSTOP", `.*, VICTIM`, signalled(syscall.SIGSTOP)), phases: anyPhase, victims: either, short: 2},
		{row: invalid("restart on the same port", `(died of|server restarted).*, VICTIM`, restarted), phases: anyPhase, victims: server},
		{row: invalid("no descriptors left", `.*too many open files.*, VICTIM`, noDescriptors), phases: anyPhase, victims: either},
		{row: invalid("no memory left", `died with exit status 2.*, VICTIM`, noMemory), phases: []string{"load"}, victims: server},
		{row: row{name: "launcher killed, hosts cut off", strike: allAlone}, phases: anyPhase},
		{row: row{name: "SIGSTOP for a while", strike: paused, verdict: "VALID", args: through, lasts: true}, phases: inWindow, victims: either},
	}
	capped := invalid("-max-memory reached", `memory is full: .*, VICTIM`, nil)
	capped.prepare, capped.args = littleMemory, small("load")
	// A reply whose segments are lost repeatedly may be late.
	loss := row{name: "packets dropped", prepare: dropPackets, verdict: `VALID|INVALID\(.*no reply within 10s.*, VICTIM\)`, args: lossy, lasts: true, proof: countsDespiteLoss}
	return append(all, kind{row: capped, phases: before, victims: server}, kind{row: loss, phases: before, victims: server})
}

// latest is the longest time in milliseconds from the beginning of a phase to a fault,
// before the next phase.
const latest = 1000

// draw returns one fault of the kind.
func (k kind) draw(random *rand.Rand) row {
	r := k.row
	r.phase = k.phases[random.IntN(len(k.phases))]
	r.after = time.Duration(random.IntN(latest)) * time.Millisecond
	if r.phase == starting {
		r.after /= 10
	}
	if len(k.victims) > 0 {
		r.victim = k.victims[random.IntN(len(k.victims))]
	}
	return r
}

func off(t *testing.T, s *scene) { s.off(t, s.victim) }

// off looks to other machines like a loss of power.
func (s *scene) off(t *testing.T, h *host) {
	h.power(t, "down")
	s.mended(func() { h.power(t, "up") })
}

// allAlone kills the launcher after it disconnects the nodes, so that they get no sign of
// it.
func allAlone(t *testing.T, s *scene) {
	s.off(t, s.server)
	s.off(t, s.client)
	s.run.Process.Kill()
}

func signalled(signal syscall.Signal) func(*testing.T, *scene) {
	return func(t *testing.T, s *scene) {
		if err := syscall.Kill(s.process(t), signal); err != nil {
			t.Fatal(err)
		}
	}
}

var identity = regexp.MustCompile(`(?m)^  IdentityFile (.*)\n`)

// wrongKey offers the victim an unknown key.
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
	config := "Host " + s.victim.name + "\n  IdentityFile " + wrong + "\nHost * !" + s.victim.name + "\n  IdentityFile " + right + "\n" +
		identity.ReplaceAllString(string(text), "")
	path := filepath.Join(dir, "config")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	s.args = append(s.args, "--ssh-config", path)
}

// hangingSSHD stops the victim's sshd: the kernel accepts connections for it.
func hangingSSHD(t *testing.T, s *scene) {
	if err := syscall.Kill(s.victim.pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	s.mended(func() {
		syscall.Kill(s.victim.pid, syscall.SIGCONT)
		// What had piled up comes before this.
		if out, err := exec.Command("ssh", "-F", s.ssh, s.victim.name, "true").CombinedOutput(); err != nil {
			t.Errorf("ssh %s: %v: %s", s.victim.name, err, out)
		}
	})
}

// hangingLogin gives root on the victim's host a silent shell.
func hangingLogin(t *testing.T, s *scene) {
	s.victim.do(t, "sh", "-c", `set -e
printf '#!/bin/sh\nexec sleep 600\n' >/tmp/mute
chmod 755 /tmp/mute
sed 's,^\(root:.*\):[^:]*$,\1:/tmp/mute,' /etc/passwd >/tmp/passwd
mount --bind /tmp/passwd /etc/passwd`)
	s.mended(func() {
		s.victim.do(t, "sh", "-c", "umount /etc/passwd && rm -f /tmp/passwd /tmp/mute")
		for _, pid := range s.victim.runs("sleep") { // with its connection gone it would still sleep on
			syscall.Kill(pid, syscall.SIGKILL)
		}
	})
}

// stranger makes another process listen on the server's port.
func stranger(t *testing.T, s *scene) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// It has the host's network and pids, and the hub's files.
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

// staleServer leaves a server of another version without a launcher.
func staleServer(t *testing.T, s *scene) {
	const folder = "/tmp/kvlab-root/0123456789abcdef"
	s.server.do(t, "mkdir", "-p", "-m", "700", folder)
	s.server.serve(t, folder+"/kvsserver")
	s.mended(func() { s.server.signal(t, "kvsserver", syscall.SIGKILL) })
}

// serve starts a copy of the server's program on the host, under another path, and waits
// until it listens on the port of a run's server.
func (h *host) serve(t *testing.T, path string) {
	program, err := os.ReadFile(filepath.Join(os.Getenv(rootVariable), "bin", "kvsserver"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/root%s", h.pid, path), program, 0o700); err != nil {
		t.Fatal(err)
	}
	h.do(t, "setsid", "-f", "sh", "-c", "exec "+path+" -listen "+h.data()+":8080 >/dev/null 2>&1 </dev/null")
	h.waitListening(t, true)
}

// waitListening waits until a process listens on the servers' port, or none does.
func (h *host) waitListening(t *testing.T, want bool) {
	t.Helper()
	listens := func() bool { return h.command("sh", "-c", "ss -ltn | grep -q :8080").Run() == nil }
	for deadline := time.Now().Add(within); listens() != want; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("somebody listens on %s: %v, want %v", h.name, !want, want)
		}
	}
}

// fullNode leaves the victim no disk space for programs.
func fullNode(t *testing.T, s *scene) {
	s.victim.do(t, "mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", "/tmp")
	s.mended(func() { s.victim.do(t, "umount", "/tmp") })
}

// fullOut puts the run's files on a full disk.
func fullOut(t *testing.T, s *scene) { s.mountOut(t, "64k") }

// smallOut puts them on a disk that passes the preflight.
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

// fillOut fills the disk.
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
