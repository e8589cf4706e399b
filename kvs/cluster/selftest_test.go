package cluster

import (
	"io"
	"strings"
	"testing"

	"kvlab/kvs/experiment"
)

func TestSelfTestFlags(t *testing.T) {
	for args, want := range map[string]string{
		"--selftest": experiment.FullSelfTest, "--selftest=quick": experiment.QuickSelfTest, "--selftest --local": experiment.FullSelfTest, "": "",
	} {
		if cfg, err := ParseArgs(strings.Fields(args), "logs", nil, io.Discard); err != nil || cfg.SelfTest != want {
			t.Errorf("%q: %q, %v", args, cfg.SelfTest, err)
		}
	}
	for args, want := range map[string]string{
		"--selftest=slow":                       "want --selftest or --selftest=quick",
		"--selftest --trials 3":                 "--selftest makes its own trials, and excludes --trials",
		"--selftest --secs 3":                   "--selftest has its own arguments, and excludes",
		"--selftest --client-args -theta=0.5":   "--selftest has its own arguments",
		"--selftest --grade plots/no-such-file": "no such file",
	} {
		if _, err := ParseArgs(strings.Fields(args), "logs", nil, io.Discard); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want one line with %q", args, err, want)
		}
	}
}
