package report

import (
	"maps"
	"slices"
	"strings"

	"kvlab/metrics"
	"kvlab/plots/folder"
)

// flagsOf returns the flags of a run's work and of its servers that are not empty, without
// those that a sweep varies.
func flagsOf(r *folder.Run, knobs []metrics.Knob) map[string]string {
	all := map[string]string{}
	for flag, value := range r.Workload {
		all["-"+flag] = value
	}
	for flag, value := range serverFlags(r.Run) {
		all["servers' -"+flag] = value
	}
	if r.Store != nil { // the other flags are of kvlab's own servers
		maps.DeleteFunc(all, func(name, _ string) bool { return strings.HasPrefix(name, "servers' -") && name != "servers' -target" })
		all["store"] = r.Store.RankClass() + ", counts " + string(r.Counting)
	}
	if r.Contained != nil {
		all["servers' programs"] = r.Contained.RankClass()
	}
	for _, node := range r.Servers() {
		if node.Config != nil && node.Config.Capabilities != nil {
			all["servers' engine"] = node.Config.Capabilities.Engine
		}
	}
	maps.DeleteFunc(all, func(name, value string) bool {
		return value == "" || slices.ContainsFunc(knobs, func(k metrics.Knob) bool {
			return strings.HasSuffix(name, "-"+k.Name[strings.LastIndexByte(k.Name, '.')+1:])
		})
	})
	return all
}

// serverFlags returns the flags that are the same on every server.
func serverFlags(run metrics.Run) map[string]string {
	var all map[string]string
	for _, node := range run.Servers() {
		switch {
		case node.Config == nil:
		case all == nil:
			all = maps.Clone(node.Config.Flags)
		default:
			maps.DeleteFunc(all, func(flag, value string) bool { return node.Config.Flags[flag] != value })
		}
	}
	if config := run.Config(metrics.Server); config != nil {
		for _, own := range config.FlagsOf(metrics.OwnFlag) {
			delete(all, own)
		}
	}
	return all
}
