package figure

import (
	"math"
	"slices"

	"gonum.org/v1/plot"
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

// bounds returns the ends of the axis, with room beside the data, most of it on the
// right, where the last label is.
func (a Axis) bounds() (low, high float64) {
	const room = 0.08
	low, high = slices.Min(a.Places), slices.Max(a.Places)
	switch {
	case a.Words:
		return low - 0.5, high + 0.5
	case a.log:
		wide := math.Pow(high/low, room)
		return low / wide, high * math.Pow(wide, 1.6)
	case a.Grows:
		return 0, high * (1 + 1.6*room)
	case low == high:
		return low - 1, high + 1
	}
	return low - room*(high-low), high + room*(high-low)
}

// Apply makes it a panel's x axis. Each value has a tick, and a label if there is room. In
// tooltips, name stands before the value. label makes a value printable and at most size
// characters long.
func (a Axis) Apply(p *Panel, name string, label func(value string, size int) string) {
	p.X.Min, p.X.Max = a.bounds()
	if a.log {
		p.X.Scale = plot.LogScale{}
	}
	const letters = 130 // along the whole axis
	var marks plot.ConstantTicks
	free := 0.0 // where the next label may begin
	places := slices.Sorted(slices.Values(a.Places))
	for _, place := range places {
		text := label(a.value(place), max(6, letters/len(places)))
		half := float64(len([]rune(text))+2) / letters / 2
		mark := plot.Tick{Value: place}
		if at := p.X.Norm(place); at-half >= free || a.Words {
			mark.Label, free = text, at+half
		}
		marks = append(marks, mark)
	}
	p.X.Tick.Marker = marks
	p.Place = func(x float64) string { return name + " " + label(a.value(x), 60) }
}

// Ticks are the ticks of a linear axis at multiples of 1, 2 or 5 times a power of ten,
// each labelled by the function.
type Ticks func(float64) string

// Ticks returns the ticks within [low, high].
func (name Ticks) Ticks(low, high float64) (marks []plot.Tick) {
	const most = 10
	step := 1 / roundDown(most/(high-low))
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
