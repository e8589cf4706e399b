package figure

import (
	"slices"
	"strings"
)

// Systems returns the names of the systems that the figure compares: those of its legend or,
// if it has none, the words along its x axis. None of a figure of one system.
func (f Figure) Systems() (names []string) {
	for _, group := range f.Legend {
		for _, e := range group.Entries {
			if e.System != "" && !slices.Contains(names, e.System) {
				names = append(names, e.System)
			}
		}
	}
	if len(names) == 0 && len(f.Panels) == 1 && f.Panels[0].axis != nil && f.Panels[0].axis.Words {
		names = f.Panels[0].axis.Values
	}
	return names
}

// Label gives the figure's systems other names, in their order. It is of the same length as
// Systems.
func (f *Figure) Label(labels []string) {
	names := f.Systems()
	legend := slices.Clone(f.Legend)
	for g := range legend {
		legend[g].Entries = slices.Clone(legend[g].Entries)
		for i := range legend[g].Entries {
			if e := &legend[g].Entries[i]; e.System != "" {
				label := labels[slices.Index(names, e.System)]
				e.Name, e.Brief = strings.Replace(e.Name, e.System, label, 1), strings.Replace(e.Brief, e.System, label, 1)
				e.System = label
			}
		}
	}
	if len(f.Panels) == 1 && f.Panels[0].axis != nil && slices.Equal(names, f.Panels[0].axis.Values) {
		f.Panels[0].axis.names = labels
	}
	f.Legend = legend
}
