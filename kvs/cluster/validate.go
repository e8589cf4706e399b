package cluster

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"

	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/cluster/virtual"
	"kvlab/kvs/experiment"
	"kvlab/metrics"
	"kvlab/metrics/stats"
)

// rules name the flags that a flag excludes, and those of which it needs one. For a flag
// whose value decides on the rest, they name all that may stand beside it, and say why.
var rules = []struct{ flag, excludes, needs, beside, why string }{
	{flag: "nodes", excludes: "hosts"},
	{flag: "local", excludes: "nodes hosts ssh-config"},
	{flag: "slurm", excludes: "local ssh-config"},
	{flag: "virtual", excludes: "local slurm nodes hosts ssh-config reap"},
	{flag: "link-rate", needs: "virtual"},
	{flag: "preflight", excludes: "dry-run"},
	{flag: "json", needs: "preflight"},
	{flag: "ab", excludes: "sweep curve until slo grade"},
	{flag: "curve", excludes: "sweep until grade"},
	{flag: "together", needs: "ab"},
	{flag: "seed", needs: "sweep curve slo ab study class"},
	{flag: "only", needs: "class", excludes: "check-one"},
	{flag: "check-one", needs: "class"},
	{flag: "study", excludes: "sweep curve slo ab until soak grade selftest secs symmetric servers-per-node clients-per-node"},
	{flag: "slo", excludes: "sweep until grade"},
	{flag: "grade", excludes: "sweep"},
	{flag: "baseline", needs: "fail-if", excludes: "sweep curve slo ab until study soak selftest"},
	{flag: "fail-if", needs: "baseline"},
	{flag: "quick", excludes: "soak selftest grade"},
	{flag: "restart-at", excludes: "soak selftest study together curve slo grade"},
	{flag: "name", excludes: "resume"},
	{flag: "soak", excludes: "secs trials until sweep curve ab slo resume"},
	{flag: "class", beside: "only check-one resume out name seed v no-ceiling nodes hosts local slurm virtual link-rate ssh-config dry-run preflight check json deadline tune",
		why: "the class file decides on"},
	{flag: "rerun", beside: "times margin nodes hosts local slurm virtual link-rate ssh-config out name quick deadline no-ceiling v dry-run preflight check json",
		why: "the recorded command decides on"},
	{flag: "times", needs: "rerun"},
	{flag: "margin", needs: "rerun"},
	{flag: "selftest", excludes: "trials until sweep curve ab slo resume secs soak grade server-args client-args"},
}

// checkRules returns an error for the first rule that the given flags break.
func checkRules(given map[string]bool) error {
	for _, rule := range rules {
		if !given[rule.flag] {
			continue
		}
		for _, other := range strings.Fields(rule.excludes) {
			if given[other] {
				return fmt.Errorf("--%s excludes --%s", rule.flag, other)
			}
		}
		needs := strings.Fields(rule.needs)
		if len(needs) > 0 && !slices.ContainsFunc(needs, func(other string) bool { return given[other] }) {
			return fmt.Errorf("--%s needs --%s", rule.flag, strings.Join(needs, " or --"))
		}
		for _, other := range slices.Sorted(maps.Keys(given)) {
			if beside := strings.Fields(rule.beside); len(beside) > 0 && given[other] && other != rule.flag && !slices.Contains(beside, other) {
				return fmt.Errorf("--%s: %s --%s; beside it may stand --%s", rule.flag, rule.why, other, strings.Join(beside, ", --"))
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
	if err := checkRules(given); err != nil {
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
	case len(t.Studies) > 0 && (c.Servers > 0 || len(c.ServerArgs) > 0 || len(c.ClientArgs) > 0):
		return errors.New("--study: the study says how many servers and clients run, and with which arguments: leave them out")
	case t.Trials > 0 && t.Trials < stats.RatioTrials && len(t.Studies) > 0:
		return fmt.Errorf("--trials %d: a study needs at least %d", t.Trials, stats.RatioTrials)
	case t.isCurve() && plan.HasFlag(c.ClientArgs, "rate"):
		return errors.New("--curve and --slo choose the rates: leave -rate out")
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
