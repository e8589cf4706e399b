package cluster

import (
	"errors"
	"flag"
	"io"
	"strings"
	"testing"

	"kvlab/kvs/cluster/plan"
	"kvlab/metrics"
)

// parse reads a command line of a launcher without extras.
func parse(args []string, flags plan.Flags, help io.Writer) (Config, error) {
	return (&Launcher{flags: flags}).parseArgs(args, help)
}

// The help has every flag, each in a topic.
func TestHelpHasAllFlags(t *testing.T) {
	var text strings.Builder
	if _, err := parse([]string{"--help", "all"}, testFlags, &text); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("error %v, want help", err)
	}
	all, _ := newFlagSet(&Config{}, &argsText{}, testFlags, "")
	all.VisitAll(func(f *flag.Flag) {
		if !strings.Contains(text.String(), "  -"+f.Name+"\n") && !strings.Contains(text.String(), "  -"+f.Name+" ") {
			t.Errorf("the help has no -%s", f.Name)
		}
		if topicOf(f, nil) == "" {
			t.Errorf("-%s has no topic", f.Name)
		}
	})
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
