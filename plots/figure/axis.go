package figure

import (
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
)

// Axis is an x axis of values that people chose, such as those of a flag.
type Axis struct {
	Values []string
	Places []float64 // of the values, in their order
	Words  bool      // not numbers: the values lie side by side
	Grows  bool      // y is proportional to x if nothing is lost
	log    bool
}

// NewAxis chooses the axis for values that are numbers. It is an axis of words if the
// number of one of them is +Inf, which is no number. grows says that y is proportional to x
// if nothing is lost. Numbers that span more than a factor of 100 have a logarithmic
// axis, and so have powers of two that span more than 16.
func NewAxis(values []string, number func(string) float64, grows bool) Axis {
	a := Axis{Values: values}
	powers := true
	for _, value := range values {
		v := number(value)
		fraction, _ := math.Frexp(v)
		a.Words, powers = a.Words || math.IsInf(v, 0), powers && fraction == 0.5
		a.Places = append(a.Places, v)
	}
	if a.Words {
		for i := range values {
			a.Places[i] = float64(i)
		}
		return a
	}
	least, most := slices.Min(a.Places), slices.Max(a.Places)
	a.log = least > 0 && (powers && most > 16*least || most > 100*least)
	a.Grows = grows && least > 0
	return a
}

// Place returns where a value lies.
func (a Axis) Place(value string) float64 { return a.Places[slices.Index(a.Values, value)] }

// value returns the value at a place.
func (a Axis) value(place float64) string { return a.Values[slices.Index(a.Places, place)] }

// labelRoom is how much more room is on the right of the data than on its left, where a
// screen's figure has the last label.
const labelRoom = 1.6

// bounds returns the ends of the axis, with room beside the data, and right times as much
// on the right.
func (a Axis) bounds(right float64) (low, high float64) {
	const room = 0.08
	low, high = slices.Min(a.Places), slices.Max(a.Places)
	switch {
	case a.Words:
		return low - 0.5, high + 0.5
	case a.log:
		wide := math.Pow(high/low, room)
		return low / wide, high * math.Pow(wide, right)
	case a.Grows:
		return 0, high * (1 + right*room)
	case low == high:
		return low - 1, high + 1
	}
	return low - room*(high-low), high + room*(high-low)
}

// Apply makes it a panel's x axis. Each value has a tick, and a label if there is room. In
// tooltips, name stands before the value. label makes a value printable and at most size
// characters long.
func (a Axis) Apply(p *Panel, name string, label func(value string, size int) string) {
	p.X.Min, p.X.Max = a.bounds(labelRoom)
	if a.log {
		p.X.Scale = plot.LogScale{}
	}
	p.axis = &valueTicks{a, p.X.Norm, label, a.Values, 130}
	p.X.Tick.Marker = p.axis
	p.Place = func(x float64) string { return name + " " + label(a.value(x), 60) }
}

// valueTicks are the ticks of an Axis.
type valueTicks struct {
	Axis
	norm    func(float64) float64
	label   func(value string, size int) string
	names   []string // of the values
	letters int      // along the whole axis
}

// Ticks returns a tick for each value.
func (v valueTicks) Ticks(_, _ float64) (marks []plot.Tick) {
	free := 0.0 // where the next label may begin
	places := slices.Sorted(slices.Values(v.Places))
	for _, place := range places {
		text := v.label(v.names[slices.Index(v.Places, place)], max(6, v.letters/len(places)))
		half := float64(len([]rune(text))+2) / float64(v.letters) / 2
		mark := plot.Tick{Value: place}
		if at := v.norm(place); at-half >= free || v.Words {
			mark.Label, free = text, at+half
		}
		marks = append(marks, mark)
	}
	return marks
}

// fitting are the ticks of an axis of a length in units whose labels fit beside each other.
type fitting struct {
	axis   *plot.Axis
	length vg.Length
	of     plot.Ticker
	room   func(label string) vg.Length
}

// Ticks returns fewer of Ticks, and of others fewer labels.
func (f fitting) Ticks(low, high float64) (marks []plot.Tick) {
	switch of := f.of.(type) {
	case *valueTicks:
		narrow := *of
		narrow.letters = max(1, int(f.length/7)) // a letter and its room
		return narrow.Ticks(low, high)
	case Ticks:
		for most := 10; most >= 2; most-- {
			marks = of.most(most, low, high)
			if free := f.thinned(slices.Clone(marks)); slices.Equal(free, marks) {
				break
			}
		}
		return marks
	}
	return f.thinned(f.of.Ticks(low, high))
}

// thinned removes the labels that would cover the one before.
func (f fitting) thinned(marks []plot.Tick) []plot.Tick {
	free := vg.Length(math.Inf(-1))
	for i, mark := range marks {
		at, half := f.length*vg.Length(f.axis.Norm(mark.Value)), f.room(mark.Label)/2
		if mark.Label == "" {
			continue
		}
		if at-half < free {
			marks[i].Label = ""
			continue
		}
		free = at + half + 9
	}
	return marks
}

// Ticks are the ticks of a linear axis at multiples of 1, 2 or 5 times a power of ten,
// each labelled by the function.
type Ticks func(float64) string

// Ticks returns the ticks within [low, high].
func (name Ticks) Ticks(low, high float64) []plot.Tick { return name.most(10, low, high) }

// most returns about so many ticks at most.
func (name Ticks) most(most int, low, high float64) (marks []plot.Tick) {
	step := 1 / roundDown(float64(most)/(high-low))
	for i := math.Ceil(low / step); i*step <= high; i++ {
		marks = append(marks, plot.Tick{Value: i * step, Label: name(i*step + 0)}) // not "-0"
	}
	return marks
}

// logTicks are gonum's ticks of a logarithmic axis. The function labels 1, 2 and 5
// times every power of ten or, over more than three decades, the powers alone.
type logTicks func(float64) string

// Ticks returns the ticks within [low, high].
func (name logTicks) Ticks(low, high float64) []plot.Tick {
	marks := plot.LogTicks{}.Ticks(low/10, high) // gonum's would begin too high below 1
	// gonum keeps room for the labels of marks beyond the ends, which would be blank.
	marks = slices.DeleteFunc(marks, func(m plot.Tick) bool { return m.Value < low*(1-1e-9) || m.Value > high*(1+1e-9) })
	for i, mark := range marks {
		digit := math.Round(mark.Value / math.Pow(10, math.Floor(math.Log10(mark.Value*(1+1e-9)))))
		if mark.Label != "" || high/low < 1000.1 && (digit == 2 || digit == 5) {
			marks[i].Label = name(mark.Value)
		}
	}
	return marks
}

// Top returns the upper end of an axis from zero, with some room above high.
func Top(high float64) float64 {
	if high > 0 {
		return 1.06 * high
	}
	return 1
}

// logRange returns the range of a logarithmic axis around [low, high]: from and to 1, 2
// or 5 times a power of ten, with room for labels at the curves.
func logRange(low, high float64) (float64, float64) {
	return roundDown(low / 1.1), 1 / roundDown(1/(high*1.25))
}

// roundDown returns the largest 1, 2 or 5 times a power of ten not above v.
func roundDown(v float64) float64 {
	decade := math.Pow(10, math.Floor(math.Log10(v)))
	switch digit := v / decade * (1 + 1e-9); {
	case digit >= 5:
		return 5 * decade
	case digit >= 2:
		return 2 * decade
	}
	return decade
}
