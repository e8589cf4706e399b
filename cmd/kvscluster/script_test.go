package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"kvlab/internal/labtest"
	"kvlab/internal/redistest"
	"kvlab/metrics"
	"kvlab/plots/verify"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// TestScripts runs the command lines of testdata/script. Each script has its own copy of the
// real programs, and fails if one still runs at its end. It may use testscript's commands and
// those below. The conditions ci and long hold with KVLAB_CI=1 and KVLAB_LONG=1.
func TestScripts(t *testing.T) {
	if out, err := compile(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	testscript.Run(t, testscript.Params{
		Dir:                "testdata/script",
		RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			bin := filepath.Join(env.WorkDir, "bin")
			env.Setenv("PATH", bin+":"+os.Getenv("PATH"))
			env.Setenv("HOME", os.Getenv("HOME")) // for Go's caches
			here, err := os.Getwd()
			env.Setenv("ROOT", here)
			for i := range 3 {
				env.Setenv(fmt.Sprint("PORT", i), strconv.Itoa(redistest.Free(t)))
			}
			env.Defer(func() {
				if left := running(bin, time.Minute); len(left) > 0 {
					env.T().Fatal("processes are left: ", left)
				}
			})
			return errors.Join(err, link(bin), os.WriteFile(filepath.Join(env.WorkDir, "server.go"), []byte(labtest.Source), 0o600))
		},
		Condition: func(name string) (bool, error) { return os.Getenv("KVLAB_"+strings.ToUpper(name)) == "1", nil },
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"measure": measured, "refuse": refuse, "signal": signaled,
			"waitfor": func(ts *testscript.TestScript, _ bool, args []string) {
				if !comes(ts.MkAbs(args[0]), args[1]) {
					ts.Fatalf("%s has no %q", args[0], args[1])
				}
			},
			"gone": gone, "used": used,
			"verified": func(ts *testscript.TestScript, _ bool, args []string) {
				if all, err := verify.Run(ts.MkAbs(args[0])); err != nil || !strings.Contains(all[len(all)-1].String(), args[1]) {
					ts.Fatalf("%v, %v: want %q", all, err, args[1])
				}
			},
		},
	})
}

// measured makes a short run on this machine, which must be VALID.
func measured(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(ts.Exec("kvscluster", append([]string{"--local", "--records", "10000", "--workers", "4", "--batch", "32", "--rate", "5k", "--warmup", "0", "--secs", "2"}, args...)...))
	if said := ts.ReadFile("stdout"); !strings.HasSuffix(said, "\nverdict VALID\n") {
		ts.Fatalf("%s", said)
	}
}

// refuse fails unless a run of words on this machine is refused as a wrong command line, in one
// line that has the last argument in it, before a folder is made.
func refuse(ts *testscript.TestScript, _ bool, args []string) {
	words, want := append([]string{"--local"}, args[:len(args)-1]...), args[len(args)-1]
	var exit *exec.ExitError
	err := ts.Exec("kvscluster", words...)
	said := ts.ReadFile("stderr")
	if _, made := os.Stat(ts.MkAbs("logs")); made == nil || !errors.As(err, &exit) || exit.ExitCode() != 2 || strings.Count(said, "\n") != 1 || !strings.Contains(said, want) {
		ts.Fatalf("%q: %v, want one line with %q:\n%s", words, err, want, said)
	}
}

// signaled sends a signal to the processes that run a program of the script.
func signaled(ts *testscript.TestScript, _ bool, args []string) {
	number, pids := unix.SignalNum("SIG"+args[0]), processes(ts.MkAbs("."), args[1])
	if number == 0 || len(pids) == 0 {
		ts.Fatalf("no process runs %s, or there is no signal %s", args[1], args[0])
	}
	for _, pid := range pids {
		ts.Check(syscall.Kill(pid, number))
	}
}

// gone fails if a program of the script still runs after a time, of a minute if none is given.
func gone(ts *testscript.TestScript, _ bool, args []string) {
	within, err := time.ParseDuration(append(args, "1m")[0])
	ts.Check(err)
	if left := running(ts.MkAbs("bin"), within); len(left) > 0 {
		ts.Fatalf("processes are left: %q", left)
	}
}

// used fails unless the table by role of a run has what a store that holds 300 MB says of itself in
// a file: lines of its Unix time and its processor time, in nanoseconds.
func used(ts *testscript.TestScript, _ bool, args []string) {
	var run metrics.Run
	ts.Check(metrics.ReadJSON(ts.MkAbs(filepath.Join(args[0], "run.json")), &run))
	window, of := run.InRole(metrics.Server)[0].Summary.Saturation, run.Used[metrics.Server]
	end := window.Start.Add(time.Duration(window.LengthS * 1e9)).UnixNano()
	var times, cpus []int64 // the last before the window, those in it, and the first after it
	for line := range strings.Lines(ts.ReadFile(args[1])) {
		var at, cpu int64
		if _, err := fmt.Sscan(line, &at, &cpu); err != nil {
			continue // the store was ended while it wrote
		}
		if len(times) > 0 && at < window.Start.UnixNano() {
			times, cpus = times[:0], cpus[:0]
		}
		if times, cpus = append(times, at), append(cpus, cpu); at > end {
			break
		}
	}
	last := len(times) - 1
	cores := float64(cpus[last]-cpus[0]) / float64(times[last]-times[0])
	if least, most := 0.9*cores, 1.1*cores; of.Cores.Avg < least || of.Cores.Avg > most || of.Cores.Peak < of.Cores.Avg {
		ts.Fatalf("the store used %.3f cores by itself, and by the table %+v", cores, of.Cores)
	}
	if mb := of.MemoryBytes.Avg / 1e6; mb < 300 || mb > 330 || of.MemoryBytes.Peak < of.MemoryBytes.Avg {
		ts.Fatalf("the store holds 300 MB, and by the table %+v", of.MemoryBytes)
	}
	if rest := run.Used[metrics.Rest].Cores.Avg; rest < 0 || run.Used[metrics.Client].Cores.Avg <= 0 {
		ts.Fatalf("the clients used %+v, the rest %.3f cores", run.Used[metrics.Client], rest)
	}
	ts.Logf("%.3f cores by itself, %.3f by the table", cores, of.Cores.Avg)
}
