package node

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"kvlab/metrics"
)

// Started with -control the test binary is a node that introduces itself and
// waits for its stop; with -reap and -signal it does what they say.
func TestMain(m *testing.M) {
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	if len(os.Args) > 1 && (os.Args[1] == "-control" || os.Args[1] == ReapFlag || os.Args[1] == signalFlag) {
		os.Exit(waiter.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

var waiter = Program{Name: "waiter", Role: metrics.Server, Parse: func(args []string) (*Flags, Work, error) {
	flags := NewFlags("waiter")
	flags.String("node", "node7", "its name")
	err := flags.Parse(args, nil)
	return flags, func(ctx context.Context, node *Node, _ string) error {
		if _, err := node.ReportConfig(metrics.AllCapabilities); err != nil {
			return err
		}
		_, err := node.Await(ctx, Stop)
		return err
	}, err
}}

// child is a node in a separate process, and its launcher.
type child struct {
	*launcher
	cmd *exec.Cmd
	id  metrics.ProcessID
}

// startChild starts a node and waits until it has introduced itself. Its pid
// file lies in the folder.
func startChild(t *testing.T, start Command) (c *child, folder string) {
	t.Helper()
	folder = filepath.Join(os.TempDir(), "kvlab-"+strconv.Itoa(os.Geteuid()))
	l, stdin, stdout := newLauncher(t)
	c = &child{launcher: l, cmd: exec.Command(os.Args[0], "-control")}
	c.cmd.Stdout = stdout
	commands, err := c.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		io.Copy(commands, stdin)
		commands.Close()
	}()
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.cmd.Process.Kill() })
	c.send(t, start)
	for {
		if e := c.next(t); e.Record != nil && e.Record.Config != nil {
			c.id = e.Record.Config.Process
			break
		}
	}
	if c.id.PID != c.cmd.Process.Pid {
		t.Fatalf("the node says that it is process %d, and is %d", c.id.PID, c.cmd.Process.Pid)
	}
	return c, folder
}

// pidFiles are the names of the files in the folder.
func pidFiles(t *testing.T, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// Reap ends nodes that work and nodes that are stopped, and nothing else.
func TestReap(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	working, folder := startChild(t, Command{Do: Start})
	stopped, _ := startChild(t, Command{Do: Start})
	if err := stopped.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o700 || len(pidFiles(t, folder)) != 2 {
		t.Fatalf("folder %v, %v, files %q", info, err, pidFiles(t, folder))
	}

	out, err := exec.Command(os.Args[0], ReapFlag).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, c := range []*child{working, stopped} {
		if want := "waiter node7, process " + strconv.Itoa(c.id.PID) + ", started "; !strings.Contains(string(out), want) {
			t.Errorf("output %q, want %q in it", out, want)
		}
		c.cmd.Wait()
		if status := c.cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGKILL {
			t.Errorf("the node ended with %v", c.cmd.ProcessState)
		}
	}
	if left := pidFiles(t, folder); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}

// A process that only has the number of one of ours is left alone, and the pid
// file is removed.
func TestReapSparesStrangers(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	c, folder := startChild(t, Command{Do: Start})
	path := pidFiles(t, folder)[0]
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		change func(*pidFile)
	}{
		{"started later", func(f *pidFile) { f.StartTicks++ }},
		{"before the machine started", func(f *pidFile) { f.Boot = "another" }},
	} {
		var f pidFile
		if err := json.Unmarshal(text, &f); err != nil {
			t.Fatal(err)
		}
		test.change(&f)
		changed, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		ended, err := Reap()
		if len(ended) > 0 || err != nil || len(pidFiles(t, folder)) > 0 {
			t.Errorf("%s: ended %q, %v, files %q", test.name, ended, err, pidFiles(t, folder))
		}
		if now, err := find(c.id.PID); err != nil || now != c.id {
			t.Fatalf("%s: the process is gone", test.name)
		}
	}
}

// A node that leaves removes its pid file, whatever it leaves for.
func TestPidFileGoesWithTheNode(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for _, leave := range []func(c *child){
		func(c *child) { c.send(t, Command{Do: Stop}) },
		func(c *child) { c.commands.Close() },
		func(c *child) { c.cmd.Process.Signal(syscall.SIGTERM) },
	} {
		c, folder := startChild(t, Command{Do: Start})
		if len(pidFiles(t, folder)) != 1 {
			t.Errorf("files %q, want one", pidFiles(t, folder))
		}
		leave(c)
		c.cmd.Process.Wait()
		if left := pidFiles(t, folder); len(left) > 0 {
			t.Errorf("%q are left", left)
		}
	}
}

// One that was killed leaves it to the launcher, who hears of it.
func TestPidFileOfAKilledNode(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	other, _ := startChild(t, Command{Do: Start})
	c, folder := startChild(t, Command{Do: Start})
	c.cmd.Process.Kill()
	c.cmd.Wait()
	if len(pidFiles(t, folder)) != 2 {
		t.Errorf("files %q, want two", pidFiles(t, folder))
	}
	if err := Signal(c.id, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	want := fmt.Sprintf("waiter-%d.pid", other.id.PID)
	if left := pidFiles(t, folder); len(left) != 1 || filepath.Base(left[0]) != want {
		t.Errorf("%q are left, want %s", left, want)
	}
}

// A launcher that is killed breaks both pipes at once: the node that writes to
// the one does not die of that before it has heard of the other.
func TestPidFileGoesWithTheLauncher(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	cmd := exec.Command(os.Args[0], "-control")
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
	t.Cleanup(func() { cmd.Process.Kill() })
	fmt.Fprintln(stdin, `{"do":"start"}`)
	for lines := bufio.NewScanner(stdout); lines.Scan() && !strings.Contains(lines.Text(), `"config"`); {
	}
	stdout.Close()
	fmt.Fprintln(stdin, `{"do":"dump"}`) // it writes much
	stdin.Close()
	cmd.Wait()
	folder, err := pidFolder()
	if left := pidFiles(t, folder); err != nil || len(left) > 0 || cmd.ProcessState.ExitCode() != exitFailed {
		t.Errorf("%q are left, %v; the node ended with %v", left, err, cmd.ProcessState)
	}
}

// Reap looks into no folder that others can write to.
func TestReapWantsItsOwnFolder(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	if ended, err := Reap(); err != nil || len(ended) > 0 {
		t.Errorf("no folder: %q, %v", ended, err)
	}
	folder, err := pidFolder()
	if err := errors.Join(err, os.Mkdir(folder, 0o700), os.Chmod(folder, 0o777)); err != nil {
		t.Fatal(err)
	}
	if _, err := Reap(); err == nil || !strings.Contains(err.Error(), "is not a folder that only this user can write to") {
		t.Errorf("error %v", err)
	}
}

// A signal reaches the process that is meant, and no other with its number.
func TestSignal(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	c, _ := startChild(t, Command{Do: Start})
	other := c.id
	other.StartTicks--
	for _, words := range [][]string{SignalWords(other, syscall.SIGKILL), SignalWords(c.id, syscall.SIGQUIT)} {
		if out, err := exec.Command(os.Args[0], words...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", words, err, out)
		}
	}
	c.cmd.Wait()
	if status := c.cmd.ProcessState.ExitCode(); status != 2 { // the Go runtime's after SIGQUIT
		t.Errorf("the node ended with %v", c.cmd.ProcessState)
	}
	if err := Signal(c.id, syscall.SIGKILL); err != nil {
		t.Errorf("a process that has ended: %v", err)
	}
	for _, words := range [][]string{{signalFlag}, {signalFlag, "KILL", "1"}, {signalFlag, "HUP", "1", "1"}, {signalFlag, "KILL", "-1", "1"}, {signalFlag, "KILL", "1", "x"}} {
		var stderr bytes.Buffer
		if status := waiter.Main(words, nil, &stderr, &stderr); status != exitUsage || strings.Count(stderr.String(), "\n") != 1 {
			t.Errorf("%q: status %d, %q", words, status, &stderr)
		}
	}
}

// What find reads is what the kernel says of a name with any bytes in it.
func TestFind(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "a) S (b")
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip("no sleep on this machine")
	}
	text, err := os.ReadFile(sleep)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, text, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "600")
	before, err := self()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	id, err := find(cmd.Process.Pid)
	if err != nil || id.StartTicks < before.StartTicks || id.StartTicks > before.StartTicks+uint64(time.Hour/(10*time.Millisecond)) {
		t.Errorf("find = %+v, %v; this process is %+v", id, err, before)
	}
	cmd.Process.Kill()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline) && !errors.Is(err, errNoProcess); time.Sleep(time.Millisecond) {
		_, err = find(cmd.Process.Pid)
	}
	if !errors.Is(err, errNoProcess) {
		t.Errorf("a zombie: %v, want errNoProcess", err)
	}
	cmd.Wait()
	if _, err := find(cmd.Process.Pid); !errors.Is(err, errNoProcess) {
		t.Errorf("an ended process: %v", err)
	}
}
