package cluster

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/cluster/virtual"
	"kvlab/kvs/experiment"
	"kvlab/metrics"
	"kvlab/plots/compare"
	"kvlab/workload/profile"
)

// Rule says what may stand beside a flag. All names are of flags, with spaces between them.
type Rule struct {
	Flag     string
	Excludes string // none of them
	Needs    string // one of them, or of those that another rule of the flag needs
	Beside   string // nothing but them
	Why      string // of Beside: what decides on the rest
}

// rules are the rules of the launcher's own flags.
var rules = []Rule{
	{Flag: "nodes", Excludes: "hosts"},
	{Flag: "local", Excludes: "nodes hosts ssh-config"},
	{Flag: "slurm", Excludes: "local ssh-config"},
	{Flag: "virtual", Excludes: "local slurm nodes hosts ssh-config reap"},
	{Flag: "link-rate", Needs: "virtual"},
	{Flag: "preflight", Excludes: "dry-run"},
	{Flag: "ab", Excludes: "sweep curve until slo grade"},
	{Flag: "curve", Excludes: "sweep until grade"},
	{Flag: "together", Needs: "ab"},
	{Flag: "seed", Needs: "sweep curve slo ab"},
	{Flag: "slo", Excludes: "sweep until grade"},
	{Flag: "grade", Excludes: "sweep"},
	{Flag: "baseline", Excludes: "until"},
	{Flag: "fail-if", Excludes: "sweep curve slo ab soak selftest"},
	{Flag: "quick", Excludes: "soak selftest grade"},
	{Flag: "restart-at", Excludes: "soak selftest together curve slo grade"},
	{Flag: "name", Excludes: "resume"},
	{Flag: "soak", Excludes: "secs trials until sweep curve ab slo resume"},
	{Flag: "rerun", Beside: "times margin nodes hosts local slurm virtual link-rate ssh-config out name quick deadline no-ceiling v dry-run preflight check json",
		Why: "the recorded command decides on"},
	{Flag: "times", Needs: "rerun"},
	{Flag: "margin", Needs: "rerun"},
	{Flag: "selftest", Excludes: "trials until sweep curve ab slo resume secs soak grade server-args client-args"},
}

// checkRules returns an error for the first rule that the given flags break.
func checkRules(given map[string]bool, rules []Rule) error {
	for _, rule := range rules {
		if !given[rule.Flag] {
			continue
		}
		for _, other := range strings.Fields(rule.Excludes) {
			if given[other] {
				return fmt.Errorf("--%s excludes --%s", rule.Flag, other)
			}
		}
		var needs []string
		for _, other := range rules {
			if other.Flag == rule.Flag {
				needs = append(needs, strings.Fields(other.Needs)...)
			}
		}
		if len(needs) > 0 && !slices.ContainsFunc(needs, func(other string) bool { return given[other] }) {
			return fmt.Errorf("--%s needs --%s", rule.Flag, strings.Join(needs, " or --"))
		}
		for _, other := range slices.Sorted(maps.Keys(given)) {
			if beside := strings.Fields(rule.Beside); len(beside) > 0 && given[other] && other != rule.Flag && !slices.Contains(beside, other) {
				return fmt.Errorf("--%s: %s --%s; beside it may stand --%s", rule.Flag, rule.Why, other, strings.Join(beside, ", --"))
			}
		}
	}
	return nil
}

// validate checks the flags of a command line against each other.
func (c Config) validate(fs *flag.FlagSet) error {
	given := map[string]bool{"servers": c.Servers > 0, "clients": c.Clients > 0, "server-args": len(c.ServerArgs) > 0, "client-args": len(c.ClientArgs) > 0}
	fs.Visit(func(f *flag.Flag) { given[f.Name] = given[f.Name] || f.Value.String() != "false" })
	given["preflight"] = c.Preflight // by either name
	all := slices.Clone(rules)
	for _, kind := range c.extras.Kinds {
		all = append(all, kind.Rules...)
	}
	if err := checkRules(given, all); err != nil {
		return err
	}
	t := c.Trials
	switch {
	case given["rerun"] && c.Rerun.dir == "":
		return errors.New("--rerun needs the folder of a run")
	case c.Out == "" || given["resume"] && t.Resume == "":
		return errors.New("--out and --resume need the name of a folder")
	case len(t.Variants) > 0 && len(t.Variants) != len(metrics.VariantNames):
		return errors.New("--ab: " + abForm)
	case t.isCurve() && plan.HasFlag(c.ClientArgs, "rate"):
		return errors.New("--curve and --slo choose the rates: leave -rate out")
	case slices.ContainsFunc(c.FailIf, compare.Limit.Relative) != (c.Baseline != ""):
		return errors.New("--baseline NAME and a --fail-if in per cent of it, such as slower=5%, belong together; alone --fail-if needs a value, such as rate=1M or p99=5ms")
	case t.Until > 0 && t.Trials > experiment.Most:
		return fmt.Errorf("--trials %d: with --until at most %d", t.Trials, experiment.Most)
	case c.Deadline > 0 && c.Deadline <= c.Soak:
		return fmt.Errorf("--deadline %s: the window of --soak %s is as long already", c.Deadline, c.Soak)
	}
	if given["virtual"] {
		if err := virtual.ValidateHosts(c.Lab.Hosts); err != nil {
			return err
		}
	}
	for i, knob := range t.Knobs {
		if hasKnob(t.Knobs[:i], knob.Name) {
			return fmt.Errorf("--sweep %s is given twice: give all its values at once", knob.Name)
		}
		if c.sets(knob.Name) {
			return fmt.Errorf("--sweep %s: the rest of the command line sets it too", knob.Name)
		}
	}
	return nil
}

// fitStages refuses what does not go with the stages of a -rate, and notes the window that they
// make. The client names what is wrong with the stages themselves.
func (c *Config) fitStages() error {
	rate := profile.Parsed(plan.ValueOf(c.ClientArgs, "rate"))
	if rate.Stages == nil {
		return nil
	}
	switch {
	case c.Soak > 0:
		return fmt.Errorf("--soak: it is as long as it says, and so are the stages of -rate %s: want one of them", rate)
	case c.Secs == 0 && !plan.HasFlag(c.ClientArgs, "secs"):
		if window, _ := rate.Fit(0, false); window > 0 {
			c.notes = append(c.notes, fmt.Sprintf("-rate: its stages make a window of %v", window))
			c.ClientArgs = plan.With(c.ClientArgs, "secs", strconv.FormatFloat(window.Seconds(), 'f', -1, 64)) // --quick gives another
		}
	}
	return nil
}

// checkEnds returns an error if what the command line asks for takes a time that is known, and a
// client's run ends with its operations.
func (c Config) checkEnds(client metrics.Settings) error {
	for _, f := range []struct {
		name  string
		asked bool
	}{{"soak", c.Soak > 0}, {"restart-at", c.RestartAt > 0}, {"together", c.Trials.Together}, {"grade", c.Grade != nil}, {"selftest", c.SelfTest != nil}} {
		if f.asked && client.Ops() > 0 {
			return fmt.Errorf("--%s measures for a time, and the run ends with its operations (-ops, or -replay without -replay-loop)", f.name)
		}
	}
	return nil
}

// sets reports whether the command line sets a knob, beside the --sweep of its name.
func (c Config) sets(knob string) bool {
	switch {
	case knob == "nodes" && (c.Servers > 0 || c.Clients > 0 || hasKnob(c.Trials.Knobs, "servers") || hasKnob(c.Trials.Knobs, "clients")):
		return true
	case knob == "servers" && c.Servers > 0, knob == "clients" && c.Clients > 0, knob == "secs" && c.Secs > 0:
		return true
	}
	return plan.HasFlag(c.ServerArgs, knob) || plan.HasFlag(c.ClientArgs, knob)
}

func hasKnob(knobs []metrics.Knob, name string) bool {
	return slices.ContainsFunc(knobs, func(k metrics.Knob) bool { return k.Name == name })
}
