package pages

import (
	"slices"

	"kvlab/metrics"
	"kvlab/plots/folder"
)

// walls are what contained the servers of a class's entries.
type walls struct {
	Limits string         // as --contain takes them; "" if no server was contained
	Held   []string       // the walls that held in every trial
	Open   []metrics.Wall // those that did not, each once
	Free   []string       // entries with a trial that was not contained; the reference is the teacher's own
}

// wallsOf looks at every trial.
func wallsOf(s *folder.Sweep) (w walls) {
	var all []string
	for i, t := range s.Trials {
		c := s.Runs[i].Contained
		if c == nil {
			if name := t.Point[0]; len(s.Runs[i].Nodes) > 0 && name != s.Class.Reference && !slices.Contains(w.Free, name) {
				w.Free = append(w.Free, name)
			}
			continue
		}
		w.Limits = c.Limits
		for _, wall := range c.Walls {
			if !slices.Contains(all, wall.Name) {
				all = append(all, wall.Name)
			}
			if !wall.Held && !slices.ContainsFunc(w.Open, func(open metrics.Wall) bool { return open.Name == wall.Name }) {
				w.Open = append(w.Open, wall)
			}
		}
	}
	w.Held = slices.DeleteFunc(all, func(name string) bool {
		return slices.ContainsFunc(w.Open, func(open metrics.Wall) bool { return open.Name == name })
	})
	return w
}
