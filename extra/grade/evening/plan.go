// Package evening decides what is measured next on the evening of a class, and what its trials
// say of each entry. It depends on records alone.
package evening

import (
	"kvlab/kvs/experiment"
	"kvlab/metrics"
)

// The statistics of every class. In simulated evenings of 12 and 30 entries
// (go test -run RankingOfEvenings ./metrics/stats), some pair is put in a wrong order or
// some equal pair told apart in fewer than Alpha of them.
const (
	Alpha = 0.02 // of an evening
	Equal = 0.02 // a difference that needs no further rounds
)

// Looks are the numbers of rounds after which the ranks are decided, each at its share of
// Alpha: who looks after every round is wrong more often.
var Looks = []int{6, 10, 16, 24}

// Planned completes a sweep's plan by the entries of a class that can be measured. Its order
// follows from the trials as they are made.
func Planned(plan metrics.Sweep, class metrics.Class) metrics.Sweep {
	knob := metrics.Knob{Name: metrics.EntryKnob}
	for _, e := range class.Entries {
		if e.Broken == "" {
			knob.Values = append(knob.Values, e.Name)
		}
	}
	plan.Class, plan.Knobs, plan.Trials, plan.Order = &class, []metrics.Knob{knob}, class.Looks[len(class.Looks)-1], nil
	return plan
}

// Row gives the experiment of a class to a program that verifies folders.
func Row(dir string, plan metrics.Sweep) experiment.Experiment {
	if plan.Class == nil {
		return nil
	}
	e := Of(plan, nil)
	e.Term, _ = Load(dir) // what is wrong with another evening is told of its own folder
	return e
}

// SpecOf returns what an entry runs.
func SpecOf(e metrics.Entry) experiment.Spec {
	return experiment.Spec{Name: metrics.EntryKnob + "=" + e.Name, Args: e.Args, Where: metrics.EntryKnob + " " + e.Name}
}
