// Package verify judges run folders again from their files alone.
package verify

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"kvlab/kvs/verdict"
	"kvlab/metrics"
	"kvlab/metrics/stats"
	"kvlab/plots/folder"
)

// Result is what came of verifying one run folder.
type Result struct {
	Folder     string
	Verdict    metrics.Verdict // that run.json has
	Difference string          // the first, with both figures; "" for none
	Skipped    []string        // what could not be compared, in words
}

// String is a line for people: "verify logs/x: VALID, as recorded".
func (r Result) String() string {
	text := fmt.Sprintf("verify %s: %s, as recorded", r.Folder, r.Verdict)
	if r.Difference != "" {
		text = fmt.Sprintf("verify %s: %s", r.Folder, r.Difference)
	}
	if len(r.Skipped) > 0 {
		text += "; not compared: " + strings.Join(r.Skipped, ", ")
	}
	return text
}

// Run verifies the run folder dir: it computes run.json again from the records of the nodes,
// judges it again, and compares. Of a folder of trials it verifies each. An error says why a
// folder cannot be read.
func Run(dir string) ([]Result, error) {
	dirs, err := filepath.Glob(filepath.Join(dir, "trial-*", "run.json"))
	if err != nil {
		return nil, err
	}
	for i := range dirs {
		dirs[i] = filepath.Dir(dirs[i])
	}
	if len(dirs) == 0 {
		dirs = []string{dir}
	}
	var results []Result
	for _, dir := range dirs {
		read, err := folder.Load(dir)
		if err != nil {
			return results, err
		}
		result := compare(read)
		result.Folder = dir
		results = append(results, result)
	}
	return results, nil
}

// compare compares run.json with what its nodes' records give.
func compare(read *folder.Run) Result {
	result := Result{Verdict: read.Verdict, Skipped: slices.Clone(read.Missing)}
	again := rebuild(read)
	if slices.ContainsFunc(again.Nodes, func(n metrics.RunNode) bool { return n.Summary == nil }) {
		again.Verdict, again.Bottleneck, again.Counting = read.Verdict, read.Bottleneck, read.Counting
		result.Skipped = append(result.Skipped, "the verdict: the run ended early")
	}
	d := difference{}
	recorded := read.Run
	if recorded.Counting == "" { // of an earlier release
		recorded.Counting = again.Counting
	}
	if recorded.Checks == nil {
		recorded.Checks = again.Checks
	}
	d.compare("", jsonOf(recorded), jsonOf(again))
	slices.Sort(d.absent)
	for _, name := range slices.Compact(d.absent) {
		result.Skipped = append(result.Skipped, name+" (not recorded)")
	}
	result.Difference = d.first
	return result
}

// rebuild returns the run with all that follows from the nodes' records computed again.
func rebuild(read *folder.Run) metrics.Run {
	run := read.Run
	run.Nodes = slices.Clone(run.Nodes)
	for i := range run.Nodes {
		node := &run.Nodes[i]
		at := slices.IndexFunc(read.Logs, func(l folder.Log) bool { return l.Node == node.Name && l.Role == node.Role })
		if at < 0 {
			continue
		}
		log := read.Logs[at]
		node.Config, node.Summary = log.Config, log.Summary
		if node.Heard != nil { // of it, the phases are by the launcher's clock
			heard := log.Heard
			heard.WarmUpS, heard.WindowS = node.Heard.WarmUpS, node.Heard.WindowS
			node.Heard = &heard
		}
		if node.MedianOpsPerS != nil {
			node.MedianOpsPerS = new(stats.Median(log.Rates))
		}
	}
	run.SetWorkload()
	run.Ops, run.OpsPerS, run.WindowS, run.OverlapShare = 0, 0, 0, 0
	run.Total, run.Applied, run.Offered, run.Retries, run.Skew = metrics.Counts{}, metrics.Counts{}, nil, nil, nil
	if read.HasLatencies() {
		run.Latency = read.Latencies.Quantiles()
	}
	if run.Audit != nil {
		run.Audit = verdict.JudgeAudit(run, run.Audit.Secret, audits(read.Logs))
	}
	run.Verdict = verdict.Judge(&run)
	if run.Bottleneck = nil; read.Bottleneck != nil {
		run.Bottleneck = verdict.FindBottleneck(run)
	}
	if run.Ceiling != nil {
		run.Ceiling = run.Ceiling.Over(run.OpsPerS, verdict.LinkIsFull(run.Bottleneck))
	}
	return run
}

// audits returns the records of the clients' audits.
func audits(logs []folder.Log) (records []metrics.AuditRecord) {
	for _, log := range logs {
		if log.Audit != nil {
			records = append(records, *log.Audit)
		}
	}
	return records
}
