package workload

import (
	"math/rand/v2"
	"time"
)

// How the moments at which operations are due follow each other in an open loop.
const (
	Poisson  = "poisson"  // each for itself, as from a great many users: exponential gaps
	Constant = "constant" // at equal distances, those of all workers together
)

// CheckArrivals returns an error that names the flag unless kind is one of the
// two.
func CheckArrivals(kind string) error { return checkChoice("-arrivals", kind, Poisson, Constant) }

// Place is where a worker stands among all workers of a run.
type Place struct {
	Node, Nodes     int // which client node, of how many
	Worker, Workers int // which of its workers, of how many
}

// Arrivals are the moments, counted from a common beginning, at which one
// worker's operations are due: endless, and in order. They depend on nothing but
// what NewArrivals is given, and on no clock. Not safe for concurrent use.
type Arrivals struct {
	gap    float64 // mean nanoseconds between two of this worker's operations
	next   time.Duration
	units  float64    // Poisson: the next one in mean gaps
	random *rand.Rand // Poisson's; nil for Constant
	index  float64    // Constant: how many came before the next one
	phase  float64    // Constant: this worker's first one in gaps, below 1
}

// NewArrivals returns a worker's arrivals. rate is of all workers of all nodes
// together, in operations per second, above 0, and each has an equal share of it.
//
// The superposition of independent Poisson processes is one of the sum of their
// rates (J. F. C. Kingman, Poisson Processes, 1993, section 2.2), so Poisson
// workers need not know of each other. Constant ones take turns: the k-th
// operation of all is due at k/rate.
func NewArrivals(kind string, rate float64, seed uint64, p Place) *Arrivals {
	workers := float64(p.Nodes) * float64(p.Workers)
	a := &Arrivals{gap: workers / rate * float64(time.Second)}
	if kind == Poisson {
		random := newArrivalRandom(seed, p.Node, p.Worker)
		a.random = rand.New(&random)
	} else {
		a.phase = (float64(p.Node)*float64(p.Workers) + float64(p.Worker)) / workers
	}
	a.advance()
	return a
}

// advance computes the next moment. Both forms keep clear of adding up rounding
// errors of nanoseconds: Constant multiplies, and Poisson adds gaps of 1 on
// average, of which a double holds 10^9 to seven digits.
func (a *Arrivals) advance() {
	if a.random != nil {
		a.units += a.random.ExpFloat64()
		a.next = time.Duration(a.units * a.gap)
		return
	}
	a.next = time.Duration((a.index + a.phase) * a.gap)
	a.index++
}

// Next is the first moment that Due has not returned yet.
func (a *Arrivals) Next() time.Duration { return a.next }

// Due sets due to the moments up to and including now that it has not returned
// yet, the earliest first, as many as there is room for, and returns their number.
func (a *Arrivals) Due(now time.Duration, due []time.Duration) int {
	n := 0
	for n < len(due) && a.next <= now {
		due[n] = a.next
		a.advance()
		n++
	}
	return n
}
