// Package class grades the stores of a class: it reads the file that names them, decides
// which of them is measured next beside a reference, and what the trials say of each.
package grade

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"kvlab/internal/cli"
	"kvlab/kvs/target"
	"kvlab/metrics"
	"kvlab/plots/compare"
)

// File is a class file. The comments of its fields and of those of its tables say what a key
// means. Paths are relative to the file.
type File struct {
	Path      string             `toml:"-"`         // of the file
	Title     string             `toml:"title"`     // in one line
	Budget    duration           `toml:"budget"`    // such as 90m: no round begins that would end later; 0 is no limit
	Work      Work               `toml:"work"`      // of every entry
	Reference Entry              `toml:"reference"` // what the others are compared with; its name is reference without the key
	Entries   []Entry            `toml:"entry"`     // since Class, without patterns
	Target    *target.Target     `toml:"target"`    // how the folder of each checkout is built and started; nil: it is kvlab's own, or has a store.toml
	Drivers   []string           `toml:"drivers"`   // that the entries' own target files may name; without the key lab alone
	Gates     Gates              `toml:"gates"`
	Contain   map[string]any     `toml:"contain"` // the limits of the servers' programs, as --contain has them
	Score     Score              `toml:"score"`
	Gradebook *metrics.Gradebook `toml:"gradebook"`

	contained string // path:LINE of [contain]
}

// Work is what all entries do.
type Work struct {
	compare.Work
	Args string `toml:"args"` // launcher flags of every entry: the scale
}

// Gates are what an entry must keep.
type Gates struct {
	Memory       size `toml:"memory"`       // such as 2GB: of the largest server
	Linearizable bool `toml:"linearizable"` // clients verify it
}

// Score says how many per cent which ratio to the reference is worth.
type Score struct {
	compare.Score     // ratios, linear between two steps
	Precision     any `toml:"precision"` // the evening goes on until every score is known to so many per cent, or, as in "5 points", grades that far apart can be told; without the key usualPrecision
}

// usualPrecision is a quarter of the step between two letter grades, of 10 % each, on either
// side.
const usualPrecision = 2.5

// duration is a time such as 90m.
type duration time.Duration

// UnmarshalText reads a time. The decoder adds its line to an error.
func (d *duration) UnmarshalText(text []byte) error {
	read, err := time.ParseDuration(string(text))
	if err != nil || read <= 0 {
		return fmt.Errorf("%q: want a time above 0, as in 90m", text)
	}
	*d = duration(read)
	return nil
}

// size is a number of bytes.
type size float64

// UnmarshalText reads a size.
func (s *size) UnmarshalText(text []byte) error {
	bytes, ok := cli.ParseBytes(string(text))
	if !ok || bytes < 1e6 {
		return fmt.Errorf("%q: want a size, as in 500MB or 2GB", text)
	}
	*s = size(bytes)
	return nil
}

// Read reads a class file, but not yet the folders of its entries. Errors name file and line,
// and the right form.
func Read(path string) (*File, error) {
	f := new(File)
	text, err := os.ReadFile(path)
	if err == nil {
		err = cli.DecodeTOML(path, text, f)
	}
	if err == nil {
		f.Path, err = filepath.Abs(path)
	}
	if err != nil {
		return nil, err
	}
	where := func(table string, i int) string { return path + cli.TOMLLine(text, table, i) }
	if table, err := f.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", where(table, 0), err)
	}
	f.contained, f.Reference.where = where("contain", 0), where("reference", 0)
	for i := range f.Entries {
		f.Entries[i].where = where("entry", i)
	}
	return f, nil
}

// check returns the first mistake outside of the entries, and in which table it is.
func (f *File) check() (table string, err error) {
	w := f.Work
	if f.Target != nil {
		if _, err := f.Target.In(""); err != nil {
			return "target", err
		}
	}
	if f.Drivers == nil {
		f.Drivers = []string{"lab"}
	}
	switch {
	case f.Title == "":
		return "", errors.New("want a title")
	case w.Workload == "" || w.Records == 0 || w.ValueSize == 0 || w.LeastSecs < 1 || w.LeastSecs != math.Trunc(w.LeastSecs):
		return "work", errors.New("want workload, records, value_size and least_secs, whole seconds from 1")
	case len(f.Entries) == 0:
		return "", errors.New("want an entry: a table [[entry]]")
	}
	if err := f.Score.Check(true); err != nil {
		return "score", err
	}
	if _, err := cli.SplitWords(w.Args); err != nil {
		return "work", fmt.Errorf("args: %w", err)
	}
	if g := f.Gradebook; g != nil {
		if g.Points <= 0 || g.Canvas == "" && g.Moodle == "" || (g.Canvas == "") != (g.Assignment == "") {
			return "gradebook", errors.New("want points above 0, and moodle, or canvas with assignment, the title of its column")
		}
		for _, file := range []*string{&g.Canvas, &g.Moodle} {
			if *file != "" {
				if *file = f.path(*file); !isRegular(*file) {
					return "gradebook", fmt.Errorf("%s: no such file", *file)
				}
			}
		}
	}
	if precision := f.precision(); !(precision > 0 && precision <= 100) {
		return "score", fmt.Errorf("precision %v: want per cent above 0, as in precision = 2.5, or points, as in precision = \"5 points\"", f.Score.Precision)
	}
	return "", nil
}

// precision returns the largest half-width of a score's interval, in per cent. Two grades can be told
// apart if their intervals do not overlap, so it is half of the distance in points.
func (f *File) precision() float64 {
	switch v := f.Score.Precision.(type) {
	case nil:
		return usualPrecision
	case int64:
		return float64(v)
	case float64:
		return v
	case string:
		points, err := strconv.ParseFloat(strings.TrimSuffix(v, " points"), 64)
		if err != nil || !strings.HasSuffix(v, " points") {
			return 0
		}
		full := 100.0
		if f.Gradebook != nil {
			full = f.Gradebook.Points
		}
		return 100 * points / full / 2
	}
	return 0
}

// path returns the absolute path of one that the file names.
func (f *File) path(name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(filepath.Dir(f.Path), name)
}

// Limit calls set with the limits of [contain], if it has any, as --contain has them.
func (f *File) Limit(set func(limits string) error) error {
	var limits []string
	for name, value := range f.Contain {
		limits = append(limits, fmt.Sprintf("%s=%v", name, value))
	}
	if len(limits) == 0 {
		return nil
	}
	slices.Sort(limits)
	if err := set(strings.Join(limits, ",")); err != nil {
		return fmt.Errorf("%s: %w", f.contained, err)
	}
	return nil
}

// Check returns an error if a client with these flags does not do the file's work.
func (f *File) Check(flags metrics.Settings) error {
	return (&compare.Scale{File: f.Path, Work: f.Work.Work}).Check(flags)
}
