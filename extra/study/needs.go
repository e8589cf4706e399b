package study

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kvlab/internal/cli"
	"kvlab/metrics"
	"kvlab/metrics/format"
)

// Needs are the forms of what a point may need.
var Needs = []string{"cores=N", "nodes=N", "kernel=X.Y", "program=NAME", "root", "rivals"}

// Here is what the launcher knows of its machines. The functions are called when a point
// needs what they tell.
type Here struct {
	Nodes   int                            // machines; hosts of a virtual lab are one
	Root    bool                           // the launcher's user is root
	Hosts   func() ([]metrics.Host, error) // of all machines
	Program func(name string) bool         // whether the launcher's machine has a program
	Rivals  func() error                   // why the programs of extra/rivals cannot be built; nil if they can
}

// checkNeed returns an error unless a need has one of the forms.
func checkNeed(need string) error {
	name, value, valued := strings.Cut(need, "=")
	var names []string
	for _, form := range Needs {
		known, example, wants := strings.Cut(form, "=")
		names = append(names, known)
		if name == known && valued == wants && (!valued || value != "") {
			switch example {
			case "N":
				if n, err := strconv.Atoi(value); err != nil || n < 1 {
					return fmt.Errorf("need %s: want a whole number above 0", need)
				}
			case "X.Y":
				if _, err := version(value); err != nil {
					return fmt.Errorf("need %s: %w", need, err)
				}
			}
			return nil
		}
	}
	return fmt.Errorf("need %q: want %s%s", need, strings.Join(Needs, ", "), cli.DidYouMean(name, "", names))
}

// Missing says why a need is not met; "" if it is.
func (h Here) Missing(need string) string {
	name, value, _ := strings.Cut(need, "=")
	n, _ := strconv.Atoi(value) // checkNeed has seen it
	switch {
	case name == "cores" || name == "kernel":
		return h.missingOfHosts(name == "kernel", n, value)
	case name == "nodes" && h.Nodes < n:
		return fmt.Sprintf("needs %s, here %s", format.Plural(n, "node"), format.Plural(h.Nodes, "node"))
	case name == "program" && !h.Program(value):
		return "needs the program " + value + ", which is not here"
	case name == "root" && !h.Root:
		return "needs root"
	case name == "rivals":
		if err := h.Rivals(); err != nil {
			return format.OneLine(fmt.Sprintf("needs the programs of extra/rivals: %v", err))
		}
	}
	return ""
}

// missingOfHosts names the first machine whose kernel is too old, or that has too few cores.
func (h Here) missingOfHosts(kernel bool, cores int, version string) string {
	hosts, err := h.Hosts()
	if err != nil {
		return format.OneLine(fmt.Sprintf("needs facts of the nodes: %v", err))
	}
	for _, host := range hosts {
		switch {
		case kernel && older(host.Kernel, version):
			return fmt.Sprintf("needs Linux %s, here %s", version, host.Kernel)
		case !kernel && host.Cores < cores:
			return fmt.Sprintf("needs %s, here %s", format.Plural(cores, "core"), format.Plural(host.Cores, "core"))
		}
	}
	return ""
}

// older reports whether a kernel's release is before a version; so is an unknown one.
func older(release, than string) bool {
	a, err := version(release)
	b, _ := version(than) // checkNeed has seen it
	return err != nil || slices.Compare(a, b) < 0
}

// version returns the first two numbers of a version, such as 6.1.0-18.
func version(text string) (numbers []int, err error) {
	words := strings.FieldsFunc(text, func(r rune) bool { return r < '0' || r > '9' })
	if len(words) < 2 || !strings.HasPrefix(text, words[0]+"."+words[1]) {
		return nil, errors.New("want a version, as in 6.1")
	}
	for _, word := range words[:2] {
		n, err := strconv.Atoi(word)
		if err != nil {
			return nil, err
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}
