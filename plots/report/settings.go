package report

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/plots/folder"
)

// settings repeat the run: the flags of the work, the servers' flags, the command.
// Empty ones are left out.
func settings(r *folder.Run) []setting {
	var all []setting
	add := func(name, value string) {
		if value != "" {
			all = append(all, setting{name, value})
		}
	}
	for _, flag := range slices.Sorted(maps.Keys(r.Workload)) {
		add("-"+flag, r.Workload[flag])
	}
	flags := serverFlags(r.Run)
	for _, flag := range slices.Sorted(maps.Keys(flags)) {
		add("servers' -"+flag, flags[flag])
	}
	for _, node := range r.Nodes {
		if node.Config != nil && node.Config.Capabilities != nil && node.Config.Capabilities.Engine != "" {
			add("servers' engine", node.Config.Capabilities.Engine)
			break
		}
	}
	add("command", format.CommandLine(r.Command))
	add("git commit", r.GitCommit)
	if r.Seed != 0 {
		add("run seed", fmt.Sprint(r.Seed))
	}
	if !r.Started.IsZero() {
		add("started", r.Started.UTC().Format(time.DateTime+" UTC"))
	}
	if !r.Ended.IsZero() {
		add("ended", r.Ended.UTC().Format(time.DateTime+" UTC"))
	}
	for _, role := range []metrics.Role{metrics.Server, metrics.Client} {
		add(string(role)+"s' interface", r.Usage[role].DataInterface)
	}
	return all
}

// serverFlags are the flags that are the same on every server.
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

// hardwareSection is the table of the machines.
func hardwareSection(nodes []metrics.RunNode) section {
	machines := folder.Hardware(nodes)
	if len(machines) == 0 {
		return section{}
	}
	return section{ID: "hardware", Brief: true, Title: "Hardware", Machines: machines}
}
