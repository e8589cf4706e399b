package experiment

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"kvlab/metrics"
	"kvlab/metrics/format"
)

// Sweep measures every point of a plan several times. Points are the combinations of the
// knobs' values. A plan without a knob has one point.
type Sweep struct {
	Plan metrics.Sweep
	// Spec returns the spec of a point, without its name; nil sets the knobs to its values.
	Spec func(point []string) Spec
}

// Next returns the trials that remain of the plan's order, then those of --until.
func (s Sweep) Next(done []metrics.Trial) ([]Group, error) {
	left := nextTrials(s.Plan, done)
	var groups []Group
	for i, p := range left {
		planned := PlannedTrial{PlannedTrial: p, Of: max(len(done), left[len(left)-1].Number), Label: metrics.PointName(s.Plan.Knobs, p.Point), Quiet: true, Spec: s.spec(p.Point)}
		if len(s.Plan.Variants) > 0 {
			planned.Variant = p.Point[0]
		}
		if s.Plan.Together && i%2 == 1 {
			groups[len(groups)-1] = append(groups[len(groups)-1], planned)
		} else {
			groups = append(groups, Group{planned})
		}
	}
	return groups, nil
}

// Specs returns the specs of the points.
func (s Sweep) Specs() []Spec {
	var specs []Spec
	for _, point := range metrics.Points(s.Plan.Knobs) {
		specs = append(specs, s.spec(point))
	}
	return specs
}

// spec returns a point's spec.
func (s Sweep) spec(point []string) Spec {
	var spec Spec
	name := metrics.PointName(s.Plan.Knobs, point)
	if s.Spec != nil {
		spec = s.Spec(point)
	} else if len(point) > 0 {
		spec.Where = "--sweep " + name
		for i, knob := range s.Plan.Knobs {
			spec.Set = append(spec.Set, Setting{knob.Name, point[i]})
		}
	}
	spec.Name = name
	return spec
}

// Outline returns the order of the trials, for --dry-run.
func (s Sweep) Outline() string {
	var b strings.Builder
	when := ""
	if s.Plan.Together {
		when = ", those of a pair at the same time"
	}
	points := len(metrics.Points(s.Plan.Knobs))
	fmt.Fprintf(&b, "%s%s of each of %s, %d in all%s, ordered by --seed %d\n",
		map[bool]string{true: "up to "}[len(s.Plan.Order) < points*s.Plan.Trials], format.Plural(s.Plan.Trials, "trial"), format.Plural(points, "point"), len(s.Plan.Order), when, s.Plan.Seed)
	for _, planned := range s.Plan.Order {
		fmt.Fprintln(&b, strings.Join(format.NonEmpty(fmt.Sprintf("trial %d", planned.Number), metrics.PointName(s.Plan.Knobs, planned.Point)), "  "))
	}
	return b.String()
}

// Record returns the trial's point, rate and verdict.
func (s Sweep) Record(p PlannedTrial, t *metrics.Trial) string {
	words := format.NonEmpty(p.String(), p.Label, fmt.Sprintf("%.0f op/s", t.OpsPerS), t.Verdict.String())
	return strings.Join(append(words, t.Stamps()...), "  ")
}

// Files holds the trials, and in the end summary.txt.
func (s Sweep) Files(done []metrics.Trial, ended bool) map[string]any {
	if ended {
		return map[string]any{"summary.txt": []byte(s.benchmarks(done))}
	}
	return map[string]any{metrics.TrialsFile: done}
}

const knobForm = "the form is name=value,value, as in batch=1024,8192"

// ParseKnob reads a --sweep flag's value, name=value,value. Its errors show the right
// form.
func ParseKnob(text string) (metrics.Knob, error) {
	name, values, ok := strings.Cut(text, "=")
	if !ok || name == "" || name[0] == '-' {
		return metrics.Knob{}, errors.New(knobForm)
	}
	knob := metrics.Knob{Name: name, Values: strings.Split(values, ",")}
	for i, value := range knob.Values {
		switch {
		case value == "":
			return knob, errors.New("a value is empty: " + knobForm)
		case slices.Contains(knob.Values[:i], value):
			return knob, fmt.Errorf("%s is given twice", value)
		}
	}
	return knob, nil
}
