package cluster

import (
	"io"
	"strings"
	"testing"
)

func TestSelfTestFlags(t *testing.T) {
	for args, quick := range map[string]bool{"--selftest": false, "--selftest=quick": true, "--selftest --local": false} {
		if cfg, err := parse(strings.Fields(args), nil, io.Discard); err != nil || cfg.SelfTest == nil || cfg.SelfTest.Quick != quick {
			t.Errorf("%q: %+v, %v", args, cfg.SelfTest, err)
		}
	}
	for args, want := range map[string]string{
		"--selftest=slow":                       "want --selftest or --selftest=quick",
		"--selftest --trials 3":                 "--selftest excludes --trials",
		"--selftest --secs 3":                   "--selftest excludes --secs",
		"--selftest --client-args -theta=0.5":   "--selftest excludes --client-args",
		"--selftest --grade plots/no-such-file": "no such file",
	} {
		if _, err := parse(strings.Fields(args), nil, io.Discard); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want one line with %q", args, err, want)
		}
	}
}
