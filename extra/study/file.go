// Package study holds studies: named lists of points, each with launcher flags, and the
// claims of reports about them. It plans their trials, and decides which claims the trials
// reproduce and which they contradict.
package study

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"kvlab/internal/cli"
	"kvlab/metrics"
	"kvlab/metrics/format"
)

//go:embed *.toml
var shipped embed.FS

// File is a study's file. The comments of its fields and of those of its tables say what a
// key means.
type File struct {
	Name   string  `toml:"-"`      // the file's, without .toml
	Title  string  `toml:"title"`  // in one line
	Source string  `toml:"source"` // of the claims that name none: a report, its revision
	Args   string  `toml:"args"`   // launcher flags of every point, after the numbers of servers and clients
	Alpha  float64 `toml:"alpha"`  // as metrics.Study.Alpha; 0.05 without the key
	Quick  Form    `toml:"quick"`
	Full   Form    `toml:"full"`
	Points []Point `toml:"point"`
	Claims []Claim `toml:"claim"`
}

// Form is how long a study takes.
type Form struct {
	Rounds int    `toml:"rounds"` // trials of each point, at least 3
	Args   string `toml:"args"`   // launcher flags after those of the file
}

// Point is a configuration.
type Point struct {
	Name  string   `toml:"name"`
	Args  string   `toml:"args"`  // launcher flags after those of the form
	Needs []string `toml:"needs"` // what the machines must have, as Needs lists
}

// Claim is a claim of metrics.Claim.
type Claim struct {
	Name      string            `toml:"name"`
	Text      string            `toml:"text"`
	Source    string            `toml:"source"`
	Kind      metrics.ClaimKind `toml:"kind"`
	Points    []string          `toml:"points"`
	Sizes     []float64         `toml:"sizes"`
	Measure   string            `toml:"measure"` // a name of Measures; ops/s without the key
	Value     float64           `toml:"value"`
	Tolerance share             `toml:"tolerance"` // such as 20%
	Cannot    string            `toml:"cannot"`    // why it is not tested, instead of points
}

// share is a share in per cent, as in 20%.
type share float64

// UnmarshalText reads a share. The decoder adds its line to an error.
func (s *share) UnmarshalText(text []byte) error {
	number, percent := strings.CutSuffix(string(text), "%")
	value, err := strconv.ParseFloat(number, 64)
	if err != nil || !percent || !(value >= 0 && value < 100) {
		return fmt.Errorf("%q: want per cent, from 0%% to less than 100%%, as in 20%%", text)
	}
	*s = share(value / 100)
	return nil
}

// Names returns the names of the studies that come with kvlab, in order.
func Names() (names []string) {
	files, _ := shipped.ReadDir(".") // it is embedded
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f.Name(), ".toml"))
	}
	return names
}

// Read reads a study: one that comes with kvlab, by its name, or a file that ends in .toml.
// Errors name file and line, and the right form.
func Read(name string) (f File, err error) {
	path, text := name, []byte(nil)
	if strings.HasSuffix(name, ".toml") {
		text, err = os.ReadFile(path)
	} else if names := Names(); slices.Contains(names, name) {
		path += ".toml"
		text, err = shipped.ReadFile(path)
	} else {
		err = fmt.Errorf("%s: want all, list, a file that ends in .toml, or one of %s%s", name, strings.Join(names, ", "), cli.DidYouMean(name, "", append(names, "all", "list")))
	}
	if err == nil {
		err = cli.DecodeTOML(path, text, &f)
	}
	if err != nil {
		return f, err
	}
	f.Name, f.Alpha = strings.TrimSuffix(filepath.Base(path), ".toml"), cmp.Or(f.Alpha, 0.05)
	if table, i, err := f.check(); err != nil {
		return f, fmt.Errorf("%s%s: %w", path, cli.TOMLLine(text, table, i), err)
	}
	return f, nil
}

// ReadAll reads the studies of a list with commas between them; "all" are those that come
// with kvlab.
func ReadAll(list string) (files []File, err error) {
	names := strings.Split(list, ",")
	if list == "all" {
		names = Names()
	}
	for _, name := range names {
		f, err := Read(name)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(files, func(other File) bool { return other.Name == f.Name }) {
			return nil, fmt.Errorf("%s is given twice", f.Name)
		}
		files = append(files, f)
	}
	return files, nil
}

// word is the form of a name: safe in a path, a table and a shell.
var word = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]{0,39}$`)

// check returns the first mistake, and in which table it is.
func (f File) check() (table string, i int, err error) {
	switch {
	case !word.MatchString(f.Name):
		return "", 0, fmt.Errorf("the file's name: %w", errWord)
	case f.Title == "":
		return "", 0, errors.New("want a title")
	case f.Quick.Rounds < 3 || f.Full.Rounds < 3:
		return "", 0, errors.New("want rounds of at least 3 in both [quick] and [full]: fewer have no interval")
	case !(f.Alpha > 0 && f.Alpha <= 0.2):
		return "", 0, fmt.Errorf("alpha %v: want more than 0 and at most 0.2", f.Alpha)
	case len(f.Claims) == 0:
		return "", 0, errors.New("want a claim: a table [[claim]]")
	}
	for i, p := range f.Points {
		if err := f.checkPoint(i); err != nil {
			return "point", i, fmt.Errorf("point %q: %w", p.Name, err)
		}
	}
	for i, c := range f.Claims {
		if slices.ContainsFunc(f.Claims[:i], func(other Claim) bool { return other.Name == c.Name }) {
			err = errors.New("the name is given twice")
		} else {
			err = c.check(f)
		}
		if err != nil {
			return "claim", i, fmt.Errorf("claim %q: %w", c.Name, err)
		}
	}
	for i, p := range f.Points {
		if !slices.ContainsFunc(f.Claims, func(c Claim) bool { return slices.Contains(c.Points, p.Name) }) {
			return "point", i, fmt.Errorf("point %q: no claim is about it", p.Name)
		}
	}
	return "", 0, nil
}

var errWord = errors.New("want at most 40 letters, digits and . _ + - for a name, the first a letter or a digit")

func (f File) checkPoint(i int) error {
	p := f.Points[i]
	switch {
	case !word.MatchString(p.Name):
		return errWord
	case slices.ContainsFunc(f.Points[:i], func(other Point) bool { return other.Name == p.Name }):
		return errors.New("the name is given twice")
	}
	for _, need := range p.Needs {
		if err := checkNeed(need); err != nil {
			return err
		}
	}
	_, err := merge(f.Args, f.Quick.Args, f.Full.Args, p.Args)
	return err
}

// shape is what a kind of claim wants.
type shape struct {
	least, most             int // points
	value, tolerance, sizes bool
}

var shapes = map[metrics.ClaimKind]shape{
	metrics.ClaimRatio:   {2, 2, true, true, false},
	metrics.ClaimAtLeast: {1, 2, true, false, false},
	metrics.ClaimAtMost:  {1, 2, true, false, false},
	metrics.ClaimOrder:   {2, 100, false, false, false},
	metrics.ClaimPeak:    {2, 100, false, true, false},
	metrics.ClaimLinear:  {2, 100, false, true, true},
	metrics.ClaimSame:    {2, 100, false, true, false},
}

func (c Claim) check(f File) error {
	want, known := shapes[c.Kind]
	switch {
	case !word.MatchString(c.Name):
		return errWord
	case c.Text == "" || c.Source == "" && f.Source == "":
		return errors.New("want text, the claim in plain words, and source, its report, here or for the whole file")
	case c.Cannot != "" && len(c.Points) > 0:
		return errors.New("cannot and points: want one of them")
	case c.Cannot != "":
		return nil
	case !known:
		var kinds []string
		for kind := range shapes {
			kinds = append(kinds, string(kind))
		}
		slices.Sort(kinds)
		return fmt.Errorf("kind %q: want one of %q%s", c.Kind, kinds, cli.DidYouMean(string(c.Kind), "", kinds))
	case len(c.Points) < want.least || len(c.Points) > want.most:
		return fmt.Errorf("%s: want %d to %d", format.Plural(len(c.Points), "point"), want.least, want.most)
	case want.value != (c.Value > 0):
		return fmt.Errorf("value: want one above 0 for the kinds ratio, at-least and at-most, and none for others")
	case !want.tolerance && c.Tolerance > 0 || want.tolerance && c.Tolerance == 0:
		return fmt.Errorf(`tolerance: want one, as in tolerance = "20%%", for the kinds ratio, peak, linear and same, and none for others`)
	case want.sizes != (len(c.Sizes) > 0) || want.sizes && (len(c.Sizes) != len(c.Points) || c.Sizes[0] <= 0 || !increase(c.Sizes)):
		return errors.New("sizes: want those of the points, as in sizes = [2, 4], increasing, for the kind linear, and none for others")
	}
	for i, name := range c.Points {
		names := pointNames(f.Points)
		if !slices.Contains(names, name) {
			return fmt.Errorf("no such point: %s%s", name, cli.DidYouMean(name, "", names))
		}
		if slices.Contains(c.Points[:i], name) {
			return fmt.Errorf("point %s is given twice", name)
		}
		same := func(other string) bool { return f.args(other, false) == f.args(name, false) }
		if j := slices.IndexFunc(c.Points[:i], same); j >= 0 {
			return fmt.Errorf("points %s and %s have the same arguments: %s", c.Points[j], name, f.args(name, false))
		}
	}
	_, err := measureOf(c.Measure)
	return err
}

// increase reports whether each number is above the one before it.
func increase(numbers []float64) bool {
	return slices.IsSorted(numbers) && len(slices.Compact(slices.Clone(numbers))) == len(numbers)
}

func pointNames(points []Point) (names []string) {
	for _, p := range points {
		names = append(names, p.Name)
	}
	return names
}
