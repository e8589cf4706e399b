// Package ycsb reads the property files of YCSB's core workload, and says which flags of
// kvlab they are. The properties and their defaults are those of CoreWorkload and Client in
// YCSB 0.17, and of go-ycsb's pkg/prop.
package ycsb

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"kvlab/internal/cli"
)

// Properties are the properties that a command line gives. The zero Properties has none.
type Properties struct {
	given map[string]property
	notes []string // of Args
}

// property is a value and its place.
type property struct {
	text, where string // where: -p, or file:line
	typed       bool   // it wins over a file's
}

// ReadFile adds the properties of a file in Java's form: key=value lines, # before comments. A
// later file wins over an earlier one.
func (p *Properties) ReadFile(path string) error {
	text, err := os.ReadFile(path)
	if _, isNumber := cli.ParseCount(path); err != nil && isNumber {
		return fmt.Errorf("%w; operations in flight, as other tools' -P, are --batch", err)
	}
	if err != nil {
		return err
	}
	lines := strings.Split(strings.TrimPrefix(string(text), "\ufeff"), "\n")
	for i := 0; i < len(lines); i++ {
		where := fmt.Sprintf("%s:%d", path, i+1)
		line := strings.TrimSpace(lines[i])
		if strings.HasPrefix(line, "#") || strings.HasPrefix(line, "!") {
			continue
		}
		for strings.HasSuffix(line, `\`) && i+1 < len(lines) {
			i++
			line = strings.TrimSuffix(line, `\`) + strings.TrimSpace(lines[i])
		}
		if line == "" {
			continue
		}
		end := strings.IndexAny(line, "=: \t")
		if end < 0 {
			return fmt.Errorf("%s: %q: want name=value", where, line)
		}
		name, value := line[:end], strings.TrimSpace(line[end:])
		value = strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(value, "="), ":"))
		err := p.set(name, property{value, where, false})
		if err != nil && !strings.ContainsAny(line, "=:") {
			err = fmt.Errorf("%s: %q: want name=value", where, line)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Set adds a property name=value of the command line, which wins over one of a file.
func (p *Properties) Set(text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok {
		return fmt.Errorf("want name=value, as in recordcount=1000000; a port stands in --target redis://HOST:PORT")
	}
	return p.set(strings.TrimSpace(name), property{strings.TrimSpace(value), "-p", true})
}

// set adds a property. It refuses one that YCSB does not have.
func (p *Properties) set(name string, value property) error {
	if _, known := find(name); !known {
		return fmt.Errorf("%s: %s: no property of YCSB's core workload%s", value.where, name, cli.DidYouMean(name, "", names()))
	}
	if p.given == nil {
		p.given = make(map[string]property)
	}
	if !p.given[name].typed || value.typed {
		p.given[name] = value
	}
	return nil
}

// Given reports whether there is a property.
func (p *Properties) Given() bool { return len(p.given) > 0 }

// text returns the value of a property, or its default.
func (p *Properties) text(name string) string {
	if given, ok := p.given[name]; ok {
		return given.text
	}
	row, _ := find(name)
	return row.standard
}

// wrong returns an error about a property, which says the right form, or why kvlab does not do
// it.
func (p *Properties) wrong(name, form string, args ...any) error {
	given, ok := p.given[name]
	if !ok {
		given = property{p.text(name), "YCSB's default", false}
	}
	return fmt.Errorf("%s: %s=%s: %s", given.where, name, given.text, fmt.Sprintf(form, args...))
}

// number returns the value of a property that is a whole number from 0.
func (p *Properties) number(name string) (uint64, error) {
	n, err := strconv.ParseUint(p.text(name), 10, 53)
	if err != nil {
		return 0, p.wrong(name, "want a whole number from 0")
	}
	return n, nil
}

// share returns the value of a property that is a number from 0.
func (p *Properties) share(name string) (float64, error) {
	x, err := strconv.ParseFloat(p.text(name), 64)
	if err != nil || !(x >= 0 && x <= 1) {
		return 0, p.wrong(name, "want a share from 0 to 1")
	}
	return x, nil
}

// note adds a line that says what became of a property.
func (p *Properties) note(form string, args ...any) {
	p.notes = append(p.notes, fmt.Sprintf(form, args...))
}

// unread returns the names of given properties that no flag says, with their reasons, in the
// order of the table.
func (p *Properties) unread() (notes []string) {
	for _, row := range table {
		if row.nothing == "" {
			continue
		}
		var names []string
		for name := range p.given {
			if row.is(name) {
				names = append(names, name)
			}
		}
		if slices.Sort(names); len(names) > 0 {
			notes = append(notes, strings.Join(names, ", ")+": "+row.nothing)
		}
	}
	return notes
}
