package cluster

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"testing"
	"time"

	"kvlab/kvs/cluster/nodes"
	"kvlab/plots"

	"github.com/rogpeppe/go-internal/testscript"
)

// launch is the program run-cluster.sh of the scripts: the launcher over fake nodes, whose
// checkout is the script's folder. It draws if DRAW is set, which is slow with -race.
func launch() {
	root, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	l := fakeLauncher(root, os.Stdout, os.Stderr)
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

// TestScripts runs the command lines of testdata/script. Their commands are testscript's,
// run-cluster.sh, and those below.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                "testdata/script",
		RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			for _, name := range []string{programVariable, "GORACE", "GOCACHE", "GOFLAGS"} {
				env.Setenv(name, os.Getenv(name))
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"refuse": refuse, "plan": planned, "waitfor": waitFor},
	})
}

// answer has the launcher take words, without a process of its own, and returns what it says.
func answer(ts *testscript.TestScript, words []string) (said string, err error) {
	var out strings.Builder
	l := fakeLauncher(ts.MkAbs("."), &out, &out)
	l.Slurm = nodes.Slurm{Job: ts.Getenv("SLURM_JOB_ID"), NodeList: ts.Getenv("SLURM_JOB_NODELIST"), Scontrol: scontrol}
	l.Extras.Contain = fences
	err = l.Run(context.Background(), words)
	if _, made := os.Stat(ts.MkAbs("logs")); made == nil {
		ts.Fatalf("a folder was made")
	}
	return out.String(), err
}

// refuse fails unless the launcher refuses words as a wrong command line, in one line that
// has the last argument in it, before it makes a folder.
func refuse(ts *testscript.TestScript, _ bool, args []string) {
	words, want := args[:len(args)-1], args[len(args)-1]
	_, err := answer(ts, words)
	if ExitStatus(err) != exitUsage || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
		ts.Fatalf("%q: status %d, %v; want one line with %q", words, ExitStatus(err), err, want)
	}
}

// planned fails unless the plan of words has the last argument in it. The launcher makes
// nothing.
func planned(ts *testscript.TestScript, _ bool, args []string) {
	words, want := args[:len(args)-1], args[len(args)-1]
	said, err := answer(ts, append([]string{"--dry-run"}, words...))
	if err != nil && !errors.Is(err, flag.ErrHelp) || !strings.Contains(said, want) {
		ts.Fatalf("%q: %v, want %q in\n%s", words, err, want, said)
	}
}

// waitFor waits until a file has a text.
func waitFor(ts *testscript.TestScript, _ bool, args []string) {
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if text, err := os.ReadFile(ts.MkAbs(args[0])); err == nil && strings.Contains(string(text), args[1]) {
			return
		}
	}
	ts.Fatalf("%s has no %q", args[0], args[1])
}
