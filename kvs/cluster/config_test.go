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
