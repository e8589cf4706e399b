package remote

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"kvlab/kvs/cluster/nodes"
	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/node"
	"kvlab/metrics"
)

// script writes an executable shell script.
func script(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	syscall.ForkLock.RLock() // a process that starts meanwhile would hold the file open, and it could not be executed
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// The fakes skip their options as ssh and srun do. sshd has a login shell run the
// words, and dies of a command's signal with the shell's status; srun runs them
// itself.
const (
	fakeSSH = `
while [ $# -gt 2 ] && [ "$1" != -- ]; do
	case $1 in -o|-F|-p) shift ;; -T|-x|-a) ;; *) break ;; esac
	shift
done
[ "$1" = -- ] && shift
shift
sh -c "$*"
exit $?
`
	fakeSrun = `
while :; do
	case $1 in -w) shift ;; -*) ;; *) break ;; esac
	shift
done
"$@"
exit $?
`
)

// wayTest is one way with a node that it reaches.
type wayTest struct {
	name string
	way  Way
	node nodes.Node
	path string // of the folder with its fake
}

// everyWay returns the ways over fakes that run everything here.
func everyWay(t *testing.T) []wayTest {
	t.Helper()
	fakeSSH, fakeSrun := script(t, "ssh", fakeSSH), script(t, "srun", fakeSrun)
	ways := Programs{SSH: fakeSSH, Srun: fakeSrun}.ways()
	return []wayTest{
		{"local", ways[nodes.Local], nodes.Node{Name: "node0"}, "/"},
		{"ssh", ways[nodes.SSH], nodes.Node{Name: "node0", Way: nodes.Way{Kind: nodes.SSH, To: "me@host", Port: "2222"}}, filepath.Dir(fakeSSH)},
		{"srun", ways[nodes.Srun], nodes.Node{Name: "node0", Way: nodes.Way{Kind: nodes.Srun, To: "12"}}, filepath.Dir(fakeSrun)},
	}
}

// TestWays holds what every Way must do.
func TestWays(t *testing.T) {
	for _, w := range everyWay(t) {
		run := func(ctx context.Context, script string) (stdout, stderr string, state *os.ProcessState, err error) {
			var out, said bytes.Buffer
			cmd := w.way.Command(ctx, w.node, "sh", "-s")
			cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = strings.NewReader(script), &out, &said, time.Second
			err = cmd.Run()
			return out.String(), said.String(), cmd.ProcessState, err
		}
		t.Run(w.name, func(t *testing.T) {
			if out, said, _, err := run(t.Context(), "echo out; echo said >&2"); out != "out\n" || said != "said\n" || err != nil {
				t.Errorf("a command says %q and %q, %v", out, said, err)
			}
			_, said, state, err := run(t.Context(), "echo 'first' >&2; echo 'no such thing' >&2; exit 3")
			if got := failure(w.way, err, said); got == nil || got.Error() != "no such thing" {
				t.Errorf("failure = %v, want the command's last word", got)
			}
			if got := w.way.Death(state.Sys().(syscall.WaitStatus), nil); got != "died with exit status 3" {
				t.Errorf("Death = %q after exit 3", got)
			}
			_, _, _, err = run(t.Context(), "exit 7")
			if got := failure(w.way, err, ""); !errors.Is(got, err) {
				t.Errorf("failure = %v of a command that says nothing, want %v", got, err)
			}
			_, _, state, _ = run(t.Context(), "kill -9 $$")
			if got := w.way.Death(state.Sys().(syscall.WaitStatus), nil); got != "died of signal 9 (killed)" {
				t.Errorf("Death = %q after SIGKILL", got)
			}
			typed := exec.Command("sh", "-c", w.way.Typed(w.node, "echo typed"))
			typed.Env = append(os.Environ(), "PATH="+w.path+":"+os.Getenv("PATH"))
			if out, err := typed.CombinedOutput(); string(out) != "typed\n" || err != nil {
				t.Errorf("%s says %q, %v", w.way.Typed(w.node, "echo typed"), out, err)
			}
			testWayEnds(t, w)
		})
	}
}

// testWayEnds: the end of the context ends the Command, which leads its own
// process group.
func testWayEnds(t *testing.T, w wayTest) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cmd := w.way.Command(ctx, w.node, "cat")
	cmd.WaitDelay = time.Second
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if group, err := syscall.Getpgid(cmd.Process.Pid); group != cmd.Process.Pid || err != nil {
		t.Errorf("the command is in process group %d, %v, want its own", group, err)
	}
	cancel()
	if err := cmd.Wait(); err == nil {
		t.Error("a command ends well although its context has ended")
	}
}

// TestDeployElsewhere: a program is not copied to a machine that cannot run it.
func TestDeployElsewhere(t *testing.T) {
	for _, w := range everyWay(t)[1:] {
		programs := plan.Programs{metrics.Server: script(t, "kvsserver", "")}
		r := &Runner{ways: map[nodes.Kind]Way{w.node.Way.Kind: w.way}, programs: programs, sums: programs.Sums, system: "Plan9 mips", login: loginTimeout}
		user := "test-" + filepath.Base(filepath.Dir(t.TempDir()))
		t.Cleanup(func() { os.RemoveAll("/tmp/kvlab-" + user) })
		t.Setenv("PATH", filepath.Dir(script(t, "id", "echo "+user))+":"+os.Getenv("PATH"))
		err := r.Deploy(t.Context(), []plan.Place{{Node: w.node, Name: "node0", Role: metrics.Server}})
		if err == nil || !strings.Contains(err.Error(), `node0: is a "Linux`) || !strings.Contains(err.Error(), `built for "Plan9 mips"`) {
			t.Errorf("%s: error %v", w.name, err)
		}
	}
}

// TestDeployTrace: the trace of a client's -replay is copied to its node, once, and a copy that
// differs is replaced. On this machine it stays where it is.
func TestDeployTrace(t *testing.T) {
	trace := filepath.Join(t.TempDir(), "t.kvt")
	if err := os.WriteFile(trace, []byte("kvlab trace"), 0o600); err != nil {
		t.Fatal(err)
	}
	user := "test-" + filepath.Base(filepath.Dir(t.TempDir()))
	t.Cleanup(func() { os.RemoveAll("/tmp/kvlab-" + user) })
	t.Setenv("PATH", filepath.Dir(script(t, "id", "echo "+user))+":"+os.Getenv("PATH"))
	for _, w := range everyWay(t) {
		r := New(Programs{}, plan.Programs{metrics.Client: script(t, "kvsclient", ""), metrics.Server: script(t, "kvsserver", ""), plan.Trace: trace})
		r.ways = map[nodes.Kind]Way{w.node.Way.Kind: w.way}
		places := []plan.Place{{Node: w.node, Name: "node0", Role: metrics.Server}, {Node: w.node, Name: "node0", Role: metrics.Client}}
		read := func() (path string, info os.FileInfo) {
			err := r.Deploy(t.Context(), places)
			path = r.Trace(places[1])
			text, unread := os.ReadFile(path)
			info, unseen := os.Stat(path)
			if err != nil || unread != nil || unseen != nil || string(text) != "kvlab trace" || r.Trace(places[0]) != "" {
				t.Fatalf("%s: %v; %s holds %q, %v", w.name, err, path, text, cmp.Or(unread, unseen))
			}
			return path, info
		}
		path, first := read()
		if local := w.node.Way.Kind == nodes.Local; (path == trace) != local {
			t.Errorf("%s: the trace is read at %s", w.name, path)
		} else if local {
			continue
		}
		if _, again := read(); !os.SameFile(first, again) || first.ModTime() != again.ModTime() {
			t.Errorf("%s: it is copied twice", w.name)
		}
		if err := cmp.Or(os.Chmod(path, 0o755), os.WriteFile(path, []byte("another"), 0o755)); err != nil {
			t.Fatal(err)
		}
		read()
	}
}

// A node that lets ssh in and then says nothing cannot be reached, and what its
// login said until then is told. One that has spoken has more time. On a busy machine
// one may not speak in time: then another login has more.
func TestLoginThatHangs(t *testing.T) {
	program := script(t, "kvsserver", "exit 0")
	for name, tt := range map[string]struct{ node, want string }{
		"mute":  {"echo 'quota: no answer from the file server' >&2; exec sleep 60", "cannot be reached: the login gets no further within LIMIT: quota: no answer from the file server"},
		"spoke": {"echo kvlab begun; sleep LIMIT; sleep 0.5", "copy kvsserver: no answer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for limit, told := time.Second, false; !told; limit *= 5 {
				in := strings.NewReplacer("LIMIT", limit.String())
				r := New(Programs{SSH: script(t, "ssh", in.Replace(tt.node))}, plan.Programs{metrics.Server: program})
				r.login = limit
				begun := time.Now()
				err := r.Deploy(t.Context(), []plan.Place{{Name: "node0", Role: metrics.Server, Node: nodes.Node{Name: "node0", Way: nodes.Way{Kind: nodes.SSH, To: "node0"}}}})
				told = err != nil && strings.Contains(err.Error(), in.Replace(tt.want))
				if err == nil || time.Since(begun) > 50*time.Second || !told && limit > 20*time.Second {
					t.Fatalf("%v after %v, want %q", err, time.Since(begun), in.Replace(tt.want))
				}
			}
		})
	}
}

// A connection that a busy sshd refuses at its start is made again; one that it refuses for
// another reason is not.
func TestRefusedLogins(t *testing.T) {
	for _, test := range []struct {
		says string
		want int // connections
	}{
		{"kex_exchange_identification: Connection closed by remote host", 3},
		{"Connection reset by 10.0.0.1 port 22", 3},
		{"Not allowed at this time", 3},
		{"me@node1: Permission denied (publickey).", 1},
	} {
		t.Run(test.says, func(t *testing.T) {
			t.Parallel()
			tried := filepath.Join(t.TempDir(), "tried")
			ssh := script(t, "ssh", "echo >>'"+tried+"'\n[ $(wc -l <'"+tried+"') -lt 3 ] && { echo '"+test.says+"' >&2; exit 255; }\n"+fakeSSH)
			r := New(Programs{SSH: ssh}, plan.Programs{})
			answer, err := r.converse(t.Context(), plan.Place{Node: nodes.Node{Name: "n", Way: nodes.Way{Kind: nodes.SSH, To: "n"}}}, "echo kvlab said $0", nil, "sh", "-s")
			if (err == nil && strings.HasPrefix(answer["said"], "sh")) != (test.want > 1) {
				t.Errorf("%s: answer %q, %v", test.says, answer, err)
			}
			if text, _ := os.ReadFile(tried); len(text) != test.want {
				t.Errorf("%s: %d connections, want %d", test.says, len(text), test.want)
			}
			// So is the connection over which a node is led. What was sent to it meanwhile arrives.
			if err := os.Remove(tried); err != nil {
				t.Fatal(err)
			}
			place := plan.Place{Node: nodes.Node{Name: "n", Way: nodes.Way{Kind: nodes.SSH, To: "n"}}}
			r.paths.Store(keyOf(place), "cat; :")
			var said []byte
			ended := make(chan error, 1)
			running, stdin, err := r.Start(place, "-control", Output{
				Line:  func(line []byte) error { said = append(said, line...); return nil },
				Error: func([]byte) error { return nil },
				Ended: func(err error) { ended <- err },
			})
			if err != nil {
				t.Fatal(err)
			}
			Send(stdin, node.Command{Do: "x"})
			stdin.Close()
			err = <-ended
			if again := strings.Contains(string(said), `"x"`); again != (test.want > 1) || (err == nil) != again {
				t.Errorf("%s: a node was led: %v: %v, %q, status %v", test.says, again, err, said, running.Status())
			}
			if text, _ := os.ReadFile(tried); len(text) != test.want {
				t.Errorf("%s: %d connections of a node, want %d", test.says, len(text), test.want)
			}
		})
	}
}
