package cluster

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"kvlab/kvs/cluster/nodes"
	"kvlab/kvs/history"
	"kvlab/plots"

	"github.com/rogpeppe/go-internal/testscript"
)

// launch is the program run-cluster.sh of the scripts: the launcher over fake nodes, whose
// checkout is the script's folder. It draws if DRAW is set, which is slow with -race, and the
// file listed has a line for each list of runs that it would renew.
func launch() {
	root, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	l := fakeLauncher(root, os.Stdout, os.Stderr)
	l.List = func(dir string) error {
		file, err := os.OpenFile("listed", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		_, unwritten := fmt.Fprintln(file, dir)
		return errors.Join(err, unwritten, file.Close())
	}
	if os.Getenv("DRAW") != "" {
		l.Draw = plots.Pages(nil).Draw
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	status := ExitStatus(l.Run(ctx, os.Args[1:]))
	stop()
	if status != 0 {
		fmt.Fprintln(os.Stderr, "exit status", status)
	}
	os.Exit(status)
}

// verifyHistory is a program that verifies the history in a file, and says whether it is illegal.
func verifyHistory() {
	v, err := history.Read(os.Args[1])
	if err != nil {
		panic(err)
	}
	if history.Verify(v.History).Outcome == history.Illegal {
		fmt.Println("illegal")
	}
}

// TestScripts runs the command lines of testdata/script. A script may use testscript's commands,
// run-cluster.sh, verify-history, and those below. The condition ci holds with KVLAB_CI=1.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                "testdata/script",
		RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			for _, name := range []string{programVariable, "GORACE", "HOME"} {
				env.Setenv(name, os.Getenv(name))
			}
			env.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
			folder := "/tmp/kvlab-test" + strings.ReplaceAll(env.WorkDir, "/", "-") // of a node's programs
			env.Vars = append(env.Vars, "NODE0="+nodeIP(0), "NODE1="+nodeIP(1), "FOLDER="+folder)
			env.Defer(func() { os.RemoveAll(folder) })
			return nil
		},
		Condition: func(name string) (bool, error) { return name == "ci" && os.Getenv("KVLAB_CI") == "1", nil },
		Cmds:      map[string]func(*testscript.TestScript, bool, []string){"refuse": refuse, "plan": planned, "waitfor": waitFor, "gone": gone, "listen": listen},
	})
}

// take has the launcher take words, without a process of its own, and returns what it says.
func take(ts *testscript.TestScript, words []string) (said string, err error) {
	var out strings.Builder
	l := fakeLauncher(ts.MkAbs("."), &out, &out)
	l.Slurm = nodes.Slurm{Job: ts.Getenv("SLURM_JOB_ID"), NodeList: ts.Getenv("SLURM_JOB_NODELIST"), Scontrol: scontrol}
	l.Extras.Contain = fences
	before, _ := os.ReadDir(ts.MkAbs("logs"))
	err = l.Run(context.Background(), words)
	if after, _ := os.ReadDir(ts.MkAbs("logs")); len(after) > len(before) {
		ts.Fatalf("a folder was made")
	}
	return out.String(), err
}

// refuse fails unless the launcher refuses words as a wrong command line, in one line that
// has the last argument in it, before it makes a folder.
func refuse(ts *testscript.TestScript, _ bool, args []string) {
	words, want := args[:len(args)-1], args[len(args)-1]
	_, err := take(ts, words)
	if ExitStatus(err) != exitUsage || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
		ts.Fatalf("%q: status %d, %v; want one line with %q", words, ExitStatus(err), err, want)
	}
}

// planned fails unless the plan of words has the last argument in it. The launcher makes
// nothing.
func planned(ts *testscript.TestScript, _ bool, args []string) {
	words, want := args[:len(args)-1], args[len(args)-1]
	said, err := take(ts, append([]string{"--dry-run"}, words...))
	if err != nil && !errors.Is(err, flag.ErrHelp) || !strings.Contains(said, want) {
		ts.Fatalf("%q: %v, want %q in\n%s", words, err, want, said)
	}
}

// waitFor waits until a file has a text.
func waitFor(ts *testscript.TestScript, _ bool, args []string) {
	if !comes(ts.MkAbs(args[0]), args[1]) {
		ts.Fatalf("%s has no %q", args[0], args[1])
	}
}

// gone fails unless the last run, or one in a folder of it, has the logs of so many nodes,
// whose processes have ended.
func gone(ts *testscript.TestScript, _ bool, args []string) {
	dir := filepath.Join(append([]string{ts.MkAbs("logs/latest")}, args[1:]...)...)
	nodes, err := strconv.Atoi(args[0])
	ts.Check(errors.Join(err, checkGone(dir, nodes)))
}

// listen listens on an address until the script ends.
func listen(ts *testscript.TestScript, _ bool, args []string) {
	taken, err := net.Listen("tcp", args[0])
	ts.Check(err)
	ts.Defer(func() { taken.Close() })
}

// nodeIP returns the loopback address of a node, for n below 4. Another test process on the same
// machine has other addresses.
func nodeIP(n int) string {
	own := uint32(os.Getpid())<<2 | uint32(n) // at most 24 bits (proc_sys_kernel(5), pid_max)
	return netip.AddrFrom4([4]byte{127, byte(own>>16) | 0x80, byte(own >> 8), byte(own)}).String()
}
