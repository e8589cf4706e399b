package verify

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"kvlab/kvs/experiment"
	"kvlab/kvs/verdict"
	"kvlab/kvs/verdict/audit"
	"kvlab/kvs/verdict/bottleneck"
	"kvlab/kvs/verdict/stages"
	"kvlab/metrics"
	"kvlab/metrics/account"
	"kvlab/plots/folder"
)

// unwitnessed lists the fields of run.json that no record of a node has. The launcher states
// them, and only the manifest shows that somebody has changed them.
const unwitnessed = "id, version, command, git_commit, changed_files, server_commit, started, ended, lab, together, symmetric, quick, contained, preflight; " +
	"the nodes' order, machines, addresses and peaks of memory; check (of all clients together); value_key and choice; asked (the nodes' flags as the launcher resolved them); ceiling.note; whether the run was a soak; the samples of processors, memory and network over time; the nodes' logs"

// rebuild computes a run again from the nodes' records and from what only the launcher can
// state. dir is the run's folder, and judge its checks.
func rebuild(dir string, read *folder.Run, judge func(*metrics.Run) metrics.Verdict) metrics.Run {
	then := read.Run
	run := metrics.Run{
		Result:  metrics.Result{Started: then.Started, Ended: then.Ended, Quick: then.Quick},
		Version: then.Version, ID: then.ID, Command: then.Command, GitCommit: then.GitCommit, Changed: then.Changed, ServerCommit: then.ServerCommit,
		Lab: then.Lab, Preflight: then.Preflight, Together: then.Together, Symmetric: then.Symmetric, Contained: then.Contained, Check: then.Check, ValueKey: then.ValueKey, Choice: then.Choice, Asked: then.Asked,
	}
	var reported []*account.Reported
	for _, node := range then.Nodes {
		run.Nodes = append(run.Nodes, metrics.RunNode{Name: node.Name, Role: node.Role, Machine: node.Machine, Address: node.Address, PeakBytes: node.PeakBytes})
		log := new(account.Reported) // of a node without a file
		if i := slices.IndexFunc(read.Logs, func(l folder.Log) bool { return l.Node == node.Name && l.Role == node.Role }); i >= 0 {
			log = &read.Logs[i].Reported
		}
		reported = append(reported, log)
	}
	account.Fill(&run, reported, read.IsSoak())
	run.Latency = read.Latencies.Quantiles()
	run.Stages, run.Unrecovered = stages.Of(run, read.Latencies)
	finished := account.IsFinished(reported)
	if isCeiling := then.Command == nil; finished && !isCeiling {
		secret := ""
		if then.Audit != nil {
			secret = then.Audit.Secret
		}
		run.Audit = audit.Judge(run, secret, account.Audits(reported))
	}
	switch run.Verdict = judge(&run); {
	case !finished && (then.Verdict.Stands() || then.Verdict.Check == verdict.Ceiling):
		run.Verdict = metrics.Verdict{Reason: "the run did not come to its end"}
	case !finished:
		run.Verdict = then.Verdict // what ended the run is the launcher's word
	case run.Verdict.Stands() || run.Verdict.Check == verdict.Injected:
		run.Verdict = pairVerdict(dir, run)
	}
	if then.Command != nil && (run.Verdict.Valid || run.Verdict.Check == verdict.Ceiling) {
		run.Bottleneck = bottleneck.Find(run)
	}
	if run.Verdict.Valid && then.Ceiling != nil {
		run.Ceiling = ceilingOf(dir, *then.Ceiling).Over(run.OpsPerS, bottleneck.LinkIsFull(run.Bottleneck))
	}
	return run
}

// pairVerdict returns the verdict on a run that passes all other checks: VALID if the other run
// of its pair had the same window.
func pairVerdict(dir string, run metrics.Run) metrics.Verdict {
	if run.Together == "" {
		return run.Verdict
	}
	other, err := folder.LoadResult(filepath.Join(filepath.Dir(dir), filepath.Base(run.Together)))
	if err != nil {
		return metrics.Verdict{Reason: fmt.Sprintf("the other run of the pair cannot be read: %v", err)}
	}
	if apart := verdict.CheckCommonWindow(run, other.Run); !apart.Valid {
		return apart
	}
	return run.Verdict
}

// ceilingOf computes the rates of a ceiling again from the folders of the runs that measured
// them.
func ceilingOf(dir string, then metrics.Ceiling) metrics.Ceiling {
	c := metrics.Ceiling{Tried: then.Tried || len(then.From) > 0, Note: then.Note, From: then.From}
	for kind, at := range then.From {
		at = filepath.Join(dir, at)
		read, err := folder.Load(at)
		if err != nil {
			continue // its rate is then 0
		}
		run := rebuild(at, read, judgeOf(at))
		if run.Verdict.Check != verdict.Ceiling {
			continue
		}
		switch strings.TrimPrefix(kind, "ceiling-") {
		case "null":
			c.NullOpsPerS, c.Protocol = run.OpsPerS, run.Protocol()
		case "inproc":
			c.InprocOpsPerS = run.OpsPerS
		case "wire":
			c.WireOpsPerS = run.OpsPerS
		}
	}
	return c
}

// judgeOf returns the checks of the run in a folder, which may be that of a ceiling.
func judgeOf(dir string) func(*metrics.Run) metrics.Verdict {
	for _, kind := range experiment.CeilingsOf(nil, 1) {
		if strings.HasPrefix(filepath.Base(dir), kind.Folder) {
			return kind.Judge
		}
	}
	return verdict.Judge
}
