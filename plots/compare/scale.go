package compare

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"kvlab/internal/cli"
	"kvlab/metrics"
	"kvlab/metrics/format"
)

// Scale says which grade a throughput earns, and for what work.
type Scale struct {
	File  string `toml:"-"`     // that it was read from
	Work  Work   `toml:"work"`  // that a graded result has measured; the zero Work is any
	Score Score  `toml:"score"` // in operations per second
}

// Work is the work that a graded result must have measured. The comments name the clients' flags.
type Work struct {
	Workload     string   `toml:"workload"`     // -workload
	Distribution string   `toml:"distribution"` // -distribution; "" is any
	Theta        *float64 `toml:"theta"`        // -theta; nil is any
	Records      uint64   `toml:"records"`      // -records
	ValueSize    uint64   `toml:"value_size"`   // -value-size, in bytes
	LeastSecs    float64  `toml:"least_secs"`   // -secs is this or more
	Allow        []string `toml:"allow"`        // names of the caveats that a result may have
}

// Args returns the clients' arguments that ask for the work; none for the zero Work.
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
func (w Work) check(flags metrics.Settings) error {
	for _, arg := range w.Args() {
		flag, want, _ := strings.Cut(arg[1:], "=")
		is := flags[flag]
		switch {
		case flag == "secs":
			if flags.Secs().Seconds() < w.LeastSecs {
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
func (s *Scale) Check(flags metrics.Settings) error {
	if err := s.Work.check(flags); err != nil {
		return fmt.Errorf("not the work of %s: %w", s.File, err)
	}
	return nil
}

// Score is what a throughput is worth: the table score of a scale and of a class file.
type Score struct {
	Steps []Step `toml:"steps"` // in rising order
}

// Step is a throughput and what it is worth.
type Step struct {
	At      float64 // operations per second; of a ratio, times the reference's
	Ratio   bool    // At is a ratio to a reference
	Percent float64 // 0 to 100
}

// String returns the step in the form that UnmarshalText reads.
func (s Step) String() string {
	if s.Ratio {
		return fmt.Sprintf("%gx %g %%", s.At, s.Percent)
	}
	return fmt.Sprintf("%s %g %%", format.Count(s.At), s.Percent)
}

const stepForm = "want operations per second, or a ratio to a reference, and per cent from 0 to 100, as in 0.4M 80 % or 0.5x 60 %"

// UnmarshalText reads a step, such as 0.4M 80 % or 0.5x 60 %. The decoder adds its line to an
// error.
func (s *Step) UnmarshalText(text []byte) (err error) {
	words := strings.Fields(strings.Replace(string(text), "%", " %", 1))
	if len(words) == 3 && words[2] == "%" {
		times, isRatio := strings.CutSuffix(words[0], "x")
		at, valid := cli.ParseCount(times)
		if isRatio {
			at, err = strconv.ParseFloat(times, 64)
			valid = err == nil && at >= 0 && !math.IsInf(at, 1)
		}
		percent, err := strconv.ParseFloat(words[1], 64)
		if valid && err == nil && percent >= 0 && percent <= 100 {
			*s = Step{at, isRatio, percent}
			return nil
		}
	}
	return fmt.Errorf("%q: %s", format.Label(string(text), 40), stepForm)
}

// Check returns an error if there is no step, if one is not above the one before, or if one
// is a ratio where none, or no ratio where only such, can be judged.
func (s Score) Check(ratios bool) error {
	form := `steps = ["0.4M 80 %", "0.8M 82 %"]`
	if ratios {
		form = `steps = ["0.5x 60 %", "1x 80 %", "2x 100 %"]`
	}
	if len(s.Steps) == 0 {
		return fmt.Errorf("want steps, as in %s", form)
	}
	for i, step := range s.Steps {
		if step.Ratio != ratios {
			return fmt.Errorf("%s: want steps of one kind, as in %s", step, form)
		}
		if i > 0 && (step.At <= s.Steps[i-1].At || step.Percent < s.Steps[i-1].Percent) {
			return fmt.Errorf("%s is not above the step before it, %s", step, s.Steps[i-1])
		}
	}
	return nil
}

// ReadScale reads a scale's file: TOML with the table score, and with the table work unless a
// result of any work is graded. Errors name file and line.
func ReadScale(path string) (*Scale, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if filepath.Ext(path) != ".toml" {
		return nil, fmt.Errorf("%s: want a TOML file with the tables work and score, such as plots/grades.toml", path)
	}
	s := &Scale{File: path}
	if err := cli.DecodeTOML(path, text, s); err != nil {
		return nil, err
	}
	if w := s.Work; (len(w.Args()) > 0 || len(w.Allow) > 0) && (w.Workload == "" || w.Records == 0 || w.ValueSize == 0 || !(w.LeastSecs > 0)) {
		return nil, fmt.Errorf("%s%s: the table work needs workload, records, value_size and least_secs, above 0", path, cli.TOMLLine(text, "work", 0))
	}
	if err := s.Score.Check(false); err != nil {
		return nil, fmt.Errorf("%s%s: %w", path, cli.TOMLLine(text, "score", 0), err)
	}
	return s, nil
}
