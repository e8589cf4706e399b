package plots

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"kvlab/metrics"
	"kvlab/metrics/curve"
	"kvlab/metrics/format"
	"kvlab/plots/chart"
	"kvlab/plots/figure"
	"kvlab/plots/folder"
)

// LoadCurves reads folders of --curve or --slo, and draws their curves in one figure, each
// named by a letter and by the settings in which they differ. Curves of different work are
// an error that names the difference, unless overlay asks for them.
func LoadCurves(overlay bool, dirs ...string) (d Drawing, err error) {
	if len(dirs) < 2 {
		return d, errors.New("want kvsplot curves A B [more], for example kvsplot curves logs/a logs/b, with folders of --curve or --slo")
	}
	var curves []chart.Curve
	var works, settings []map[string]string
	f := figure.Figure{Name: "latency_throughput", Title: "Latency by throughput, open loop"}
	for _, dir := range dirs {
		s, err := folder.LoadSweep(dir)
		if err != nil {
			return d, err
		}
		open := slices.IndexFunc(s.Trials, func(t metrics.Trial) bool { return t.Verdict.Valid && t.OfferedOpsPerS > 0 })
		if !curve.Is(s.Sweep) || open < 0 {
			return d, fmt.Errorf("%s has no curve: want a folder of --curve or --slo with a valid trial of a rate", dir)
		}
		for _, trial := range s.Failed() {
			d.Notes = append(d.Notes, "left out "+format.Label(fmt.Sprintf("%s/%s: %s", dir, trial.Folder, trial.Verdict), 300))
		}
		work, rest := workOf(s.Runs[open])
		curves, works, settings = append(curves, chart.CurvesOf(s)...), append(works, work), append(settings, rest)
		f.Subtitle = folder.DescribeWork(work)
	}
	differ := folder.Differences(works)
	if len(differ) > 0 && !overlay {
		var each []string
		for i, dir := range dirs {
			each = append(each, dir+" has "+valuesOf(works[i], differ))
		}
		return d, fmt.Errorf("the curves are of different work: %s (--overlay draws them all the same)", strings.Join(each, "; "))
	}
	if len(differ) > 0 {
		f.Subtitle = "different work: " + strings.Join(differ, ", ")
		for i := range settings {
			maps.Copy(settings[i], works[i])
		}
	}
	differ = folder.Differences(settings)
	var tables []string
	for i := range curves {
		curves[i].Name = fmt.Sprintf("%c %s", 'A'+i, cmp.Or(format.Label(valuesOf(settings[i], differ), 60), dirs[i]))
		tables = append(tables, fmt.Sprintf("%s, %s\n%s\n", curves[i].Name, dirs[i], curves[i].Curve))
	}
	d.figures, d.Summary = []figure.Figure{chart.CurveFigure(f, curves)}, strings.Join(tables, "\n")
	return d, nil
}

// workOf returns the settings of a run that say what the clients asked for, and the rest,
// which say whom they asked and how.
func workOf(r *folder.Run) (work, rest map[string]string) {
	work, rest = maps.Clone(map[string]string(r.Workload)), r.Configuration()
	config := r.Config(metrics.Client)
	maps.DeleteFunc(work, func(name, _ string) bool {
		asked := config.ClassOf(name) == metrics.WorkFlag && name != "seed" && name != "workers"
		return !asked && !slices.Contains([]string{"value-size", "key-size", "key-prefix"}, name)
	})
	maps.DeleteFunc(rest, func(name, _ string) bool { return work[name] != "" || name == curve.Knob })
	return work, rest
}

// valuesOf returns some settings for people: "batch 64, engine slab".
func valuesOf(settings map[string]string, names []string) string {
	var words []string
	for _, name := range names {
		words = append(words, name+" "+format.Label(cmp.Or(settings[name], "none"), 16))
	}
	return strings.Join(words, ", ")
}
