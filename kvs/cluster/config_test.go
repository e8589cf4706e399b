package cluster

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"kvlab/kvs/cluster/nodes"
	"kvlab/kvs/cluster/plan"
	"kvlab/metrics"
	"kvlab/metrics/format"
)

// parse reads a command line of a launcher without extras.
func parse(args []string, flags plan.Flags, help io.Writer) (Config, error) {
	return (&Launcher{flags: flags}).parseArgs(args, help)
}

func TestParseArgs(t *testing.T) {
	tests := []struct {
		args []string
		want Config
	}{
		{nil, Config{}},
		{[]string{"2"}, Config{Spec: plan.Spec{Servers: 2}}},
		{[]string{"2", "3"}, Config{Spec: plan.Spec{Servers: 2, Clients: 3}}},
		{[]string{"2", "2", "", "-secs 5"}, Config{Spec: plan.Spec{Servers: 2, Clients: 2, ClientArgs: []string{"-secs", "5"}}}},
		{[]string{"2", "2", "-port 8080", "-secs 5"}, Config{Spec: plan.Spec{Servers: 2, Clients: 2, ServerArgs: []string{"-port", "8080"}, ClientArgs: []string{"-secs", "5"}}}},
		{[]string{"2", "2", "-pprof", "-fast"}, Config{Spec: plan.Spec{Servers: 2, Clients: 2, ServerArgs: []string{"-pprof"}, ClientArgs: []string{"-fast"}}}},
		{[]string{"--secs", "5", "2", "2"}, Config{Spec: plan.Spec{Servers: 2, Clients: 2, Secs: 5}}},
		{[]string{"2", "2", "--secs", "5"}, Config{Spec: plan.Spec{Servers: 2, Clients: 2, Secs: 5}}},
		{[]string{"2", "-secs=5", "2", "-local"}, Config{Spec: plan.Spec{Servers: 2, Clients: 2, Secs: 5}, Request: nodes.Request{Local: true}}},
		{[]string{"1", "1", "", "-theta '0 5'", "--dry-run"}, Config{Spec: plan.Spec{Servers: 1, Clients: 1, ClientArgs: []string{"-theta", "0 5"}}, DryRun: true}},
		{[]string{"--server-args", "-engine mutex", "--client-args=-secs 5"}, Config{Spec: plan.Spec{ServerArgs: []string{"-engine", "mutex"}, ClientArgs: []string{"-secs", "5"}}}},
		{[]string{"1", "1", "--client-args", "-secs 5"}, Config{Spec: plan.Spec{Servers: 1, Clients: 1, ClientArgs: []string{"-secs", "5"}}}},
		{[]string{"--quick", "1", "1", "", "-records 5", "--name", "slab-v2.1"},
			Config{Quick: true, Name: "slab-v2.1", Spec: plan.Spec{Servers: 1, Clients: 1, ClientArgs: []string{"-secs=5", "-warmup=1", "-records=100000", "-records", "5"}}}},
		{[]string{"--nodes", "a,b-1,c.d"}, Config{Request: nodes.Request{Nodes: []string{"a", "b-1", "c.d"}}}},
		{[]string{"--soak", "24h"}, Config{Spec: plan.Spec{Soak: 24 * time.Hour}}},
		{[]string{"--out", "x", "--hosts", "h"}, Config{Out: "x", Request: nodes.Request{HostsFile: "h"}}},
		{[]string{"--sweep", "nodes=2,4", "--trials", "3", "--sweep", "theta=0.5", "--until", "2.5%", "--seed", "7"},
			Config{Trials: Trials{Sweep: metrics.Sweep{Trials: 3, Until: 0.025, Seed: 7, Knobs: []metrics.Knob{{Name: "nodes", Values: []string{"2", "4"}}, {Name: "theta", Values: []string{"0.5"}}}}}}},
	}
	for _, test := range tests {
		got, err := parse(test.args, nil, io.Discard)
		if test.want.Out == "" {
			test.want.Out = "logs"
		}
		got.planner = nil
		if err != nil || !reflect.DeepEqual(got, test.want) {
			t.Errorf("parseArgs(%q) = %+v, %v; want %+v", test.args, got, err, test.want)
		}
	}
}

func TestParseArgsErrors(t *testing.T) {
	tests := []struct {
		args []string
		want string // part of the error
	}{
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
	}
	for _, test := range tests {
		_, err := parse(test.args, nil, io.Discard)
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("parseArgs(%q): error %v, want one line with %q", test.args, err, test.want)
		}
	}
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{"help"}, {"-h"}, {"--help"}, {"-help"}, {"2", "2", "-h"}, {"--help", "all"}, {"help", "all"}, {"--help", "nodes"}} {
		var text bytes.Buffer
		if _, err := parse(args, testFlags, &text); !errors.Is(err, flag.ErrHelp) {
			t.Errorf("parseArgs(%q): error %v, want help", args, err)
		}
		for line := range strings.Lines(text.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > format.Columns || strings.Contains(line, "\t") {
				t.Errorf("parseArgs(%q): a line of %d columns: %q", args, n, line)
			}
		}
		if args[len(args)-1] == "nodes" {
			if !strings.Contains(text.String(), "\n  -hosts ") || strings.Contains(text.String(), "\n  -trials ") || strings.Contains(text.String(), "-engine") {
				t.Errorf("parseArgs(%q):\n%s", args, &text)
			}
			continue
		}
		if args[len(args)-1] != "all" {
			if n := strings.Count(text.String(), "\n"); n < 24 || n > 40 {
				t.Errorf("parseArgs(%q): %d lines are no screen", args, n)
			}
			continue
		}
		all, _ := newFlagSet(&Config{}, &argsText{}, testFlags, "")
		all.VisitAll(func(f *flag.Flag) {
			if !strings.Contains(text.String(), "  -"+f.Name+"\n") && !strings.Contains(text.String(), "  -"+f.Name+" ") {
				t.Errorf("parseArgs(%q): help has no -%s", args, f.Name)
			}
			if topicOf(f, nil) == "" {
				t.Errorf("-%s has no topic", f.Name)
			}
		})
	}
	if _, err := parse([]string{"--help", "node"}, testFlags, io.Discard); err == nil || !strings.HasSuffix(err.Error(), "; did you mean nodes?") {
		t.Error(err)
	}
}

// testFlags are some flags of the programs.
var testFlags = plan.Flags{
	metrics.Server: {
		{Name: "engine", Class: metrics.StoreFlag}, {Name: "codec", Class: metrics.ShapeFlag}, {Name: "tls", Class: metrics.ShapeFlag, Bool: true},
	},
	metrics.Client: {
		{Name: "batch", Class: metrics.ShapeFlag}, {Name: "codec", Class: metrics.ShapeFlag}, {Name: "tls", Class: metrics.ShapeFlag, Bool: true},
		{Name: "crc", Class: metrics.ShapeFlag, Bool: true}, {Name: "rate", Class: metrics.ShapeFlag}, {Name: "secs", Class: metrics.ShapeFlag},
		{Name: "seed", Class: metrics.WorkFlag},
	},
}

// A flag of a program is taken among the launcher's, and given to each program that
// has it.
func TestProgramFlags(t *testing.T) {
	for _, test := range []struct {
		args           string
		server, client string // their arguments
	}{
		{"--batch 64", "", "-batch=64"},
		{"-batch=64 2 2", "", "-batch=64"},
		{"2 2 --engine slab", "-engine=slab", ""},
		{"--codec gob --tls", "-codec=gob -tls=true", "-codec=gob -tls=true"},
		{"--crc=false --batch 1", "", "-crc=false -batch=1"},
		{"--batch 64 --server-args -engine=slab --client-args -crc", "-engine=slab", "-crc -batch=64"},
		{"2 2 -codec=gob -crc", "-codec=gob", "-crc"}, // the labs' form: one text for each
		{"2 2 -batch 64", "", "-batch=64"},
		{"--ab= --ab= --batch 64", "", "-batch=64"},
		{"--secs 5", "", ""},
	} {
		cfg, err := parse(strings.Fields(test.args), testFlags, io.Discard)
		if err != nil || strings.Join(cfg.ServerArgs, " ") != test.server || strings.Join(cfg.ClientArgs, " ") != test.client {
			t.Errorf("%q: servers %q, clients %q, %v; want %q, %q", test.args, cfg.ServerArgs, cfg.ClientArgs, err, test.server, test.client)
		}
	}
	for args, want := range map[string]string{
		"--btach 64":                         "--btach: unknown flag; did you mean --batch? (see --help)",
		"--listen x":                         "--listen: unknown flag",
		"--codec gob --server-args -codec=x": "--codec: --server-args sets it too: give one of them",
		"--codec gob --client-args --codec":  "--codec: --client-args sets it too: give one of them",
		"--batch 64 --sweep batch=1,2":       "--sweep batch: the rest of the command line sets it too",
		"--rate 5 --slo p99=5ms":             "--curve and --slo choose the rates: leave -rate out",
		"--ab= --ab=--btach":                 "--btach: unknown flag; did you mean --batch?",
	} {
		if _, err := parse(strings.Fields(args), testFlags, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", args, err, want)
		}
	}
}

// The flags of a variant come after those of both, and win.
func TestProgramFlagsOfVariants(t *testing.T) {
	cfg, err := parse([]string{"--ab", "", "--batch 1024 --engine slab", "--batch", "64"}, testFlags, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	b, _, err := applyVariant(cfg.Trials.Variants[1].Args, cfg.Spec, testFlags)
	if got := strings.Join(b.ClientArgs, " ") + " " + strings.Join(b.ServerArgs, " "); err != nil || got != "-batch=64 -batch=1024 -engine=slab" {
		t.Errorf("variant B has %q, %v", got, err)
	}
}
