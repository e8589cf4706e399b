package node

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
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

// startChild starts a node from a program that is this test's, and waits until it has
// introduced itself.
func startChild(t *testing.T, program, name string) (c *child) {
	t.Helper()
	l, stdin, stdout := newLauncher(t)
	c = &child{launcher: l, cmd: exec.Command(program, ControlFlag, name)}
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
	c.send(t, Command{Do: Start})
	for {
		if e := c.next(t); e.Record != nil && e.Record.Config != nil {
			c.id = e.Record.Config.Process
			break
		}
	}
	if c.id.PID != c.cmd.Process.Pid {
		t.Fatalf("the node says that it is process %d, and is %d", c.id.PID, c.cmd.Process.Pid)
	}
	return c
}

// programCopy copies a program into a folder.
func programCopy(t *testing.T, program, folder, name string) string {
	t.Helper()
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(folder, name)
	if err := os.WriteFile(to, text, 0o700); err != nil {
		t.Fatal(err)
	}
	return to
}

// Reap ends nodes that work, are stopped, or whose program has been built again, and
// nothing else: no node of another folder, no program that a person has started, no
// program of another name.
func TestReap(t *testing.T) {
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip("no sleep on this machine")
	}
	folder := t.TempDir()
	server, other := programCopy(t, os.Args[0], folder, "kvsserver"), programCopy(t, os.Args[0], t.TempDir(), "kvsserver")
	working, spared := startChild(t, server, "node7"), startChild(t, other, "node7")
	client := programCopy(t, os.Args[0], folder, "kvsclient")
	stopped := startChild(t, client, "node8")
	if err := errors.Join(stopped.cmd.Process.Signal(syscall.SIGSTOP), os.Remove(client)); err != nil {
		t.Fatal(err)
	}
	typed := startProcess(t, programCopy(t, sleep, folder, "kvsclient"), "1000")
	named := startChild(t, programCopy(t, os.Args[0], folder, "other"), "node9")

	out, err := exec.Command(server, ReapFlag).CombinedOutput()
	if err != nil || strings.Count(string(out), "\n") != 2 {
		t.Fatalf("%v\n%s", err, out)
	}
	for c, name := range map[*child]string{working: "kvsserver node7", stopped: "kvsclient node8"} {
		if want := fmt.Sprintf("kvlab %d ended %s, process %d, started %d-", c.id.PID, name, c.id.PID, time.Now().Year()); !strings.Contains(string(out), want) {
			t.Errorf("output %q, want %q in it", out, want)
		}
		c.cmd.Wait()
		if status := c.cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGKILL {
			t.Errorf("the node ended with %v", c.cmd.ProcessState)
		}
	}
	for _, pid := range []int{spared.id.PID, typed, named.id.PID} {
		if id, err := Find(pid); err != nil || id.PID != pid {
			t.Errorf("process %d: %v", pid, err)
		}
	}
	if out, err := exec.Command(server, ReapFlag).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("again: %q, %v", out, err)
	}
}

// A launcher that is killed breaks both pipes at once: the node that writes to
// the one does not die of that before it has heard of the other.
func TestNodeLeavesWithTheLauncher(t *testing.T) {
	cmd := exec.Command(os.Args[0], ControlFlag)
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
	if cmd.ProcessState.ExitCode() != exitFailed {
		t.Errorf("the node ended with %v", cmd.ProcessState)
	}
}

// A signal reaches the process that is meant, and no other with its number.
func TestSignal(t *testing.T) {
	c := startChild(t, os.Args[0], "node7")
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
	for _, words := range [][]string{{signalFlag}, {signalFlag, "SIGKILL", "1"}, {signalFlag, "KILL", "1", "1"}, {signalFlag, "SIGKILL", "-1", "1"}, {signalFlag, "SIGKILL", "1", "x"}} {
		var stderr bytes.Buffer
		if status := waiter.Main(words, nil, &stderr, &stderr); status != exitUsage || strings.Count(stderr.String(), "\n") != 1 {
			t.Errorf("%q: status %d, %q", words, status, &stderr)
		}
	}
}

// What find reads is what the kernel says of a name with any bytes in it.
func TestFind(t *testing.T) {
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip("no sleep on this machine")
	}
	program := programCopy(t, sleep, t.TempDir(), "a) S (b")
	cmd := exec.Command(program, "600")
	before, err := Find(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	id, err := Find(cmd.Process.Pid)
	if err != nil || id.StartTicks < before.StartTicks || id.StartTicks > before.StartTicks+uint64(time.Hour/(10*time.Millisecond)) {
		t.Errorf("find = %+v, %v; this process is %+v", id, err, before)
	}
	cmd.Process.Kill()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline) && id.PID != 0; time.Sleep(time.Millisecond) {
		id, err = Find(cmd.Process.Pid)
	}
	if id.PID != 0 || err != nil {
		t.Errorf("a zombie: %v, %v, want none", id, err)
	}
	cmd.Wait()
	if id, err := Find(cmd.Process.Pid); id.PID != 0 || err != nil {
		t.Errorf("an ended process: %v, %v", id, err)
	}
}
