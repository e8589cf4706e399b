package cluster

import (
	"errors"
	"flag"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"kvlab/kvs/experiment"
)

func (c *Config) selfTestFlags(fs *flag.FlagSet) {
	fs.BoolFunc("selftest", "test the instrument on these nodes, in 5 to 6 minutes: that two runs of one configuration look alike, that faults of known size are found, and what samples cost; --selftest=quick takes half a minute", func(text string) error {
		switch text {
		case "true":
			c.SelfTest = experiment.FullSelfTest
		case experiment.QuickSelfTest:
			c.SelfTest = experiment.QuickSelfTest
		default:
			return errors.New("want --selftest or --selftest=quick")
		}
		c.NoCeiling = true
		return nil
	})
}

// validateSelfTest checks --selftest against the other flags.
func (c Config) validateSelfTest(set map[string]bool) error {
	switch {
	case c.SelfTest == "":
	case c.Trials.many() || c.Trials.SLO != nil || c.Trials.Resume != "":
		return errors.New("--selftest makes its own trials, and excludes --trials, --until, --sweep, --curve, --ab, --slo and --resume")
	case set["secs"] || set["soak"] || c.Grade != nil || len(c.ServerArgs) > 0 || len(c.ClientArgs) > 0:
		return errors.New("--selftest has its own arguments, and excludes --server-args, --client-args, --secs, --soak and --grade")
	}
	return nil
}

// halves are launcher flags that bind servers and clients to different halves of this
// machine's processors; "" with a single processor. Otherwise the cost of an operation
// changes from moment to moment, as its two ends share a processor or not.
func halves() string {
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) != nil {
		return ""
	}
	var cores []string
	for core := range len(set) * 64 {
		if set.IsSet(core) {
			cores = append(cores, strconv.Itoa(core))
		}
	}
	half := len(cores) / 2
	if half == 0 {
		return ""
	}
	return "--server-cores " + strings.Join(cores[:half], ",") + " --client-cores " + strings.Join(cores[half:], ",")
}
