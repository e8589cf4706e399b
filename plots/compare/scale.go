package compare

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"

	"kvlab/metrics/format"
)

// Scale says which throughput earns which grade.
type Scale []Step

// Step is one line of a scale: a throughput and the grade for reaching it.
type Step struct {
	OpsPerS float64 // above 0, and above that of the step before
	Percent float64 // 0 to 100, not below that of the step before
}

const scaleForm = "want operations per second and per cent, as in 0.4M 80 %"

// ReadScale reads a scale's file.
func ReadScale(path string) (Scale, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ParseScale(path, f)
}

// ParseScale reads a scale: a step a line, in ascending order; the number of
// operations per second may end in k, M or G, and # begins a comment. Errors name
// the text's name and line.
func ParseScale(name string, r io.Reader) (Scale, error) {
	var scale Scale
	lines := bufio.NewScanner(r)
	for number := 1; lines.Scan(); number++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		if strings.TrimSpace(text) == "" {
			continue
		}
		step, err := parseStep(text)
		if err == nil && len(scale) > 0 {
			err = step.follows(scale[len(scale)-1])
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, number, err)
		}
		scale = append(scale, step)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(scale) == 0 {
		return nil, fmt.Errorf("%s: no step: %s", name, scaleForm)
	}
	return scale, nil
}

// parseStep reads one line.
func parseStep(text string) (Step, error) {
	words := strings.Fields(strings.Replace(text, "%", " ", 1))
	if len(words) != 2 {
		return Step{}, fmt.Errorf("%q: %s", format.Label(strings.TrimSpace(text), 40), scaleForm)
	}
	digits, unit := words[0], 1.0
	for suffix, times := range map[string]float64{"k": 1e3, "M": 1e6, "G": 1e9} {
		if before, ok := strings.CutSuffix(words[0], suffix); ok {
			digits, unit = before, times
		}
	}
	rate, err := strconv.ParseFloat(digits, 64)
	if err != nil || !(rate > 0) || math.IsInf(rate, 1) {
		return Step{}, fmt.Errorf("%q is no number of operations per second: %s", words[0], scaleForm)
	}
	percent, err := strconv.ParseFloat(words[1], 64)
	if err != nil || !(percent >= 0 && percent <= 100) {
		return Step{}, fmt.Errorf("%q is no grade from 0 to 100 per cent: %s", words[1], scaleForm)
	}
	return Step{OpsPerS: rate * unit, Percent: percent}, nil
}

// follows refuses a step that does not lie above the one before.
func (s Step) follows(before Step) error {
	switch {
	case s.OpsPerS <= before.OpsPerS:
		return fmt.Errorf("%g ops/s do not lie above %g, the step before", s.OpsPerS, before.OpsPerS)
	case s.Percent < before.Percent:
		return fmt.Errorf("%g %% lie below %g %%, the step before", s.Percent, before.Percent)
	}
	return nil
}
