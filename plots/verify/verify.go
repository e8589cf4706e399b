// Package verify computes the figures of runs and sweeps again from the records of their
// nodes, and compares them with what their folders show.
package verify

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kvlab/kvs/experiment"
	"kvlab/metrics"
	"kvlab/metrics/build"
	"kvlab/metrics/format"
	"kvlab/metrics/manifest"
	"kvlab/plots/folder"
)

// Result is the result of verifying one folder.
type Result struct {
	Folder      string          `json:"folder"`
	Verdict     metrics.Verdict `json:"verdict"`               // that the records give
	Differences []string        `json:"differences,omitempty"` // a line for each file or field, which it begins with
	Unchecked   []string        `json:"not_checked,omitempty"` // what could not be checked, and why
}

// mostDifferences is how many differences String shows.
const mostDifferences = 5

// String returns a line for people, "verify logs/x: VALID, as recorded", and one for each of the
// first differences, and for what could not be checked.
func (r Result) String() string {
	if len(r.Differences) == 0 {
		return strings.Join(append([]string{fmt.Sprintf("verify %s: %s, as recorded", r.Folder, r.Verdict)}, r.notes()...), "\n")
	}
	lines := []string{fmt.Sprintf("verify %s: not as recorded: %s", r.Folder, format.Plural(len(r.Differences), "difference"))}
	for i, line := range r.Differences {
		if i == mostDifferences {
			lines = append(lines, fmt.Sprintf("  and %d more", len(r.Differences)-i))
			break
		}
		lines = append(lines, "  "+line)
	}
	return strings.Join(append(lines, r.notes()...), "\n")
}

func (r Result) notes() (lines []string) {
	for _, what := range r.Unchecked {
		lines = append(lines, "  not checked: "+what)
	}
	return lines
}

// Kind returns the experiment of a plan, whose folder is dir; nil of a plan of another kind. Each
// extra that has a kind of experiments has one.
type Kind func(dir string, plan metrics.Sweep) experiment.Experiment

// Run verifies the folder of a run, or of an experiment and each of its trials, whose results
// come first. kinds are those of experiments beside the launcher's own. An error says that a
// folder is none of these.
func Run(dir string, kinds ...Kind) (results []Result, err error) {
	files := func(pattern string) bool {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		return err == nil && len(found) > 0
	}
	switch {
	case files(metrics.SweepFile), files(metrics.TrialsFile):
		results = sweep(dir, kinds)
	case files("trial-*/" + runFile):
		results = trials(dir)
	case files(runFile), files("kvs*.jsonl"):
		one, _ := run(dir)
		results = []Result{one}
	default:
		return nil, fmt.Errorf("%s is not a run folder: neither %s nor %s is in it", dir, runFile, metrics.SweepFile)
	}
	last := &results[len(results)-1]
	lines, err := manifest.Check(dir)
	if errors.Is(err, fs.ErrNotExist) {
		lines, err = []string{metrics.ManifestFile + ": the file is missing: the launcher did not come to its end, or the file was removed"}, nil
	}
	if err != nil {
		lines = append(lines, err.Error())
	}
	last.Differences = append(last.Differences, lines...)
	last.Unchecked = append(last.Unchecked, "pictures and pages: kvsplot RUN draws them again", "what no node recorded, beyond "+metrics.ManifestFile+": "+unwitnessed)
	return results, nil
}

const runFile = "run.json"

// trials verifies the trials of an experiment that has no plan, as a self-test has none.
func trials(dir string) (results []Result) {
	folders, _ := filepath.Glob(filepath.Join(dir, "trial-*", runFile)) // the pattern is right
	for _, file := range folders {
		if !strings.Contains(filepath.Base(filepath.Dir(file)), "-cut") {
			one, _ := run(filepath.Dir(file))
			results = append(results, one)
		}
	}
	last := &results[len(results)-1]
	last.Unchecked = append(last.Unchecked, "the files of "+dir+", which has no "+metrics.SweepFile)
	return results
}

// run verifies a run and its ceilings, and returns the run that the records give; one without
// nodes if the folder cannot be read.
func run(dir string) (Result, metrics.Run) {
	result, again := runAlone(dir)
	if again.Nodes == nil {
		return result, again
	}
	ceilings, _ := filepath.Glob(filepath.Join(dir, "ceiling-*")) // the pattern is right
	for _, below := range ceilings {
		found, _ := runAlone(below)
		for _, line := range found.Differences {
			result.Differences = append(result.Differences, filepath.Join(filepath.Base(below), line))
		}
	}
	if len(ceilings) > 0 && again.Verdict.Stands() && again.Ceiling == nil {
		result.Differences = append(result.Differences, runFile+": ceiling is missing, and the folders of its runs are there")
	}
	text, err := os.ReadFile(filepath.Join(dir, "summary.txt"))
	result.Differences = append(result.Differences, sameText("summary.txt", text, err, experiment.Benchmark(again))...)
	return result, again
}

// runAlone verifies a run without its ceilings.
func runAlone(dir string) (result Result, again metrics.Run) {
	result.Folder = dir
	read, err := folder.Load(dir)
	if err != nil {
		result.Differences = []string{strings.TrimPrefix(err.Error(), dir+": ")}
		return result, again
	}
	if slices.Contains(read.Missing, runFile) {
		result.Differences = []string{runFile + ": the file is missing"}
		return result, again
	}
	again = rebuild(dir, read, judgeOf(dir))
	result.Verdict = again.Verdict
	for _, missing := range read.Missing {
		if again.Verdict.Stands() {
			result.Differences = append(result.Differences, missing+" is missing")
		} else {
			result.Unchecked = append(result.Unchecked, missing+", which the run did not write")
		}
	}
	result.Differences = append(result.Differences, seconds(read)...)
	claims(dir, read, &result)
	if log, err := os.Open(filepath.Join(dir, "latency.hlog")); err != nil {
		result.Differences = append(result.Differences, "latency.hlog: the file is missing")
	} else {
		if err := read.Latencies.CheckLog(log); err != nil {
			result.Differences = append(result.Differences, fmt.Sprintf("latency.hlog: %v", err))
		}
		log.Close()
	}
	d := difference{prefix: runFile}
	if own := build.Commit(); own != "" && own != read.GitCommit { // its sentences may have other words
		d.figures = true
		result.Unchecked = append(result.Unchecked, "the words of its sentences beside their figures: commit "+cmp.Or(read.GitCommit, "unknown")+" wrote them")
	}
	d.compare("", jsonOf(read.Run), jsonOf(again))
	result.Differences = append(d.lines, result.Differences...)
	return result, again
}

// seconds compares the sum of each node's intervals, which follow each other, with its summary.
// A host of a foreign store counts nothing itself.
func seconds(read *folder.Run) (lines []string) {
	for _, log := range read.Logs {
		if log.Summary == nil || log.Config == nil || log.Config.Capabilities != nil && log.Config.Capabilities.Driver != "" {
			continue
		}
		name := fmt.Sprintf("kvs%s-%s.jsonl", log.Role, log.Node)
		if log.Broken {
			lines = append(lines, name+": an interval is missing, or is not where the one before ends")
		}
		lines = append(lines, differences(name+": the sum of its intervals", log.Counts, log.Summary.Total)...)
	}
	return lines
}

// sameText compares a text file, or the error of its reader, with the text that the records
// give.
func sameText(name string, text []byte, err error, want string) []string {
	if err != nil {
		return []string{name + ": the file is missing"}
	}
	got := bytes.Split(text, []byte("\n"))
	for i, line := range strings.Split(want, "\n") {
		if i >= len(got) || string(got[i]) != line {
			return []string{fmt.Sprintf("%s:%d: the records give %q", name, i+1, line)}
		}
	}
	if string(text) != want {
		return []string{name + ": it has more lines than the records give"}
	}
	return nil
}
