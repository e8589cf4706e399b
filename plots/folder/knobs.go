package folder

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"kvlab/metrics"
)

// NodesKnob is the number of nodes as a knob.
const NodesKnob = "nodes"

// SweepOf makes a sweep whose trials are the runs. Its knobs are the number of nodes
// and the settings in which the runs differ, except for seeds.
func SweepOf(runs []*Run) *Sweep {
	settings := make([]map[string]string, len(runs))
	for i, r := range runs {
		settings[i] = Configuration(r)
	}
	s := &Sweep{Sweep: metrics.Sweep{Seed: 1}, Runs: runs}
	for _, name := range append([]string{NodesKnob}, otherKnobs(settings)...) {
		s.Knobs = append(s.Knobs, knobOf(name, settings))
	}
	for i, r := range runs {
		var point []string
		for _, knob := range s.Knobs {
			point = append(point, settings[i][knob.Name])
		}
		next := metrics.PlannedTrial{Number: i + 1, Point: point}
		s.Order = append(s.Order, next)
		s.Trials = append(s.Trials, metrics.TrialOf(next, r.ID, r.Run))
	}
	s.summarize()
	s.Points = slices.DeleteFunc(s.Points, func(p Point) bool { return p.Trials() == 0 })
	return s
}

// otherKnobs names the settings in which the configurations differ, besides the
// nodes. More than two become one knob, settings, whose values name them all.
func otherKnobs(configurations []map[string]string) []string {
	differ := slices.DeleteFunc(Differences(configurations), func(name string) bool { return name == NodesKnob })
	if len(differ) <= 2 {
		return differ
	}
	for _, c := range configurations {
		var words []string
		for _, name := range differ {
			words = append(words, name+" "+cmp.Or(c[name], "unknown"))
		}
		c["settings"] = strings.Join(words, ", ")
	}
	return []string{"settings"}
}

// Configuration is a run's settings by the names of a sweep's knobs: the flags that
// define the work, the engine, and the number of nodes. The seed is none of them:
// trials of one configuration may have different seeds.
func Configuration(r *Run) map[string]string {
	all := maps.Clone(r.Workload)
	if all == nil {
		all = map[string]string{}
	}
	delete(all, "seed")
	all[NodesKnob] = strconv.Itoa(r.Machines())
	if r.Symmetric {
		all["symmetric"] = "yes"
	}
	for name, value := range map[string]string{"lab": r.Lab.String(), metrics.EngineFlag: r.Setting(metrics.Server, metrics.EngineFlag)} {
		if value != "" {
			all[name] = value
		}
	}
	return all
}

// Differences names, in order, the settings that differ between configurations.
func Differences(configurations []map[string]string) []string {
	differ := map[string]bool{}
	for _, c := range configurations {
		for name, value := range c {
			other := func(c map[string]string) bool { return c[name] != value }
			if slices.ContainsFunc(configurations, other) {
				differ[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(differ))
}

// knobOf is a knob with the configurations' values: numbers in their order, then
// words.
func knobOf(name string, configurations []map[string]string) metrics.Knob {
	knob := metrics.Knob{Name: name}
	for _, c := range configurations {
		if value := c[name]; !slices.Contains(knob.Values, value) {
			knob.Values = append(knob.Values, value)
		}
	}
	slices.SortFunc(knob.Values, func(a, b string) int {
		return cmp.Or(cmp.Compare(Number(a), Number(b)), cmp.Compare(a, b))
	})
	return knob
}

// Number is the number that a text is; +Inf for other text.
func Number(text string) float64 {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) {
		return math.Inf(1)
	}
	return v
}
