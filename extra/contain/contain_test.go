package contain

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/procfs"

	"kvlab/kvs/node"
	"kvlab/metrics"
)

// TestMain lets the test binary be a containment's processes.
func TestMain(m *testing.M) {
	if status, ok := Main(); ok {
		os.Exit(status)
	}
	os.Exit(m.Run())
}

// needRoot skips a test that only root can do; where everything must be there (KVLAB_CI=1),
// that is a failure.
func needRoot(t *testing.T) {
	t.Helper()
	switch {
	case os.Geteuid() == 0:
	case os.Getenv("KVLAB_CI") == "1":
		t.Fatal("needs root, and KVLAB_CI=1 wants every test to run")
	default:
		t.Skip("needs root")
	}
}

// inCI skips an attack, unless KVLAB_CI=1 asks for every test.
func inCI(t *testing.T) {
	t.Helper()
	if os.Getenv("KVLAB_CI") != "1" {
		t.Skip("KVLAB_CI=1 runs it")
	}
}

const usual = "memory=128MB,processes=64,disk=16MB"

// contained returns a command that runs words contained.
func contained(t *testing.T, limits string, words ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, append([]string{node.ContainFlag, limits, "--"}, words...)...)
	cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "TMPDIR="+t.TempDir())
	return cmd
}

// leftovers returns what containments of contained have left in this machine's cgroups and in
// their temporary folders. Other packages' tests have containments too, at the same time.
func leftovers(cmds ...*exec.Cmd) (paths []string) {
	for _, cmd := range cmds {
		name := fmt.Sprintf("/kvlab-contain-%d", cmd.Process.Pid)
		groups, _ := filepath.Glob("/sys/fs/cgroup/*" + name)
		deeper, _ := filepath.Glob("/sys/fs/cgroup/*/*/*" + name)
		boxes, _ := filepath.Glob(filepath.Join(temporary(cmd), "kvlab-box-*"))
		paths = slices.Concat(paths, groups, deeper, boxes)
	}
	return paths
}

// temporary returns the temporary folder of a containment.
func temporary(cmd *exec.Cmd) string {
	return strings.TrimPrefix(cmd.Env[len(cmd.Env)-1], "TMPDIR=")
}

// running reports whether a process has a text in its command line.
func running(text string) bool {
	all, _ := procfs.AllProcs()
	return slices.ContainsFunc(all, func(p procfs.Proc) bool {
		words, _ := p.CmdLine()
		return strings.Contains(strings.Join(words, " "), text)
	})
}

// gone waits until something is not there.
func gone(t *testing.T, what string, there func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); there(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s is still there", what)
		}
	}
}

// What a program reads, writes and ends with is the same as without a containment.
func TestPassesThrough(t *testing.T) {
	needRoot(t)
	cmd := contained(t, usual, "sh", "-c", "cat; echo said >&2; pwd; exit 7")
	var out, said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("asked\n"), &out, &said
	err := cmd.Run()
	if cmd.ProcessState.ExitCode() != 7 || out.String() != "asked\n"+cmd.Dir+"\n" || said.String() != "said\n" {
		t.Errorf("%v, output %q, %q", err, out.String(), said.String())
	}
	killed := contained(t, usual, "sh", "-c", "kill -KILL $$")
	killed.Run()
	if status := killed.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGKILL {
		t.Errorf("a program that is killed: %v", killed.ProcessState)
	}
	if out, err := contained(t, usual, "no-such-program").CombinedOutput(); err == nil || !strings.Contains(string(out), "no-such-program") {
		t.Errorf("%s, %v", out, err)
	}
	// A program that catches a signal gets it.
	signaled := contained(t, usual, "sh", "-c", "trap 'echo caught; exit 3' TERM; echo ready; while :; do sleep 0.01; done")
	pipe, err := signaled.StdoutPipe()
	if err := errors.Join(err, signaled.Start()); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(pipe, make([]byte, len("ready\n"))); err != nil {
		t.Fatal(err)
	}
	signaled.Process.Signal(syscall.SIGTERM)
	rest, _ := io.ReadAll(pipe)
	if signaled.Wait(); string(rest) != "caught\n" || signaled.ProcessState.ExitCode() != 3 {
		t.Errorf("SIGTERM: %q, %v", rest, signaled.ProcessState)
	}
	if left := leftovers(cmd, killed, signaled); left != nil {
		t.Errorf("left over: %v", left)
	}
}

// The walls that are found here hold, but for the network, which servers share.
func TestWalls(t *testing.T) {
	needRoot(t)
	inCI(t)
	out, err := exec.Command(os.Args[0], node.ContainFlag, usual+",cores=0").CombinedOutput()
	var walls []metrics.Wall
	if err != nil || json.Unmarshal(out, &walls) != nil || len(walls) != len(probes)+3 {
		t.Fatalf("%v: %s", err, out)
	}
	for _, w := range walls {
		if !w.Held && w.Name != "network" || w.Held != (w.Why == "") {
			t.Errorf("%+v", w)
		}
	}
}

// Without walls the probes succeed, so a probe that fails has met a wall. The probe of the
// privileges would change this machine, and not every machine has a network.
func TestProbes(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, p := range probes {
		if p.wall == "privileges" || p.wall == "network" {
			continue
		}
		cmd := exec.Command("sh", "-c", p.command, "sh", secret)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Run(); err != nil { // without a pipe, whose end the sleeping processes have
			t.Errorf("%s: %v", p.wall, err)
		}
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // those; the group ends with the last of them
	}
}

// Without root a user namespace holds most walls, and Walls says which it does not.
func TestWithoutRoot(t *testing.T) {
	needRoot(t) // to become nobody
	inCI(t)
	folder := t.TempDir()
	for dir := folder; dir != os.TempDir(); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	program, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	self := filepath.Join(folder, "kvscluster")
	if err := os.WriteFile(self, program, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, node.ContainFlag, usual)
	cmd.Dir, cmd.SysProcAttr = folder, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	var walls []metrics.Wall
	if err != nil || json.Unmarshal(out, &walls) != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, w := range walls {
		// Where the kernel refuses user namespaces, fewer hold, and each has its reason.
		if w.Held != (w.Why == "") || slices.Contains([]string{"memory", "user"}, w.Name) && w.Held {
			t.Errorf("%+v", w)
		}
	}
	t.Logf("%+v", walls)
}

// Where the kernel refuses namespaces to a user without root, as in many containers, some walls
// hold still, and the others are named. A program works there, also one that is to be alone.
func TestWithoutNamespaces(t *testing.T) {
	needRoot(t) // to make such a place
	inCI(t)
	folder, err := os.MkdirTemp("/run", "kvlab-test-") // an instructor's, where the program is started; programs share /tmp there
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(folder)
	self := filepath.Join(t.TempDir(), "kvscluster")
	for dir := filepath.Dir(self); dir != os.TempDir(); dir = filepath.Dir(dir) {
		err = errors.Join(err, os.Chmod(dir, 0o755))
	}
	program, unread := os.ReadFile(os.Args[0])
	if err := errors.Join(err, unread, os.Chmod(folder, 0o777), os.WriteFile(self, program, 0o755)); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		cmd := exec.Command("sh", append([]string{"-c", `echo 0 >/proc/sys/user/max_user_namespaces && exec setpriv --reuid 61234 --regid 61234 --clear-groups "$0" "$@"`, self}, args...)...)
		all := []syscall.SysProcIDMap{{Size: 65536}}
		cmd.Dir, cmd.SysProcAttr = folder, &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, UidMappings: all, GidMappings: all, GidMappingsEnableSetgroups: true}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	var walls []metrics.Wall
	if err := json.Unmarshal([]byte(run(node.ContainFlag, usual)), &walls); err != nil {
		t.Fatal(err)
	}
	locked := false
	for _, w := range walls {
		locked = locked || w.Name == landlockWall && w.Held
		if w.Held != slices.Contains([]string{"processes", "privileges", landlockWall}, w.Name) && w.Name != landlockWall || w.Held != (w.Why == "") {
			t.Errorf("%+v", w)
		}
	}
	if said := run(node.ContainFlag, usual, "-alone", "--", "sh", "-c", "touch "+folder+"/x 2>/dev/null && echo written; pwd"); said != "/tmp\n" && locked {
		t.Errorf("%q", said)
	}
}

// A program runs on the processors of its limits alone, the first among them.
func TestCores(t *testing.T) {
	needRoot(t)
	out, err := contained(t, "cores=0", "sh", "-c", "grep Cpus_allowed_list /proc/self/status").CombinedOutput()
	if fields := strings.Fields(string(out)); err != nil || len(fields) != 2 || fields[1] != "0" {
		t.Errorf("%q, %v", out, err)
	}
}

// A node's containment announces itself first, and ends some time after its pipe.
func TestNode(t *testing.T) {
	needRoot(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	limits, err := parseLimits(usual)
	if err != nil {
		t.Fatal(err)
	}
	words := limits.Command(self, true, nil, "sh", "-c", "read line; echo $line; head -c 50000000 /dev/zero | tail -n 1 | tail -c 0; exit 1")
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Stdin = strings.NewReader("{}\n")
	out, _ := cmd.Output()
	first, rest, _ := strings.Cut(string(out), "\n")
	var event node.Event
	if err := json.Unmarshal([]byte(first), &event); err != nil || event.Event != node.Contained || event.Process == nil || event.Process.PID != cmd.Process.Pid || event.Process.StartTicks == 0 {
		t.Errorf("announced %s: %v", first, err)
	}
	rest, last, _ := strings.Cut(rest, "\n")
	if rest != "{}" || cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("then %q, %v", rest, cmd.ProcessState)
	}
	// A line of 50 MB is held by a process that the program has started.
	var end node.Event
	if err := json.Unmarshal([]byte(last), &end); err != nil || end.Event != node.Contained || end.PeakBytes < 50e6 || end.PeakBytes > 128e6 {
		t.Errorf("last %s: %v", last, err)
	}
}

// Of a folder that is covered a program sees the files, and its own among them stay inside.
func TestOver(t *testing.T) {
	needRoot(t)
	folder := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(folder, "00"), 0o755), os.WriteFile(filepath.Join(folder, "00", "a"), []byte("a\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	words := box{Limits: Limits{Disk: 16e6}, Over: []string{folder}}.command(os.Args[0], "sh", "-c", "cd "+folder+" && cat 00/a && echo b > 00/b && echo c > c && cat 00/b c; rm -f 00/a; ls 00")
	out, err := exec.Command(words[0], words[1:]...).CombinedOutput()
	if string(out) != "a\nb\nc\nb\n" || err != nil {
		t.Errorf("%q, %v", out, err)
	}
	if files, err := os.ReadDir(filepath.Join(folder, "00")); err != nil || len(files) != 1 {
		t.Errorf("outside: %v, %v", files, err)
	}
}

// A program with a network of its own reaches nothing.
func TestAlone(t *testing.T) {
	needRoot(t)
	limits, err := parseLimits(usual)
	if err != nil {
		t.Fatal(err)
	}
	network := probes[slices.IndexFunc(probes, func(p probe) bool { return p.wall == "network" })]
	broken, _, err := box{Limits: limits, Alone: true}.test(network, "")
	if broken || err != nil {
		t.Errorf("it reaches another machine: %v, %v", broken, err)
	}
}
