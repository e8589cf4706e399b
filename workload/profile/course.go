package profile

import (
	"math"
	"strings"
	"time"
)

// Stage is a part of a rate over time: constant, a ramp, or a sine.
type Stage struct {
	From, To float64       // levels at its two ends; of a sine its mean
	Swing    float64       // a sine's amplitude, at most its mean; 0 without one
	Period   time.Duration // a sine's
	Length   time.Duration // above 0; of a single stage that lacks it 0 before Fit
}

func (s Stage) constant() bool { return s.From == s.To && s.Swing == 0 }

// Highest returns a bound of the stage's levels, which it reaches if it is as long as a sine's
// period.
func (s Stage) Highest() float64 { return max(s.From, s.To) + s.Swing }

// text writes the stage. write writes a level.
func (s Stage) text(write func(float64) string) string {
	text := write(s.From)
	if s.Swing > 0 {
		text += "~" + write(s.Swing) + "/" + short(s.Period)
	} else if !s.constant() {
		text += ".." + write(s.To)
	}
	if s.Length > 0 {
		text += "@" + short(s.Length)
	}
	return text
}

// short writes a length of time without zeros at its end: "2m".
func short(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = strings.TrimSuffix(text, zero[1:])
		}
	}
	return text
}

// at returns the level x seconds after the stage's begin.
func (s Stage) at(x float64) float64 {
	level := s.From
	if s.From != s.To {
		level += (s.To - s.From) / s.Length.Seconds() * x
	}
	if s.Swing > 0 {
		level += s.Swing * math.Sin(2*math.Pi*x/s.Period.Seconds())
	}
	return level
}

// sum returns the integral of the level over the first x seconds.
func (s Stage) sum(x float64) float64 {
	sum := s.From * x
	if s.From != s.To {
		sum += (s.To - s.From) / s.Length.Seconds() * x * x / 2
	}
	if s.Swing > 0 {
		turn := s.Period.Seconds() / (2 * math.Pi)
		sum += s.Swing * turn * (1 - math.Cos(x/turn))
	}
	return sum
}

// resolution is a thousandth of the unit of due times, in seconds.
const resolution = 1e-12

// inverse returns after how many seconds the sum is n. Of a ramp it is the root of a quadratic
// equation; of a sine Newton's method finds it between bounds that a step beyond them halves, so
// that each step comes nearer (W. H. Press and others, Numerical Recipes, section 9.4).
func (s Stage) inverse(n float64) float64 {
	if n <= 0 {
		return 0
	}
	if s.Swing == 0 {
		slope := 0.0
		if s.From != s.To {
			slope = (s.To - s.From) / s.Length.Seconds()
		}
		return 2 * n / (s.From + math.Sqrt(max(0, s.From*s.From+2*slope*n)))
	}
	low, high := 0.0, s.Length.Seconds()
	x := min(n/s.From, high)
	for high-low > resolution {
		more := s.sum(x) - n
		if more > 0 {
			high = x
		} else {
			low = x
		}
		next := x - more/s.at(x)
		if math.Abs(next-x) < resolution {
			return x
		}
		if !(next > low && next < high) {
			next = (low + high) / 2
		}
		if x = next; x == low || x == high {
			break
		}
	}
	return x
}

// mean returns the stage's mean level.
func (s Stage) mean() float64 {
	if s.Length == 0 || s.Swing == 0 {
		return (s.From + s.To) / 2
	}
	return s.sum(s.Length.Seconds()) / s.Length.Seconds()
}

// mean returns the mean level of stages.
func mean(stages []Stage) float64 {
	sum, length := 0.0, 0.0
	for _, s := range stages {
		weight := max(s.Length.Seconds(), resolution) // a single one has none before Fit
		sum, length = sum+weight*s.mean(), length+weight
	}
	return sum / length
}

// Never is the time at which an operation is due that a course does not come to.
const Never time.Duration = math.MaxInt64 / 2

// Course is a rate over time, in operations per second, from the window's opening on. After its
// last stage the rate stays as it was at the end. It is read-only.
type Course struct {
	stages []Stage         // the last one is endless
	begins []time.Duration // of each
	sums   []float64       // the operations before each
}

// Course returns the course of a rate whose mean is opsPerS.
func (r Rate) Course(opsPerS float64) *Course {
	c := &Course{}
	end := Stage{From: opsPerS, To: opsPerS, Length: Never}
	begin, sum := time.Duration(0), 0.0
	for _, s := range r.Stages {
		scale := opsPerS / max(r.OpsPerS, r.Share)
		s.From, s.To, s.Swing = scale*s.From, scale*s.To, scale*s.Swing
		c.stages, c.begins, c.sums = append(c.stages, s), append(c.begins, begin), append(c.sums, sum)
		begin, sum = begin+s.Length, sum+s.sum(s.Length.Seconds())
		end.From = s.at(s.Length.Seconds())
		end.To = end.From
	}
	c.stages, c.begins, c.sums = append(c.stages, end), append(c.begins, begin), append(c.sums, sum)
	return c
}

// First returns the rate at the window's opening, which the warm-up has too.
func (c *Course) First() float64 { return c.stages[0].From }

// Constant reports whether the rate has no stages.
func (c *Course) Constant() bool { return len(c.stages) == 1 }

// Highest returns the highest rate.
func (c *Course) Highest() (most float64) {
	for _, s := range c.stages {
		most = max(most, s.Highest())
	}
	return most
}

// Sum returns the mean number of operations that are due in a time from the opening on. Before it the
// number is negative, at the first rate.
func (c *Course) Sum(t time.Duration) float64 {
	if t < 0 {
		return t.Seconds() * c.First()
	}
	i := 0
	for i+1 < len(c.stages) && c.begins[i+1] <= t {
		i++
	}
	return c.sums[i] + c.stages[i].sum((t - c.begins[i]).Seconds())
}

// At returns when the mean number of due operations is n, at least 0: the inverse of Sum.
func (c *Course) At(n float64) time.Duration {
	i := 0
	for i+1 < len(c.stages) && c.sums[i+1] <= n {
		i++
	}
	x := 1e9 * c.stages[i].inverse(n-c.sums[i])
	if i+1 < len(c.stages) {
		return c.begins[i] + min(time.Duration(x), c.stages[i].Length)
	}
	if !(x < float64(Never)) {
		return Never
	}
	return c.begins[i] + time.Duration(x)
}
