package cluster

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// refusal is a command line, and a part of the one line that refuses it.
type refusal struct {
	args []string
	want string
}

// check fails the test if an error is not the refusal.
func (r refusal) check(t *testing.T, err error) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), r.want) || strings.Contains(err.Error(), "\n") {
		t.Errorf("%q: error %v, want one line with %q", r.args, err, r.want)
	}
}

// What the words of a command line alone show is refused when they are read.
func TestWordsRefused(t *testing.T) {
	for _, r := range []refusal{
		{[]string{"0"}, `servers "0"`},
		{[]string{"-1"}, "--1: unknown flag"},
		{[]string{"two"}, `servers "two": must be a positive whole number`},
		{[]string{"rerum", "logs/latest"}, `servers "rerum": must be a positive whole number; did you mean rerun?`},
		{[]string{"1", "1.5"}, `clients "1.5"`},
		{[]string{"+1"}, `servers "+1"`},
		{[]string{""}, `servers ""`},
		{[]string{"1", "1", "", "", "x"}, `unexpected word "x": the form is [servers [clients`},
		{[]string{"--trails", "5"}, "--trails: unknown flag; did you mean --trials?"},
		{[]string{"1", "1", "--trails", "5"}, "--trails: unknown flag; did you mean --trials?"},
		{[]string{"--virtual", "1"}, "--virtual 1: must be from 2 to 64 hosts"},
		{[]string{"--virtual", "0"}, "--virtual 0: "},
		{[]string{"--virtual", "65"}, "--virtual 65: "},
		{[]string{"--virtual", "4", "--local"}, "--virtual excludes --local"},
		{[]string{"--virtual", "4", "--nodes", "a,b"}, "--virtual excludes --nodes"},
		{[]string{"--virtual", "4", "--link-rate", "fast"}, `"fast" for flag -link-rate: needs a number`},
		{[]string{"--virtual", "4", "--link-rate", ""}, `"" for flag -link-rate: needs a number`},
		{[]string{"--link-rate", "1gbit"}, "--link-rate needs --virtual"},
		{[]string{"--secs", "0"}, `invalid value "0" for flag -secs: must be a positive whole number`},
		{[]string{"--secs", "-3"}, `invalid value "-3" for flag -secs`},
		{[]string{"--secs", "x"}, `invalid value "x" for flag -secs`},
		{[]string{"--secs"}, "--secs needs a value"},
		{[]string{"--nodes", "a,,b"}, `for flag -nodes: "" is no node name`},
		{[]string{"--nodes", ""}, `for flag -nodes: "" is no node name`},
		{[]string{"--nodes", "a,b,a"}, "for flag -nodes: a is listed twice"},
		{[]string{"--nodes", "a,-oProxyCommand=x"}, "is no node name"},
		{[]string{"--nodes", "a,../b"}, "is no node name"},
		{[]string{"--nodes", "a,b", "--hosts", "f"}, "--nodes excludes --hosts"},
		{[]string{"--local", "--nodes", "a,b"}, "--local excludes --nodes"},
		{[]string{"--ssh-config", "/nonexistent/config"}, "for flag -ssh-config: stat "},
		{[]string{"--out", ""}, "--out"},
		{[]string{"1", "1", "-a", "", "--server-args", "-b"}, "server-args are given twice"},
		{[]string{"--client-args", "'x"}, `--client-args "'x": unbalanced '`},
		{[]string{"--trials", "0"}, `"0" for flag -trials: must be a positive`},
		{[]string{"--trials", "31", "--until", "2%"}, "--trials 31: with --until at most 30"},
		{[]string{"--until", "2"}, "want more than 0% and at most 50%, as in 2%"},
		{[]string{"--until", "0%"}, "want more than 0%"},
		{[]string{"--until", "NaN%"}, "want more than 0%"},
		{[]string{"--until", "51%"}, "at most 50%"},
		{[]string{"--seed", "3"}, "--seed needs --sweep or --curve or --slo or --ab"},
		{[]string{"--seed", "3", "--trials", "5"}, "--seed needs"},
		{[]string{"--resume", ""}, "--out and --resume need the name of a folder"},
		{[]string{"--sweep", "batch"}, "the form is name=value,value, as in batch=1024,8192"},
		{[]string{"--sweep", "=1"}, "the form is name=value,value"},
		{[]string{"--sweep", "-batch=1"}, "the form is name=value,value"},
		{[]string{"--sweep", "batch=1,,2"}, "a value is empty"},
		{[]string{"--sweep", "batch=1,2,1"}, "1 is given twice"},
		{[]string{"--sweep", "batch=1", "--sweep", "batch=2"}, "--sweep batch is given twice"},
		{[]string{"--sweep", "nodes=2,4", "1", "1"}, "--sweep nodes: the rest of the command line sets it too"},
		{[]string{"--sweep", "clients=2", "1", "1"}, "--sweep clients: the rest"},
		{[]string{"--sweep", "nodes=2,4", "--sweep", "servers=1"}, "--sweep nodes: the rest"},
		{[]string{"--sweep", "secs=1,2", "--secs", "5"}, "--sweep secs: the rest"},
		{[]string{"--sweep", "batch=1,2", "--client-args", "-batch=3"}, "--sweep batch: the rest"},
		{[]string{"--sweep", "engine=slab", "--server-args", "--engine syncmap"}, "--sweep engine: the rest"},
		{[]string{"--soak", "59s"}, `"59s" for flag -soak: want 1m0s or more`},
		{[]string{"--local", "--soak"}, "--soak needs a value (see --help)"},
		{[]string{"-secs"}, "-secs needs a value (see --help)"},
		{[]string{"--soak", "-1h"}, `"-1h" for flag -soak: want 1m0s or more`},
		{[]string{"--quick", "--soak", "30m"}, "--quick excludes --soak"},
		{[]string{"--name", ""}, `"" for flag -name: want at most 40 letters, digits, dots, dashes and underscores`},
		{[]string{"--name", "a b"}, "the first a letter or a digit"},
		{[]string{"--name", "../x"}, "the first a letter or a digit"},
		{[]string{"--name", strings.Repeat("x", 41)}, "want at most 40"},
		{[]string{"--name", "x", "--resume", "y"}, "--name excludes --resume"},
		{[]string{"--restart-at", "2s"}, `"2s" for flag -restart-at: want 3s or more`},
		{[]string{"--restart-at", "10s", "--soak", "30m"}, "--restart-at excludes --soak"},
		{[]string{"--soak", "30"}, `invalid value "30" for flag -soak`},
		{[]string{"--soak", "30m", "--secs", "5"}, "--soak excludes --secs"},
		{[]string{"--soak", "30m", "--trials", "2"}, "--soak excludes --trials"},
		{[]string{"--soak", "30m", "--sweep", "batch=1,2"}, "--soak excludes --sweep"},
		{[]string{"--soak", "30m", "--slo", "p99=5ms"}, "--soak excludes --slo"},
		{[]string{"--soak", "30m", "--resume", "logs/latest"}, "--soak excludes --resume"},
		{[]string{"--soak", "30m", "--deadline", "30m"}, "--deadline 30m0s: the window of --soak 30m0s is as long already"},
		{[]string{"--btach", "64"}, "--btach: unknown flag; did you mean --batch? (see --help)"},
		{[]string{"--listen", "x"}, "--listen: unknown flag"},
		{[]string{"--codec", "gob", "--server-args", "-codec=x"}, "--codec: --server-args sets it too: give one of them"},
		{[]string{"--codec", "gob", "--client-args", "--codec"}, "--codec: --client-args sets it too: give one of them"},
		{[]string{"--batch", "64", "--sweep", "batch=1,2"}, "--sweep batch: the rest of the command line sets it too"},
		{[]string{"--rate", "5", "--slo", "p99=5ms"}, "--curve and --slo choose the rates: leave -rate out"},
		{[]string{"--ab=", "--ab=--btach"}, "--btach: unknown flag; did you mean --batch?"},
		{[]string{"--slo", "p99=5ms", "--until", "2%"}, "--slo excludes --until"},
		{[]string{"--slo", "p98=5ms"}, "want a quantile and a time with its unit, as in p99=5ms; quantiles are p50, p90, p95, p99, p99.9 and p99.99"},
		{[]string{"--slo", "p99=5ms", "--client-args", "-rate=5"}, "leave -rate out"},
		{[]string{"--curve", "--sweep", "batch=5"}, "--curve excludes --sweep"},
		{[]string{"--curve", "--client-args", "-rate=5"}, "leave -rate out"},
		{[]string{"--curve", "10%,20%,10%"}, "10% is given twice"},
		{[]string{"--curve", "10%,x"}, "want rates in ops/s or in percent of the peak"},
		{[]string{"--deadline", "0s"}, "for flag -deadline: want 1ms or more"},
		{[]string{"--deadline", "5"}, `invalid value "5" for flag -deadline`},
		{[]string{"--keep"}, "--keep: unknown flag"},
		{[]string{"--reap", "--virtual", "2"}, "--virtual excludes --reap"},
		{[]string{"--reap", "2", "2", "a", "b", "c"}, "unexpected word"},
		{[]string{"--reap", "--sweep", "batch="}, "a value is empty"},
	} {
		_, err := parse(r.args, testFlags, io.Discard)
		r.check(t, err)
	}
}

// What cannot be measured is refused before anything is started or made.
func TestRunsRefused(t *testing.T) {
	t.Parallel()
	hosts := filepath.Join(t.TempDir(), "hosts")
	if err := os.WriteFile(hosts, []byte("a addr=10.0.0.1\nb addr=10.0.0.2\nc addr=10.0.0.3\nd addr=10.0.0.4\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, r := range []refusal{
		{[]string{"--ab"}, "--ab: wants two strings of arguments, as in --ab"},
		{[]string{"--ab", "x"}, "--ab: wants two strings of arguments"},
		{[]string{"--ab=2 2"}, "--ab: wants two strings of arguments"},
		{[]string{"--ab", "", "", "--ab", "", ""}, "--ab: wants two strings of arguments"},
		{[]string{"--ab", "", "commit:"}, "commit: needs a git revision, as in commit:HEAD~1"},
		{[]string{"--ab", "", "server:"}, "server: needs a git revision, as in server:HEAD~1"},
		{[]string{"--ab", "server:no-such", ""}, "--ab, variant A: server:no-such: no such commit in "},
		{[]string{"--ab", "commit:no-such", ""}, "--ab, variant A: commit:no-such: no such commit in "},
		{[]string{"--ab", "", "--trials 3"}, "--trials: unknown flag (see --help): a variant has "},
		{[]string{"--ab", "", "--client-args '-batch"}, "unbalanced '"},
		{[]string{"--ab", "", "1 2 3 4 5"}, `unexpected word "5"`},
		{[]string{"--ab", "", "--client-args -theta=0"}, "--ab, variant B: kvsclient: -theta 0: want more than 0"},
		{[]string{"--ab", "", "", "--until", "2%"}, "--ab excludes --until"},
		{[]string{"--ab", "", "", "--sweep", "batch=1,2"}, "--ab excludes --sweep"},
		{[]string{"--together"}, "--together needs --ab"},
		{[]string{"--ab", "HEAD~1", "HEAD"}, `"HEAD~1" is no number of servers: want commit:HEAD~1 for a git revision`},
		{[]string{"--ab", "", "", "--trials", "0"}, `"0" for flag -trials: must be a positive whole number`},
		{[]string{"--sweep", "threads=1,2"}, "--sweep threads=1: no such knob (there are nodes, servers, clients, and the flags batch, engine, records, theta, tls, value-size, workload)"},
		{[]string{"--sweep", "node=a,b"}, "--sweep node=a: no such knob"},
		{[]string{"--sweep", "nodes=2,x"}, `--sweep nodes=x: number of nodes "x": must be a positive whole number`},
		{[]string{"--sweep", "nodes=1,2"}, "--sweep nodes=1: a run needs at least 2 nodes"},
		{[]string{"--sweep", "clients=0"}, `--sweep clients=0: number of clients "0"`},
		{[]string{"--sweep", "batch=1,2", "--sweep", "theta=0.5,0"}, "--sweep batch=1 theta=0: kvsclient: -theta 0: want more than 0"},
		{[]string{"--sweep", "nodes=2,4,8", "--hosts", hosts}, "--sweep nodes=8: 4 servers and 4 clients are more than the 4 nodes there are"},
		{[]string{"--trials", "2", "--client-args", "-theta=0"}, "kvsclient: -theta 0: want more than 0"},
		{[]string{"--grade", "/nowhere/grades"}, "open /nowhere/grades: no such file"},
		{[]string{"--grade", scaleFile(t, "\"1M 80 %\",\n\"much 90 %\"")}, `grades.toml:3: "much 90 %": want operations per second, or a ratio to a reference, and per cent`},
		{[]string{"--grade", scaleFile(t, `"1 50 %"`), "--sweep", "nodes=2,4"}, "--grade excludes --sweep"},
		{[]string{"--local", "--baseline", "main"}, "--baseline needs --fail-if"},
		{[]string{"--local", "--fail-if", "slower=5%"}, "--fail-if needs --baseline"},
		{[]string{"--local", "--baseline", "main", "--fail-if", "slowr=5%"}, `the measure "slowr": want one of slower, p99, cpu; did you mean slower?`},
		{[]string{"--local", "--baseline", "main", "--fail-if", "slower=5"}, "want slower=PERCENT"},
		{[]string{"--local", "--baseline", "main", "--fail-if", "slower=5%", "--sweep", "batch=1,2"}, "--baseline excludes --sweep"},
		{[]string{"--local", "--baseline", "main", "--fail-if", "slower=5%"}, "--baseline: no run in "},
	} {
		tr := newTrial(t)
		err := tr.Launcher.Run(context.Background(), append([]string{"--out", tr.out}, r.args...))
		if r.check(t, err); ExitStatus(err) != exitUsage {
			t.Errorf("%q: status %d, want %d", r.args, ExitStatus(err), exitUsage)
		}
		if entries, _ := os.ReadDir(tr.out); len(entries) > 0 {
			t.Errorf("%q: %s was made", r.args, entries[0].Name())
		}
	}
}
