package profile

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"html/template"
	"maps"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// function is a function in a profile, or in a flame graph a function that some others called.
type function struct {
	Name   string
	Flat   int64 // nanoseconds in itself
	Total  int64 // and in what it called
	called map[string]*function
}

// call returns the function that f calls by a name.
func (f *function) call(name string) *function {
	if f.called == nil {
		f.called = make(map[string]*function)
	}
	if f.called[name] == nil {
		f.called[name] = &function{Name: name}
	}
	return f.called[name]
}

// calls returns the functions that f calls, the longest first.
func (f *function) calls() []*function {
	return longest(f.called, func(g *function) int64 { return g.Total })
}

// longest returns functions in falling order of a time, and of one time in order of their names.
func longest(all map[string]*function, of func(*function) int64) []*function {
	return slices.SortedFunc(maps.Values(all), func(a, b *function) int {
		return cmp.Or(cmp.Compare(of(b), of(a)), strings.Compare(a.Name, b.Name))
	})
}

// preempted is where Go's runtime keeps the registers of a goroutine that it stops
// (runtime/preempt.go).
const preempted = "runtime.asyncPreempt"

// stackOf returns the names of a sample's functions from the root to the leaf. An inlined function
// is one, too. What is preempted counts as the function that it stopped, which busy processors
// would hide.
func stackOf(s *profile.Sample) (names []string) {
	for _, location := range slices.Backward(s.Location) {
		if len(location.Line) == 0 {
			names = append(names, fmt.Sprintf("%#x", location.Address))
		}
		for _, line := range slices.Backward(location.Line) {
			if line.Function != nil {
				names = append(names, line.Function.Name)
			}
		}
	}
	if last := len(names) - 1; last > 0 && names[last] == preempted {
		return names[:last]
	}
	return names
}

// sum returns the root of the flame graph of some profiles together, and their functions by name. A
// function that calls itself counts once in a sample. The time is the last value of a sample.
func sum(profiles []*profile.Profile) (root *function, all map[string]*function) {
	root, all = &function{Name: "all"}, make(map[string]*function)
	var samples []*profile.Sample
	for _, p := range profiles {
		samples = append(samples, p.Sample...)
	}
	for _, s := range samples {
		time, at, seen := s.Value[len(s.Value)-1], root, make(map[string]bool)
		root.Total += time
		for _, name := range stackOf(s) {
			at = at.call(name)
			at.Total += time
			if all[name] == nil {
				all[name] = &function{Name: name}
			}
			if !seen[name] {
				all[name].Total += time
			}
			seen[name] = true
		}
		if at.Flat += time; at != root {
			all[at.Name].Flat += time
		}
	}
	return root, all
}

// The size of a flame graph in pixels, before a page scales it.
const (
	flameWidth = 1000.0
	rowHeight  = 17.0
	charWidth  = 6.0 // of its text, about
	narrowest  = 0.5 // what is less wide is left out: nobody sees it
)

// box is a function's place in a flame graph.
type box struct {
	*function
	X, Width float64
	Level    int // 0 is the root's
}

// layOut returns the boxes of a flame graph: as wide as their share of the time, each on top of its
// caller, the longest left.
func layOut(root *function) (boxes []box) {
	var place func(f *function, x float64, level int)
	place = func(f *function, x float64, level int) {
		width := flameWidth * float64(f.Total) / float64(max(1, root.Total))
		if width < narrowest {
			return
		}
		boxes = append(boxes, box{f, x, width, level})
		for _, g := range f.calls() {
			place(g, x, level+1)
			x += flameWidth * float64(g.Total) / float64(max(1, root.Total))
		}
	}
	place(root, 0, 0)
	return boxes
}

// flame draws a flame graph as SVG, which needs nothing else. A pointer over a box shows its
// function's name and time.
func flame(root *function, title string) template.HTML {
	boxes := layOut(root)
	levels := 0
	for _, b := range boxes {
		levels = max(levels, b.Level+1)
	}
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="%s" viewBox="0 0 %.0f %.0f" width="%.0f" font-family="sans-serif" font-size="11">`+"\n",
		template.HTMLEscapeString(title), flameWidth, float64(levels)*rowHeight, flameWidth)
	for _, b := range boxes {
		y := float64(levels-1-b.Level) * rowHeight
		fmt.Fprintf(&out, `<g><title>%s: %.2f s, %.1f %%; in itself %.1f %%</title><rect x="%.2f" y="%.1f" width="%.2f" height="%.1f" fill="%s" stroke="white" stroke-width="0.5"/>`,
			template.HTMLEscapeString(b.Name), float64(b.Total)/1e9, percent(b.Total, root), percent(b.Flat, root), b.X, y, b.Width, rowHeight, fill(b.Name))
		if text := fitting(short(b.Name), b.Width); text != "" {
			fmt.Fprintf(&out, `<text x="%.2f" y="%.1f" fill="black">%s</text>`, b.X+3, y+rowHeight-5, template.HTMLEscapeString(text))
		}
		out.WriteString("</g>\n")
	}
	out.WriteString("</svg>")
	return template.HTML(out.String())
}

// percent returns a time as a percentage of all.
func percent(time int64, root *function) float64 {
	return 100 * float64(time) / float64(max(1, root.Total))
}

// short returns a function's name without the path of its package.
func short(name string) string {
	head, _, _ := strings.Cut(name, "(") // a type parameter may have a path, too
	return name[strings.LastIndex(head, "/")+1:]
}

// fitting returns as much of a text as is shown in a width; "" if that says nothing.
func fitting(text string, width float64) string {
	most := int((width - 6) / charWidth)
	switch {
	case len(text) <= most:
		return text
	case most < 4:
		return ""
	}
	return strings.ToValidUTF8(text[:most-1], "") + "…"
}

// fill returns the colour of a function's package: warm and light, so that black text is readable
// on it.
func fill(name string) string {
	pkg, _, _ := strings.Cut(short(name), ".")
	sum := fnv.New32a()
	sum.Write([]byte(pkg))
	return fmt.Sprintf("hsl(%d,75%%,%d%%)", sum.Sum32()%60, 68+sum.Sum32()/60%14)
}
