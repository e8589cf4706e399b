package figure

import (
	"slices"
	"strings"
)

// Systems returns what the figure compares: the systems of its legend, and the words along its
// x axis; either may be none.
func (f Figure) Systems() (legend, words []string) {
	for _, group := range f.Legend {
		for _, e := range group.Entries {
			if e.System != "" && !slices.Contains(legend, e.System) {
				legend = append(legend, e.System)
			}
		}
	}
	for _, p := range f.Panels {
		if p.axis != nil && p.axis.Words {
			words = p.axis.Values
		}
	}
	return legend, words
}

// Label gives the systems of the legend other names, in their order, or else the words along
// the x axis. It reports whether one of the two has as many names.
func (f *Figure) Label(labels []string) bool {
	legend, words := f.Systems()
	switch len(labels) {
	case len(legend):
		f.Legend = slices.Clone(f.Legend)
		for g := range f.Legend {
			entries := slices.Clone(f.Legend[g].Entries)
			for i, e := range entries {
				if at := slices.Index(legend, e.System); at >= 0 {
					entries[i].Name, entries[i].Brief = strings.Replace(e.Name, e.System, labels[at], 1), strings.Replace(e.Brief, e.System, labels[at], 1)
				}
			}
			f.Legend[g].Entries = entries
		}
		return true
	case len(words):
		for _, p := range f.Panels {
			p.axis.names = labels
		}
		return true
	}
	return false
}
