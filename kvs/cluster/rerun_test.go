package cluster

import (
	"context"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kvlab/kvs/cluster/trial"
	"kvlab/metrics"
	"kvlab/metrics/format"
)

// A rerun makes the recorded command again, without what names the first run's folders, and
// says whether the result is as it was. Its exit status is 1 if the result is not.
func TestRerun(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	if err := tr.run(context.Background()); err != nil {
		t.Fatalf("%v\n%s", err, tr.stderr.String())
	}
	dir, err := filepath.EvalSymlinks(filepath.Join(tr.out, "latest"))
	if err != nil {
		t.Fatal(err)
	}
	first := tr.runJSON(t)
	first.OpsPerS *= 1e6 // far beyond what noise does
	if err := trial.Folder(dir).WriteRun(first); err != nil {
		t.Fatal(err)
	}
	again := newTrial(t)
	err = again.Run(context.Background(), []string{"rerun", dir, "--times", "3", "--margin", "20%", "--out", again.out})
	if ExitStatus(err) != exitInvalid {
		t.Fatalf("%v\n%s%s", err, again.stdout.String(), again.stderr.String())
	}
	begun, trials := again.sweepFolder(t)
	if begun.Trials != 3 || len(trials) != 3 || !trials[0].Verdict.Valid || trials[0].Servers != 2 || slices.Contains(begun.Command, "rerun") || slices.Contains(begun.Command, tr.out) {
		t.Errorf("plan %+v", begun)
	}
	var r metrics.Rerun
	if err := metrics.ReadJSON(filepath.Join(again.out, "latest", metrics.RerunFile), &r); err != nil {
		t.Fatal(err)
	}
	if r.Of != first.ID || r.Margin != 0.2 || r.Outcome() != metrics.Differs || len(r.Figures) != 1 || r.Figures[0].Figure != "ops/s" || !slices.Equal(r.Command, first.Command) {
		t.Errorf("%+v", r)
	}
	if !slices.Contains(r.Left, tr.out) || !slices.Contains(r.Given, again.out) {
		t.Errorf("left out %q, given %q", r.Left, r.Given)
	}
	out := again.stdout.String()
	if !strings.Contains(out, "\nrerun of "+first.ID+", within 20 %: differs (0 agrees, 1 differs, 0 cannot tell)\n") || !strings.HasSuffix(out, "\nverdict VALID\n") {
		t.Errorf("output:\n%s", out)
	}
}

// The words of a rerun are those of the recorded command, without what holds only where it
// was given.
func TestRerunWords(t *testing.T) {
	l := New(t.TempDir(), "", io.Discard, io.Discard)
	l.flags = testFlags
	record := func(sweep bool, variants []metrics.Variant, words ...string) string {
		dir := t.TempDir()
		name, value := "run.json", any(metrics.Run{Result: metrics.Result{Schema: metrics.Schema}, ID: "r", Command: commandLine(words)})
		if sweep {
			name, value = metrics.SweepFile, metrics.Sweep{Schema: metrics.Schema, ID: "s", Command: commandLine(words), Variants: variants}
		}
		if err := trial.Folder(dir).WriteJSON(name, value); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	run := record(false, nil, "1", "2", "--nodes", "a,b,c", "--out=/x", "--name", "n", "--link-rate", "1gbit", "--virtual", "4", "--secs", "30", "-v", "--batch", "64")
	sweep := record(true, nil, "--sweep", "batch=1,2", "--trials", "4", "2", "2", "", "-theta 0.5")
	pair := record(true, []metrics.Variant{{Args: "server:HEAD~1 --batch 2", ServerCommit: "abc", GitCommit: "def"}, {Args: ""}}, "--ab", "server:HEAD~1 --batch 2", "")
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"rerun", run}, "1 2 --link-rate 1gbit --virtual 4 --secs 30 --batch 64 --trials 6"},
		{[]string{"rerun", run, "--nodes", "10.1.1.1,10.1.1.2,10.1.1.3", "--times", "2"}, "1 2 --secs 30 --batch 64 --nodes 10.1.1.1,10.1.1.2,10.1.1.3 --trials 2"},
		{[]string{"rerun", run, "--quick"}, "1 2 --link-rate 1gbit --virtual 4 --batch 64 --quick --trials 1"},
		{[]string{"rerun", sweep, "--local"}, "--sweep batch=1,2 --trials 4 2 2 '' '-theta 0.5' --local"},
		{[]string{"--rerun", sweep, "--times=7", "--margin", "5%"}, "--sweep batch=1,2 2 2 '' '-theta 0.5' --trials 7"},
		{[]string{"rerun", pair}, "--ab 'server:abc --batch 2' ''"},
	} {
		cfg, err := parse(test.args, l.flags, io.Discard)
		if err != nil {
			t.Errorf("%q: %v", test.args, err)
			continue
		}
		cfg, words, err := l.repeated(cfg, test.args)
		if got := format.CommandLine(words); err != nil || got != test.want {
			t.Errorf("%q: %s, %v; want %s", test.args, got, err, test.want)
		}
		if cfg.Rerun.dir == "" || cfg.planner == nil {
			t.Errorf("%q: %+v", test.args, cfg.Rerun)
		}
	}
}
