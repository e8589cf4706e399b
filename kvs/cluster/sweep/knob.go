// Package sweep is what many trials are to the launcher, without any process:
// the points of a sweep, the order of its trials, which of them are still to be
// made after an abort, and the table of those that were.
package sweep

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"kvlab/metrics"
)

// knobName is what may name a knob: it is a flag's name, or like one.
var knobName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]*$`)

const knobForm = "the form is name=value,value, as in batch=1024,8192"

// ParseKnob reads a --sweep flag's value, name=value,value. Its errors say what
// is wrong and the right form.
func ParseKnob(text string) (metrics.Knob, error) {
	name, values, ok := strings.Cut(text, "=")
	if !ok || !knobName.MatchString(name) {
		return metrics.Knob{}, errors.New(knobForm)
	}
	knob := metrics.Knob{Name: name, Values: strings.Split(values, ",")}
	for i, value := range knob.Values {
		switch {
		case value == "":
			return knob, errors.New("a value is empty: " + knobForm)
		case slices.Contains(knob.Values[:i], value):
			return knob, fmt.Errorf("%s stands there twice", value)
		}
	}
	return knob, nil
}
