package cluster

import (
	"errors"
	"io"
	"strings"
	"testing"

	"kvlab/kvs/cluster/plan"
	"kvlab/metrics"
)

// fence is a wrapper that only says where it stands.
type fence string

func (f fence) String() string { return string(f) }
func (f fence) Command(launcher string, isNode bool, write []string, words ...string) []string {
	return append([]string{launcher, string(f)}, words...)
}
func (f fence) Build(launcher string, read, over []string, words ...string) []string {
	return f.Command(launcher, false, nil, words...)
}
func (f fence) Walls(launcher string) []string { return []string{launcher, string(f)} }

// fences is the --contain of a launcher with wooden fences.
var fences = &plan.ContainFlag{Usage: "a fence", Parse: func(text string) (plan.Wrapper, error) {
	if text != "wood" {
		return nil, errors.New("want wood")
	}
	return fence(text), nil
}}

// A launcher has --contain if it has something that contains, and contains if a variant does.
func TestContainFlag(t *testing.T) {
	t.Parallel()
	if _, err := parse([]string{"--contain", "wood"}, nil, io.Discard); err == nil || !strings.Contains(err.Error(), "--contain: unknown flag") {
		t.Error(err)
	}
	for variant, want := range map[string]bool{"--secs 5": false, "--contain wood": true} {
		l := &Launcher{Extras: Extras{Contain: fences}}
		cfg, err := l.parseArgs([]string{"--ab", "", variant}, io.Discard)
		if got := l.containing(cfg); got != want || err != nil {
			t.Errorf("%q: containing is %t, %v", variant, got, err)
		}
	}
}

// An open store is told of where others than this machine's processes reach it.
func TestOpenStore(t *testing.T) {
	at := configuration{open: "the store is open"}
	local, lab, contained := at, at, at
	local.plan.Local, lab.cfg.Lab.Hosts, contained.plan.Contain = true, 2, fence("wood")
	for _, test := range []struct {
		at   configuration
		want string
	}{{at, at.open}, {local, ""}, {lab, ""}, {contained, ""}} {
		if got := test.at.warning(); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}

func TestFewestWalls(t *testing.T) {
	one, none := []metrics.Wall{{Name: "memory", Held: true}}, []metrics.Wall{{Name: "memory", Why: "no"}}
	if got := fewestWalls(one, none, one); len(got) != 1 || got[0].Held {
		t.Errorf("%+v", got)
	}
}
