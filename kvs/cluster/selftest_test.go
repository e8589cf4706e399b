package cluster

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"kvlab/metrics"
)

func TestSelfTestFlags(t *testing.T) {
	for args, want := range map[string]string{
		"--selftest": fullSelfTest, "--selftest=quick": quickSelfTest, "--selftest --local": fullSelfTest, "": "",
	} {
		if cfg, err := ParseArgs(strings.Fields(args), "logs", io.Discard); err != nil || cfg.SelfTest != want {
			t.Errorf("%q: %q, %v", args, cfg.SelfTest, err)
		}
	}
	for args, want := range map[string]string{
		"--selftest=slow":                       "want --selftest or --selftest=quick",
		"--selftest --trials 3":                 "--selftest: it makes its own trials, without --trials",
		"--selftest --secs 3":                   "--selftest: it has its own arguments for servers and clients",
		"--selftest --client-args -theta=0.5":   "--selftest: it has its own arguments",
		"--selftest --grade plots/no-such-file": "no such file",
	} {
		if _, err := ParseArgs(strings.Fields(args), "logs", io.Discard); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want one line with %q", args, err, want)
		}
	}
}

// A latency passes between its bounds, and one that there is not never does.
func TestSelfTestBounds(t *testing.T) {
	us := func(v float64) *float64 { return &v }
	for _, test := range []struct {
		got      tested
		passed   bool
		measured string
	}{
		{within("x", us(1040), 950*time.Microsecond, 1050*time.Microsecond), true, "1.04ms"},
		{within("x", us(1051), 950*time.Microsecond, 1050*time.Microsecond), false, "1.051ms"},
		{within("x", us(949), 950*time.Microsecond, 1050*time.Microsecond), false, "949µs"},
		{within("x", nil, 0, time.Millisecond), false, "n/a"},
		{atLeast("x", us(100e3), 90*time.Millisecond, ""), true, "100ms"},
		{atLeast("x", us(10), 90*time.Millisecond, ""), false, "10µs"},
		{atLeast("x", nil, time.Millisecond, "(saturated)"), false, "n/a (saturated)"},
	} {
		if test.got.Passed != test.passed || test.got.Measured != test.measured {
			t.Errorf("%+v, want %v and %q", test.got, test.passed, test.measured)
		}
	}
}

// One test that fails fails the whole, by name; what ended it early says so.
func TestSelfTestVerdict(t *testing.T) {
	good, bad := tested{What: "one", Passed: true}, tested{What: "two", Asked: "1", Measured: "2"}
	broken := fmt.Errorf("trial-003 (x): %w", &InvalidError{Verdict: invalid("node1", "died")})
	for _, test := range []struct {
		tests []tested
		ended error
		want  string
	}{
		{[]tested{good, good}, nil, "VALID"},
		{[]tested{good, bad}, nil, "INVALID(self-test: two: 2, asked 1)"},
		{[]tested{good}, errInterrupted, "INVALID(interrupted)"},
		{[]tested{good}, broken, "INVALID(a trial of the self-test failed: trial-003 (x): verdict INVALID(died, node1), node1)"},
		{[]tested{good}, errors.New("disk\nfull"), "INVALID(disk full)"},
	} {
		if got := selfTestVerdict(test.tests, test.ended).String(); got != test.want {
			t.Errorf("%v: %s, want %s", test.ended, got, test.want)
		}
	}
}

// A run whose servers' speed was faulty is never valid, and says so only when it
// holds in all else.
func TestFaultySpeedIsNoResult(t *testing.T) {
	run := goodRun()
	run.Nodes[0].Config = &metrics.Config{Flags: map[string]string{"inject": "slowdown=5%"}}
	if got := Judge(run); got != injected {
		t.Errorf("verdict %s", got)
	}
	run.Nodes[1].Summary = nil
	if got := Judge(run); got.Valid || got == injected {
		t.Errorf("verdict %s on a run without a summary", got)
	}
}

// What pairs come to is the mean of their ratios; a node that did not say what it
// used is no figure.
func TestRatioOfRuns(t *testing.T) {
	var pairs [][2]metrics.Run
	for i := range 7 {
		rate := 1e6 * float64(i+1)
		pairs = append(pairs, [2]metrics.Run{{OpsPerS: rate}, {OpsPerS: 1.05 * rate}})
	}
	if r, err := ratioOf(pairs, opsPerS); err != nil || r.Low < 1.0499 || r.High > 1.0501 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := ratioOf(pairs, func(metrics.Run) float64 { return 0 }); err == nil {
		t.Error("a ratio of nothing")
	}
}
