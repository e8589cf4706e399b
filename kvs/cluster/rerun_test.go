package cluster

import (
	"io"
	"testing"

	"kvlab/kvs/cluster/trial"
	"kvlab/metrics"
	"kvlab/metrics/format"
)

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
