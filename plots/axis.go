package plots

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/plot"

	"kvlab/metrics"
)

// axis is how the values of a sweep's knob lie side by side.
type axis struct {
	knob   metrics.Knob
	places []float64 // of the knob's values, in their order
	kind   axisKind
	grows  bool // the knob is a number of workers of some kind, so twice as many might do twice as much
}

// axisKind is how places along an axis are told from values.
type axisKind int

const (
	linear  axisKind = iota // numbers
	doubled                 // numbers that are far apart: each step along the axis is a doubling
	words                   // not numbers: side by side
)

// growing are the knobs with which throughput should grow in proportion.
var growing = []string{"nodes", "servers", "clients", "workers"}

// axisOf chooses the axis for a knob. Numbers that are all powers of two and
// span more than 16 have a logarithmic one, and so have any that span more than
// 100; a knob with which throughput should grow is linear up to the same 16, as
// a straight line is then what is hoped for.
func axisOf(knob metrics.Knob) axis {
	a := axis{knob: knob, grows: slices.Contains(growing, knob.Name)}
	powers := true
	for _, value := range knob.Values {
		v := number(value)
		if math.IsInf(v, 0) {
			return a.asWords()
		}
		a.places = append(a.places, v)
		fraction, _ := math.Frexp(v)
		powers = powers && fraction == 0.5
	}
	least, most := slices.Min(a.places), slices.Max(a.places)
	if least > 0 && (powers && most > 16*least || most > 100*least) {
		a.kind = doubled
	}
	if least <= 0 {
		a.grows = false // nothing to be in proportion to
	}
	return a
}

// asWords is the axis with values side by side.
func (a axis) asWords() axis {
	a.kind, a.grows = words, false
	a.places = nil
	for i := range a.knob.Values {
		a.places = append(a.places, float64(i))
	}
	return a
}

// place returns where a value lies.
func (a axis) place(value string) float64 { return a.places[slices.Index(a.knob.Values, value)] }

// bounds are the ends of the axis, with room beside the data, most of it on the
// right, where the last label stands.
func (a axis) bounds() (low, high float64) {
	const room = 0.08
	low, high = slices.Min(a.places), slices.Max(a.places)
	switch {
	case a.kind == words:
		return low - 0.5, high + 0.5
	case a.kind == doubled:
		wide := math.Pow(high/low, room)
		return low / wide, high * math.Pow(wide, 1.6)
	case a.grows:
		return 0, high * (1 + 1.6*room)
	case low == high:
		return low - 1, high + 1
	}
	return low - room*(high-low), high + room*(high-low)
}

// samples are places close together along the axis, for curves.
func (a axis) samples() []float64 {
	const steps = 100
	low, high := a.bounds()
	places := make([]float64, steps+1)
	for i := range places {
		t := float64(i) / steps
		if places[i] = low + t*(high-low); a.kind == doubled {
			places[i] = low * math.Pow(high/low, t)
		}
	}
	return places
}

// mark sets p's x axis: its ends, and a tick at each value as far as there is
// room for the labels.
func (a axis) mark(p *plot.Plot) {
	p.X.Min, p.X.Max = a.bounds()
	share := func(at float64) float64 { return (at - p.X.Min) / (p.X.Max - p.X.Min) }
	if a.kind == doubled {
		p.X.Scale = plot.LogScale{}
		share = func(at float64) float64 { return math.Log(at/p.X.Min) / math.Log(p.X.Max/p.X.Min) }
	}
	const letters = 150 // along the whole axis
	var marks plot.ConstantTicks
	order := make([]int, len(a.places))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(a.places[i], a.places[j]) })
	free := 0.0 // where the next label may begin
	for _, i := range order {
		text := label(a.knob.Values[i], max(6, letters/len(order)))
		half := float64(len([]rune(text))+2) / letters / 2
		mark := plot.Tick{Value: a.places[i]}
		if at := share(a.places[i]); at-half >= free || a.kind == words {
			mark.Label, free = text, at+half
		}
		marks = append(marks, mark)
	}
	p.X.Tick.Marker = marks
}
