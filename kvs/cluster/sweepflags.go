package cluster

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/experiment"
	"kvlab/metrics"
)

// Trials are the flags of sweeps, comparisons and searches.
type Trials struct {
	Knobs  []metrics.Knob  // --sweep; none: one point
	Each   int             // --trials: of every point; 0: not given
	Until  float64         // --until: more trials until the interval's half-width is this share of the median; 0: none
	Seed   uint64          // --seed: of the order; 0: random
	Resume string          // --resume: the folder of a sweep to continue
	SLO    *experiment.SLO // --slo: the promise of a search; nil: none
	AB     []variant       // --ab: the two variants of a comparison; nil: none

	Together bool // --together: both trials of a pair of --ab at the same time
}

// curve holds the shares of a closed loop's throughput that --curve offers. They are
// denser where a queue's latency rises.
var curve = []string{"10%", "20%", "40%", "60%", "70%", "80%", "90%", "95%"}

func (t *Trials) flags(fs *flag.FlagSet, programs plan.Flags) {
	fs.Func("sweep", "measure each of several values of a setting, `name=v1,v2,...`: nodes (half serve, half load), servers, clients, or any flag of servers or clients; several --sweep measure every combination", func(text string) error {
		knob, err := experiment.ParseKnob(text)
		t.Knobs = append(t.Knobs, knob)
		return err
	})
	fs.BoolFunc("curve", "latency against throughput: the same as --sweep rate="+strings.Join(curve, ","), func(string) error {
		t.Knobs = append(t.Knobs, metrics.Knob{Name: "rate", Values: curve})
		return nil
	})
	fs.Func("slo", "search for the highest rate of an open loop that keeps a `promise` such as p99=5ms: p50, p90, p99, p99.9 or p99.99 of the operations' latency from the moment when they are due", func(text string) (err error) {
		t.SLO, err = experiment.ParseSLO(text)
		return err
	})
	fs.Func("ab", "compare two variants, `A B`: two strings of the arguments that only that variant has (counts, --server-args, --client-args, flags of the programs), or \"\"; commit:REV first runs another commit's programs; the order within pairs of trials is random", func(text string) error {
		v, err := parseVariant(text, programs)
		t.AB = append(t.AB, v)
		return err
	})
	fs.BoolVar(&t.Together, "together", false, "with --ab: run both trials of a pair at the same time on the same nodes, so that a disturbance meets both, and compare the processor time of an operation")
	fs.IntVar(&t.Each, "trials", 0, "`number` of trials, of every point of a sweep, of each variant of --ab (default "+strconv.Itoa(abPairs)+"), each with fresh processes and a fresh load")
	fs.Func("until", "add trials until the half-width of the median's 95 % interval is at most this `share` of it, such as 2%, or there are "+strconv.Itoa(experiment.Most), func(text string) (err error) {
		t.Until, err = parseShare(text)
		return err
	})
	fs.Uint64Var(&t.Seed, "seed", 0, "`number` that decides the random order of the trials of --sweep and --ab (0: a random number, which is recorded)")
	fs.StringVar(&t.Resume, "resume", "", "continue the interrupted sweep in this `folder`; finished trials stay")
}

// parseShare reads a percentage.
func parseShare(text string) (float64, error) {
	number, ok := strings.CutSuffix(text, "%")
	share, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil || !(share > 0 && share <= 50) {
		return 0, errors.New("want more than 0% and at most 50%, as in 2%")
	}
	return share / 100, nil
}

// many reports whether the run is a sweep or a comparison, even of one trial.
func (t Trials) many() bool { return len(t.Knobs) > 0 || t.Each > 0 || t.Until > 0 || len(t.AB) > 0 }

// knobs are those of --sweep, or the variant of --ab.
func (t Trials) knobs() []metrics.Knob {
	if len(t.AB) > 0 {
		return []metrics.Knob{{Name: metrics.VariantKnob, Values: metrics.VariantNames}}
	}
	return t.Knobs
}

// abPairs is the default number of trials of each variant of --ab.
const abPairs = 10

// perPoint is the plan's number of trials of every point. --until begins with 6 by
// default, the fewest that have a 95 % interval.
func (t Trials) perPoint() int {
	switch {
	case t.Each > 0:
		return t.Each
	case t.Until > 0:
		return 6
	case len(t.AB) > 0:
		return abPairs
	}
	return 1
}

// validate checks the flags against each other and the rest of the command line.
func (t Trials) validate(c Config, set map[string]bool) error {
	switch {
	case len(t.AB) > 0 && len(t.AB) != len(metrics.VariantNames):
		return errors.New("--ab: " + abForm)
	case len(t.AB) > 0 && (len(t.Knobs) > 0 || t.Until > 0 || t.SLO != nil || c.Grade != nil):
		return errors.New("--ab compares two variants, and excludes --sweep, --curve, --until, --slo and --grade")
	case t.Together && len(t.AB) == 0:
		return errors.New("--together needs --ab")
	case t.SLO != nil && (t.many() || t.Resume != ""):
		return errors.New("--slo makes one trial of each rate, and excludes --sweep, --curve, --trials, --until and --resume")
	case t.SLO != nil && plan.HasFlag(c.ClientArgs, "rate"):
		return errors.New("--slo searches for the rate: leave -rate out")
	case t.SLO != nil && c.Grade != nil:
		return errors.New("--slo excludes --grade")
	case set["trials"] && t.Each < 1:
		return fmt.Errorf("--trials %d: must be a positive whole number", t.Each)
	case t.Until > 0 && t.Each > experiment.Most:
		return fmt.Errorf("--trials %d: with --until at most %d", t.Each, experiment.Most)
	case set["seed"] && len(t.knobs()) == 0:
		return errors.New(`--seed needs --sweep or --ab (the operations' seed is the clients': --client-args "-seed N")`)
	case set["resume"] && t.Resume == "":
		return errors.New("--resume needs the folder of a sweep, as in --resume logs/latest")
	}
	for i, knob := range t.Knobs {
		if slices.ContainsFunc(t.Knobs[:i], func(k metrics.Knob) bool { return k.Name == knob.Name }) {
			return fmt.Errorf("--sweep %s is given twice: give all its values at once", knob.Name)
		}
		if other := t.rival(knob.Name, c); other != "" {
			return fmt.Errorf("--sweep %s: %s sets it too: give one of them", knob.Name, other)
		}
	}
	return nil
}

// rival names what else on the command line sets a knob, "" if nothing does.
func (t Trials) rival(name string, c Config) string {
	swept := func(name string) bool {
		return slices.ContainsFunc(t.Knobs, func(k metrics.Knob) bool { return k.Name == name })
	}
	switch {
	case name == "nodes" && (c.Servers > 0 || c.Clients > 0), name == "servers" && c.Servers > 0, name == "clients" && c.Clients > 0:
		return "the number of servers or clients"
	case name == "nodes" && swept("servers"):
		return "--sweep servers"
	case name == "nodes" && swept("clients"):
		return "--sweep clients"
	case name == "secs" && c.Secs > 0:
		return "--secs"
	case slices.ContainsFunc(c.Given, func(g experiment.Setting) bool { return g.Name == name }):
		return "--" + name
	case plan.HasFlag(c.ServerArgs, name):
		return "--server-args"
	case plan.HasFlag(c.ClientArgs, name):
		return "--client-args"
	}
	return ""
}
