package compare

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"kvlab/internal/cli"
	"kvlab/metrics"
	"kvlab/metrics/format"
)

// Scale says which throughput of which work earns which grade.
type Scale struct {
	File  string   // that it was read from
	Work  Work     // that a graded result has measured; the zero Work is any
	Allow []string // names of the reservations that a result of the work may have
	Steps []Step   // in rising order
}

// Work is what a graded result has measured. The comments name the clients' flags.
type Work struct {
	Workload     string   `toml:"workload"`     // -workload
	Distribution string   `toml:"distribution"` // -distribution; "" is any
	Theta        *float64 `toml:"theta"`        // -theta; nil is any
	Records      uint64   `toml:"records"`      // -records
	ValueSize    uint64   `toml:"value_size"`   // -value-size, in bytes
	LeastSecs    float64  `toml:"least_secs"`   // -secs is this or more
}

// Args are the clients' arguments that ask for the work; none for the zero Work.
func (w Work) Args() (args []string) {
	add := func(set bool, flag string, value any) {
		if set {
			args = append(args, fmt.Sprintf("-%s=%v", flag, value))
		}
	}
	add(w.Workload != "", "workload", w.Workload)
	add(w.Distribution != "", "distribution", w.Distribution)
	if w.Theta != nil {
		add(true, "theta", *w.Theta)
	}
	add(w.Records > 0, "records", w.Records)
	add(w.ValueSize > 0, "value-size", w.ValueSize)
	add(w.LeastSecs > 0, "secs", strconv.FormatFloat(w.LeastSecs, 'f', -1, 64))
	return args
}

// check returns an error that names the first flag of a client whose value is not the
// work's.
func (w Work) check(flags metrics.FlagValues) error {
	for _, arg := range w.Args() {
		flag, want, _ := strings.Cut(arg[1:], "=")
		is := flags[flag]
		switch {
		case flag == "secs":
			if flags.Length("secs").Seconds() < w.LeastSecs {
				return fmt.Errorf("-secs is %q, want at least %s", is, want)
			}
		case is == want, flag == "distribution" && is == "" && want == "zipfian": // the default
		default:
			return fmt.Errorf("-%s is %q, want %s", flag, is, want)
		}
	}
	return nil
}

// Check returns an error if a client with these flags does not measure the scale's work.
func (s *Scale) Check(flags metrics.FlagValues) error {
	if err := s.Work.check(flags); err != nil {
		return fmt.Errorf("not the work of %s: %w", s.File, err)
	}
	return nil
}

// Step is one line of a scale: a throughput and the grade for reaching it.
type Step struct {
	OpsPerS float64 // above 0, and above that of the step before
	Percent float64 // 0 to 100, not below that of the step before
}

const stepForm = "want operations per second and per cent, as in 0.4M 80 %"

// ReadScale reads a scale's file. One whose name ends in .toml has the work in the table
// work, the allowed reservations in allow, and the steps in scale. Any other has a step a
// line. Steps ascend; the number of operations per second may end in k, M or G. In both,
// # begins a comment. Errors name file and line.
func ReadScale(path string) (*Scale, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	scale := &Scale{File: path}
	if filepath.Ext(path) == ".toml" {
		err = scale.parseTOML(text)
	} else {
		err = scale.parseLines(string(text))
	}
	if err == nil && len(scale.Steps) == 0 {
		err = fmt.Errorf("%s: no step: %s", path, stepForm)
	}
	return scale, err
}

// at returns an error with the file and the line of an offset in its text.
func (s *Scale) at(text []byte, offset int, err error) error {
	return fmt.Errorf("%s:%d: %w", s.File, 1+bytes.Count(text[:offset], []byte("\n")), err)
}

// tomlStep is a step and its text.
type tomlStep struct {
	Step
	text string
}

// UnmarshalText reads a step. The decoder adds its line to an error.
func (s *tomlStep) UnmarshalText(text []byte) (err error) {
	s.text = string(text)
	s.Step, err = parseStep(s.text)
	return err
}

func (s *Scale) parseTOML(text []byte) error {
	var file struct {
		Work  Work       `toml:"work"`
		Allow []string   `toml:"allow"`
		Scale []tomlStep `toml:"scale"`
	}
	if err := cli.DecodeTOML(s.File, text, &file); err != nil {
		return err
	}
	offset := bytes.Index(text, []byte("scale"))
	for _, step := range file.Scale {
		offset += max(0, bytes.Index(text[offset:], []byte(step.text)))
		if err := s.add(step.Step); err != nil {
			return s.at(text, offset, err)
		}
	}
	s.Work, s.Allow = file.Work, file.Allow
	if w := s.Work; w.Workload == "" || w.Records == 0 || w.ValueSize == 0 || !(w.LeastSecs > 0) {
		return fmt.Errorf("%s: the table work needs workload, records, value_size and least_secs, above 0", s.File)
	}
	return nil
}

// parseLines reads the form of a step a line.
func (s *Scale) parseLines(text string) error {
	offset := 0
	for line := range strings.Lines(text) {
		words, _, _ := strings.Cut(line, "#")
		if strings.TrimSpace(words) != "" {
			step, err := parseStep(words)
			if err == nil {
				err = s.add(step)
			}
			if err != nil {
				return s.at([]byte(text), offset, err)
			}
		}
		offset += len(line)
	}
	return nil
}

// add adds the next step.
func (s *Scale) add(step Step) error {
	var before Step
	if n := len(s.Steps); n > 0 {
		before = s.Steps[n-1]
	}
	switch {
	case step.OpsPerS <= before.OpsPerS:
		return fmt.Errorf("%g ops/s do not lie above %g, the step before", step.OpsPerS, before.OpsPerS)
	case step.Percent < before.Percent:
		return fmt.Errorf("%g %% lie below %g %%, the step before", step.Percent, before.Percent)
	}
	s.Steps = append(s.Steps, step)
	return nil
}

// parseStep reads a step.
func parseStep(text string) (Step, error) {
	words := strings.Fields(strings.Replace(text, "%", " ", 1))
	if len(words) != 2 {
		return Step{}, fmt.Errorf("%q: %s", format.Label(strings.TrimSpace(text), 40), stepForm)
	}
	rate, ok := cli.ParseCount(words[0])
	if !ok {
		return Step{}, fmt.Errorf("%q is no number of operations per second: %s", words[0], stepForm)
	}
	percent, err := strconv.ParseFloat(words[1], 64)
	if err != nil || !(percent >= 0 && percent <= 100) {
		return Step{}, fmt.Errorf("%q is no grade from 0 to 100 per cent: %s", words[1], stepForm)
	}
	return Step{OpsPerS: rate, Percent: percent}, nil
}
