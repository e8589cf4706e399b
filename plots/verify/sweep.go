package verify

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kvlab/kvs/experiment"
	"kvlab/metrics"
	"kvlab/metrics/curve"
)

// sweep verifies each trial of a sweep or a curve, and its own files, whose result is the
// last.
func sweep(dir string, kinds []Kind) (results []Result) {
	own := Result{Folder: dir}
	plan, recorded, err := metrics.ReadSweep(dir)
	if err != nil {
		own.Differences = []string{strings.TrimPrefix(err.Error(), dir+string(filepath.Separator))}
		return []Result{own}
	}
	done := make([]metrics.Trial, 0, len(recorded))
	for _, then := range recorded {
		var t metrics.Trial
		for attempt := range len(then.Earlier) + 1 {
			planned := experiment.PlannedTrial{PlannedTrial: then.PlannedTrial, Attempt: attempt + 1}
			one, again := run(filepath.Join(dir, planned.Folder()))
			if again.Nodes == nil {
				own.Differences = append(own.Differences, planned.Folder()+": the trial cannot be read")
				results = append(results, one)
				continue
			}
			one.Differences = append(one.Differences, stated(plan, planned, again)...)
			results = append(results, one)
			earlier := t.Earlier
			if attempt > 0 { // why it was made again is the launcher's word
				earlier = append(earlier, metrics.Attempt{Folder: t.Folder, Verdict: t.Verdict, Outside: then.Earlier[attempt-1].Outside})
			}
			t = metrics.TrialOf(then.PlannedTrial, planned.Folder(), again)
			t.Earlier, t.Outside = earlier, then.Outside
		}
		done = append(done, t)
	}
	if len(own.Differences) > 0 {
		return append(results, own) // no more can be said of the whole
	}
	kind := kindOf(dir, plan, kinds)
	if kind == nil {
		own.Verdict = metrics.Verdict{Valid: true}
		own.Unchecked = append(own.Unchecked, "the files and the conclusion of a class or a study; its trials are")
		return append(results, own)
	}
	for _, below := range evenings(dir) {
		results = append(results, sweep(below, kinds)...)
	}
	own.Differences = slices.Concat(order(plan, kind, done), surplus(dir, kind, done), files(dir, kind, done))
	if groups, _ := kind.Next(done); len(groups) > 0 {
		own.Unchecked = append(own.Unchecked, "trials that were not made: the experiment was interrupted")
	}
	if own.Verdict = kind.Conclude(done, nil).Verdict; len(done) == 0 {
		own.Verdict = metrics.Verdict{Reason: "no trial has ended"}
	}
	if _, err := os.Stat(filepath.Join(dir, metrics.RerunFile)); err == nil {
		own.Unchecked = append(own.Unchecked, metrics.RerunFile+", which compares with another folder")
	}
	return append(results, own)
}

// evenings returns the folders of experiments below that of one.
func evenings(dir string) (below []string) {
	files, _ := filepath.Glob(filepath.Join(dir, "*", metrics.SweepFile)) // the pattern is right
	for _, file := range files {
		if info, err := os.Lstat(filepath.Dir(file)); err == nil && info.IsDir() { // no link to the latest
			below = append(below, filepath.Dir(file))
		}
	}
	return below
}

// kindOf returns the experiment of a plan; nil if none of the kinds has it.
func kindOf(dir string, plan metrics.Sweep, kinds []Kind) experiment.Experiment {
	for _, of := range kinds {
		if kind := of(dir, plan); kind != nil {
			return kind
		}
	}
	if plan.Class != nil || plan.Study != nil {
		return nil
	}
	s := experiment.Sweep{Plan: plan}
	if !curve.Is(plan) {
		return s
	}
	objective, _ := curve.ParseObjective(plan.SLO) // "" of a curve without one
	c := experiment.Curve{Sweep: s, Objective: objective}
	for n := len(plan.Knobs[0].Values); n > 0; n-- { // the last ones may be those of a search
		c.Rates = plan.Knobs[0].Values[1:n]
		order := c.Planned(plan).Order
		if len(order) <= len(plan.Order) && len(differences("", plan.Order[:len(order)], order)) == 0 {
			break
		}
	}
	return c
}

// order compares the trials, and the plan of a sweep, with the order that follows from the
// points, the seed and the results so far.
func order(plan metrics.Sweep, kind experiment.Experiment, done []metrics.Trial) (lines []string) {
	if _, ok := kind.(experiment.Sweep); ok {
		for _, knob := range plan.Knobs {
			typed := knob.Name + "=" + strings.Join(knob.Values, ",")
			if len(plan.Variants) == 0 && !slices.ContainsFunc(plan.Command, func(word string) bool { return strings.HasSuffix(word, typed) }) {
				lines = append(lines, fmt.Sprintf("%s: the command has no --sweep %s", metrics.SweepFile, typed))
			}
		}
		lines = append(lines, differences(metrics.SweepFile+": order", plan.Order, experiment.Order(plan.Knobs, plan.Trials, plan.Seed))...)
	}
	for i, t := range done {
		groups, err := kind.Next(done[:i])
		if err != nil || len(groups) == 0 {
			return append(lines, fmt.Sprintf("%s: trial %d is one more than the plan has", metrics.TrialsFile, t.Number))
		}
		at := slices.IndexFunc(groups[0], func(p experiment.PlannedTrial) bool { return p.Number == t.Number }) // of a pair
		if more := differences(fmt.Sprintf("%s: trial %d, by the plan", metrics.TrialsFile, t.Number), t.PlannedTrial, groups[0][max(0, at)].PlannedTrial); more != nil {
			return append(lines, more...)
		}
	}
	return lines
}

// surplus names the folders of trials that the sweep has not made. A trial that was
// interrupted has one, and is the next of the plan.
func surplus(dir string, kind experiment.Experiment, done []metrics.Trial) (lines []string) {
	known := make(map[string]bool)
	for _, t := range done {
		known[t.Folder] = true
		for _, a := range t.Earlier {
			known[a.Folder] = true
		}
	}
	if groups, err := kind.Next(done); err == nil && len(groups) > 0 {
		for _, p := range groups[0].After(done) {
			known[p.Folder()] = true
		}
	}
	folders, _ := filepath.Glob(filepath.Join(dir, "trial-*")) // the pattern is right
	for _, path := range folders {
		if name := filepath.Base(path); !known[name] && !strings.Contains(name, "-cut") {
			lines = append(lines, fmt.Sprintf("%s: %s has no such trial", name, metrics.TrialsFile))
		}
	}
	return lines
}

// files compares the files of an experiment with those that its trials give.
func files(dir string, kind experiment.Experiment, done []metrics.Trial) (lines []string) {
	all := kind.Files(done, false)
	maps.Copy(all, kind.Files(done, true))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if want, ok := all[name].([]byte); ok {
			lines = append(lines, sameText(name, text, err, string(want))...)
			continue
		}
		var recorded any
		if err == nil {
			err = json.Unmarshal(text, &recorded)
		}
		if err != nil {
			lines = append(lines, fmt.Sprintf("%s: %v", name, err))
			continue
		}
		lines = append(lines, differences(name, recorded, all[name])...)
	}
	return lines
}

// stated compares what the launcher states of a trial with what it states of the sweep.
func stated(plan metrics.Sweep, p experiment.PlannedTrial, run metrics.Run) (lines []string) {
	want := run
	want.ID, want.Command = plan.ID+"/"+p.Folder(), plan.Command
	if len(plan.Variants) == 0 && plan.Class == nil && plan.Study == nil {
		want.GitCommit, want.Lab = plan.GitCommit, plan.Lab
		for i, node := range want.Nodes {
			if node.Config != nil {
				config := *node.Config
				if config.Binary != plan.Programs[node.Role.Rival()] {
					config.Binary = plan.Programs[node.Role]
				}
				want.Nodes = slices.Clone(want.Nodes)
				want.Nodes[i].Config = &config
			}
		}
	}
	return differences(runFile+", by "+metrics.SweepFile, run, want)
}
