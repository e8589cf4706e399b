package client

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"time"

	"kvlab/kvs/loadgen"
	"kvlab/metrics"
)

// Ceiling says what a client measures in place of a run: how fast its work
// could be. The comments name the flags.
type Ceiling struct {
	On       bool    // -ceiling
	Gbps     float64 // -link-gbps: of every node's link; 0 when it was not given
	Measured float64 // -measured, or Against's result: ops/s; 0 when neither was given
	Against  string  // -against: a run.json
	Network  bool    // -hosts: raw servers on other machines, in place of one here

	run metrics.Run // Against
}

func (c *Ceiling) flags(flags *flag.FlagSet) {
	flags.BoolVar(&c.On, "ceiling", c.On, "measure what limits this work instead of doing it, 5 s each unless -secs is given; it starts what it needs, or -hosts are kvsserver -codec raw")
	flags.Float64Var(&c.Gbps, "link-gbps", c.Gbps, "with -ceiling: `Gb/s` of every node's link, for the wire's limit")
	flags.Float64Var(&c.Measured, "measured", c.Measured, "with -ceiling: `ops/s` to hold against the limit")
	flags.StringVar(&c.Against, "against", c.Against, "with -ceiling: a `run.json` whose work is taken over and whose result is held against the limit")
}

// The measurements of a ceiling are shorter than a run: nothing settles but
// caches.
const (
	ceilingWarmUp = time.Second
	ceilingWindow = 5 * time.Second
)

// settle checks what was given, and completes config for a ceiling.
func (c *Ceiling) settle(config *loadgen.Config, flags *flag.FlagSet) error {
	given := make(map[string]bool)
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if err := c.validate(config, given); err != nil || !c.On {
		return err
	}
	if !given["warmup"] {
		config.WarmUp = ceilingWarmUp
	}
	if !given["secs"] {
		config.Window = ceilingWindow
	}
	c.Network = given["hosts"]
	if c.Against != "" {
		if err := c.adopt(config, flags, given); err != nil {
			return err
		}
	}
	return inProcess(*config).Validate()
}

func (c *Ceiling) validate(config *loadgen.Config, given map[string]bool) error {
	positive := func(n float64) bool { return n > 0 && !math.IsInf(n, 1) }
	switch {
	case !c.On && (c.Gbps != 0 || c.Measured != 0 || c.Against != ""):
		return errors.New("-link-gbps, -measured and -against go with -ceiling")
	case !c.On:
		return nil
	case given["link-gbps"] && !positive(c.Gbps):
		return fmt.Errorf("-link-gbps %v: want a link's speed in Gb/s, such as 10", c.Gbps)
	case given["measured"] && !positive(c.Measured):
		return fmt.Errorf("-measured %v: want operations per second, such as 4.5e6", c.Measured)
	case given["measured"] && given["against"]:
		return errors.New("-measured and -against both give what was measured: use one")
	case given["tls"]:
		return errors.New("-tls: the ceiling is of a network in clear, whatever a run's: leave -tls out")
	case given["hosts"] && given["against"]:
		return errors.New("-against takes the number of servers from the run, and goes without -hosts")
	case config.AutoBatch && !given["against"]:
		return errors.New("-batch auto: a ceiling is of one batch size: give -batch N, or a run that reached one with -against")
	case config.Rate.Open():
		return fmt.Errorf("-rate %s: a ceiling is what a closed loop makes: leave -rate out", config.Rate)
	case config.Transport != loadgen.TCP:
		return fmt.Errorf("-transport %s: -ceiling measures with a network and without one by itself", config.Transport)
	case config.Codec != loadgen.DefaultConfig().Codec:
		return fmt.Errorf("-codec %s: the ceiling is of the frames of -codec %s, whatever a run's codec", config.Codec, loadgen.DefaultConfig().Codec)
	}
	return nil
}
