package virtual

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"kvlab/internal/cgroup"
	"kvlab/internal/namespace"
)

// inCI skips a test that takes long, or that needs root, a daemon or a cluster, unless
// KVLAB_CI=1 asks for every test.
func inCI(t *testing.T) {
	t.Helper()
	if os.Getenv("KVLAB_CI") != "1" {
		t.Skip("KVLAB_CI=1 runs it")
	}
}

// process is a test binary that has been told to enter a lab.
type process struct {
	*exec.Cmd
	mark   string // in its environment and that of every process that it starts
	stdout io.ReadCloser
	stderr bytes.Buffer
}

func enter(t *testing.T, hosts int, bitsPerS uint64) *process {
	t.Helper()
	inCI(t)
	if os.Geteuid() != 0 {
		t.Fatal("a lab needs root")
	}
	if err := need(tools); err != nil {
		t.Fatal(err)
	}
	p := &process{
		Cmd:  exec.Command(namespace.Self, fmt.Sprint(hosts), fmt.Sprint(bitsPerS)),
		mark: fmt.Sprintf("%s=%s-%d", enterVariable, t.Name(), time.Now().UnixNano()),
	}
	p.Env = append(os.Environ(), p.mark)
	p.Stderr = &p.stderr
	var err error
	if p.stdout, err = p.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p.ProcessState == nil {
			p.Process.Kill()
			p.Wait()
		}
		p.checkGone(t, nil)
	})
	return p
}

// up waits until the lab is up.
func (p *process) up(t *testing.T) facts {
	t.Helper()
	var f facts
	if err := json.NewDecoder(p.stdout).Decode(&f); err != nil {
		p.Wait()
		t.Fatalf("the lab does not come up: %v\n%s", err, p.stderr.String())
	}
	return f
}

// namespaces returns the pid namespaces of the process's descendants.
func (p *process) namespaces(t *testing.T) []string {
	t.Helper()
	children := make(map[string][]string) // by parent
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, stat := range stats {
		text, _ := os.ReadFile(stat) // PID (NAME) STATE PARENT ..., proc_pid_stat(5)
		if _, rest, ok := strings.Cut(string(text), ") "); ok {
			parent := strings.Fields(rest)[1]
			children[parent] = append(children[parent], filepath.Base(filepath.Dir(stat)))
		}
	}
	own, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for next := children[fmt.Sprint(p.Process.Pid)]; len(next) > 0; next = next[1:] {
		next = append(next, children[next[0]]...)
		namespace, err := os.Readlink("/proc/" + next[0] + "/ns/pid")
		if err == nil && namespace != own && !slices.Contains(found, namespace) {
			found = append(found, namespace)
		}
	}
	return found
}

// left lists the processes of the lab: those in its pid namespaces, and all
// that have inherited the mark.
func (p *process) left(namespaces []string) (links []string) {
	all, _ := filepath.Glob("/proc/[0-9]*/ns/pid")
	for _, link := range all {
		namespace, _ := os.Readlink(link)
		environ, _ := os.ReadFile(filepath.Join(link, "../../environ"))
		if slices.Contains(namespaces, namespace) || bytes.Contains(environ, []byte(p.mark+"\x00")) {
			links = append(links, link)
		}
	}
	return links
}

// checkGone polls until no process and no cgroup of the lab is left.
func (p *process) checkGone(t *testing.T, namespaces []string) {
	t.Helper()
	var left []string
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if left = append(p.left(namespaces), groups(namespaces)...); len(left) == 0 {
			return
		}
	}
	t.Errorf("left behind: %q", left)
}

// groups lists the cgroups of labs by the number of a pid namespace, where
// there is a controller.
func groups(namespaces []string) (all []string) {
	c, err := cgroup.Find("cpu")
	if err != nil {
		return nil
	}
	for _, namespace := range namespaces {
		found, _ := filepath.Glob(filepath.Join(c.Folder, "kvlab-lab-"+strings.Trim(namespace, "pid:[]")))
		all = append(all, found...)
	}
	return all
}

// surroundings returns what a lab must leave as it was: this machine's mounts,
// interfaces, root's ssh folder, and the places where a lab has files.
func surroundings(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		for _, place := range []string{"/run", "/var", "/usr/local/etc", "/tmp", "/etc/", "/proc", "/sys "} {
			if at := strings.Fields(line)[4]; at == strings.TrimSpace(place) || strings.HasPrefix(at, place) {
				b.WriteString(line)
			}
		}
	}
	links, err := os.ReadDir("/sys/class/net")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		if strings.HasPrefix(link.Name(), "control") || strings.HasPrefix(link.Name(), "data") {
			fmt.Fprintln(&b, "interface", link.Name())
		}
	}
	home, _ := os.UserHomeDir()
	for _, place := range []string{filepath.Join(home, ".ssh"), "/run", "/var", "/usr/local/etc", folder} {
		entries, err := os.ReadDir(place)
		fmt.Fprintln(&b, place, err != nil)
		for _, entry := range entries {
			if place == "/run" && (entry.Name() == "sshd" || strings.HasPrefix(entry.Name(), "kvlab-test-")) {
				continue // of this machine's own sshd, or of another package's test
			}
			fmt.Fprintln(&b, " ", entry.Name())
		}
	}
	return b.String()
}

func TestLab(t *testing.T) {
	before := surroundings(t)
	p := enter(t, 3, 100_000_000)
	f := p.up(t)
	for i, got := range f.Hosts {
		want := fmt.Sprintf("node%d\nnode%d\neth0\n", i, i) + // names, controlif
			"2\nsshd\n" + // no files in /tmp and home, but two headings; process 1
			"eth0\neth1\nlo\n" +
			fmt.Sprintf("lo 127.0.0.1/8\neth0 172.16.0.%d/24\neth1 10.10.1.%d/24\n", i+1, i+1) +
			"eth1 rate 100Mbit burst 256Kb lat\n3\n2\n100\n" // names in /etc/hosts, peers, Mb/s
		if _, err := os.Stat("/proc/self/timens_offsets"); err == nil {
			want += fmt.Sprintf("%d\n", 1000*(i+1)) // seconds of its clock
		}
		if got != want {
			t.Errorf("node%d: %q, want %q", i, got, want)
		}
	}
	if !f.Reaped {
		t.Error("an orphan is not reaped")
	}
	if _, err := cgroup.Find("cpu"); f.Lab.CPUShares != (err == nil) {
		t.Errorf("CPU shares %v, controller %v", f.Lab.CPUShares, err)
	}
	// The bucket of each of the two links on the way is full at first.
	for _, flow := range f.Flows {
		if most := flow.Seconds*100e6/8 + 2*256<<10; flow.Bytes != 4<<20 || float64(flow.Bytes) > most {
			t.Errorf("%d bytes in %.3f s, more than the %.0f that the links let pass", flow.Bytes, flow.Seconds, most)
		}
	}
	namespaces := p.namespaces(t)
	if len(namespaces) != 4 {
		t.Errorf("pid namespaces %q, want the lab's and three hosts'", namespaces)
	}
	kill(t, p.Cmd, syscall.SIGINT)
	if p.Wait(); p.ProcessState.ExitCode() != 42 {
		t.Errorf("exit status %d, want the program's 42: %s", p.ProcessState.ExitCode(), p.stderr.String())
	}
	if left := append(p.left(namespaces), groups(namespaces)...); len(left) > 0 {
		t.Errorf("after an orderly end there are %q", left)
	}
	if after := surroundings(t); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

// Whenever the first process is killed, nothing stays: neither while the lab
// comes up nor when it is up.
func TestKilled(t *testing.T) {
	before := surroundings(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for i := range 8 {
		p := enter(t, 2, 0)
		if i == 0 {
			p.up(t)
		} else {
			time.Sleep(time.Duration(random.Int64N(int64(700 * time.Millisecond))))
		}
		namespaces := p.namespaces(t)
		kill(t, p.Cmd, syscall.SIGKILL)
		p.Wait()
		p.checkGone(t, namespaces)
	}
	if after := surroundings(t); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

// Two labs have the same addresses and names and know nothing of each other.
func TestTwoLabs(t *testing.T) {
	first, second := enter(t, 2, 0), enter(t, 2, 1_000_000_000)
	f, g := first.up(t), second.up(t)
	if f.Lab.LinkBitsPerS != 0 || strings.Contains(f.Hosts[0], "rate") || !strings.Contains(g.Hosts[0], "rate 1Gbit") {
		t.Errorf("hosts %q and %q", f.Hosts[0], g.Hosts[0])
	}
	kill(t, first.Cmd, syscall.SIGKILL)
	first.Wait()
	kill(t, second.Cmd, syscall.SIGINT)
	if second.Wait(); second.ProcessState.ExitCode() != 42 {
		t.Errorf("exit status %d, want the program's 42: %s", second.ProcessState.ExitCode(), second.stderr.String())
	}
}

// A lab that loses its init ends with words.
func TestBrokenLab(t *testing.T) {
	p := enter(t, 2, 0)
	p.up(t)
	init := p.namespaces(t)[0]
	for _, link := range p.left([]string{init}) {
		if name, _ := os.ReadFile(filepath.Join(link, "../../cmdline")); bytes.HasPrefix(name, []byte(initName+"\x00")) {
			var pid int
			fmt.Sscanf(link, "/proc/%d", &pid)
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	p.Wait()
	if p.ProcessState.ExitCode() != 2 || !strings.Contains(p.stderr.String(), "ended: signal: killed") {
		t.Errorf("exit status %d, %q", p.ProcessState.ExitCode(), p.stderr.String())
	}
}

func TestNotRoot(t *testing.T) {
	cmd := exec.Command(namespace.Self, "2", "0")
	cmd.Env = append(os.Environ(), enterVariable+"=not-root")
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), "needs root: type sudo ./run-cluster.sh") || strings.Count(string(out), "\n") != 1 {
		t.Errorf("%v, %q", err, out)
	}
}

func TestNeed(t *testing.T) {
	t.Setenv("PATH", "")
	err := need([]tool{{"no-such-program", "some-package"}})
	if err == nil || err.Error() != "--virtual needs no-such-program: type apt-get install some-package" {
		t.Error(err)
	}
}

// kill sends a signal.
func kill(t *testing.T, cmd *exec.Cmd, s syscall.Signal) {
	t.Helper()
	if err := cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}
