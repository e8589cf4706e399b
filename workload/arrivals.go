package workload

import (
	"math"
	"math/rand/v2"
	"time"

	"kvlab/workload/profile"
)

// The arrival processes of an open loop.
const (
	Poisson  = "poisson"  // independent, as from very many users: exponential gaps
	Constant = "constant" // all workers' operations together at equal distances
)

// CheckArrivals returns an error that names the flag unless kind is Poisson or
// Constant.
func CheckArrivals(kind string) error {
	_, err := find("-arrivals", kind, []choice[bool]{{name: Poisson}, {name: Constant}})
	return err
}

// Place is the position of a worker among all workers of a run.
type Place struct {
	Node, Nodes     int // the number of the client node, and of all client nodes
	Worker, Workers int // the number of the worker in its node, and of all workers of a node
}

// Part returns the worker's half-open part of the numbers from 0 to total. The parts of all
// workers cover all numbers, and those of a node's workers follow one another.
func (p Place) Part(total uint64) (from, to uint64) {
	first, last := part(total, p.Node, p.Nodes)
	from, to = part(last-first, p.Worker, p.Workers)
	return first + from, first + to
}

// part returns the half-open part i of n of the numbers from 0 to total.
func part(total uint64, i, n int) (from, to uint64) {
	each, rest := total/uint64(n), total%uint64(n)
	begin := func(i uint64) uint64 { return i*each + min(i, rest) }
	return begin(uint64(i)), begin(uint64(i) + 1)
}

// Arrivals is the ordered sequence of the times at which one worker's operations are due,
// counted from the run's start. It is endless, but for a plan whose operations end. It depends
// only on the arguments of
// NewArrivals. It is not safe for concurrent use.
type Arrivals struct {
	gap    float64 // mean nanoseconds between two of this worker's operations
	next   time.Duration
	units  float64    // next in mean gaps
	random *rand.Rand // Poisson's; nil for Constant
	player *player    // a trace's, whose times take the place of gaps; else nil
	left   uint64     // how many are due after next

	course  *profile.Course // from opens on; nil of a constant rate, and before Follow
	opens   time.Duration
	workers float64 // that share the course

	together, same uint64 // operations that are due at one time; how many more are at next
}

// NewArrivals returns a worker's arrivals. rate is the rate of all workers of all nodes
// together, in operations per second, above 0. Each worker has an equal share of it.
//
// The superposition of independent Poisson processes is a Poisson process with the sum
// of their rates (J. F. C. Kingman, Poisson Processes, 1993, section 2.2), so Poisson
// workers are independent. Constant workers take turns: the k-th operation of all is due
// at k/rate.
func NewArrivals(kind string, rate float64, seed uint64, p Place) *Arrivals {
	workers := float64(p.Nodes) * float64(p.Workers)
	a := &Arrivals{gap: workers / rate * float64(time.Second), workers: workers, left: math.MaxUint64}
	if kind == Poisson {
		a.random = rand.New(rand.NewPCG(leaf(seed, arrivalBranch, p.Node, p.Worker)))
	} else {
		a.units = (float64(p.Node)*float64(p.Workers)+float64(p.Worker))/workers - 1
	}
	a.advance()
	return a
}

// Arrivals returns a worker's arrivals as NewArrivals does, as many as the plan has operations for
// the worker, and at the times of the trace if it has one: rate is then the mean of all
// workers over the whole trace.
func (p *Plan) Arrivals(kind string, rate float64, place Place) *Arrivals {
	if p.replay == nil {
		a := NewArrivals(kind, rate, p.config.Seed, place)
		a.left = p.Ops(place) - 1
		return a
	}
	a := &Arrivals{gap: float64(time.Second) / rate, player: newPlayer(p.replay, place), left: p.Ops(place)}
	a.advance()
	return a
}

// Together makes each n operations due at one time, with the same rate. It is called before the
// first Due.
func (a *Arrivals) Together(n int) {
	if n == 1 {
		return
	}
	a.together, a.same = uint64(n), uint64(n-1)
	a.gap, a.workers = a.gap*float64(n), a.workers*float64(n)
	a.next = a.due()
}

// Follow makes the times those of a course from opens on, when they have been at its first rate.
// Due must not have returned a time after opens. Only the first call has an effect.
//
// Poisson's times are a Poisson process with the course's rate, because the inverse of its integral
// maps one of rate 1 to it (Kingman, section 4.5).
func (a *Arrivals) Follow(c *profile.Course, opens time.Duration) {
	if a.course == nil && !c.Constant() {
		a.course, a.opens = c, opens
		a.next = a.due()
	}
}

// due returns the time of so many units.
func (a *Arrivals) due() time.Duration {
	at := time.Duration(a.units * a.gap)
	if a.course == nil || at <= a.opens {
		return at
	}
	return a.opens + a.course.At((a.units-float64(a.opens)/a.gap)*a.workers)
}

// forever is later than any end of a run.
const forever = 1 << 61

// advance computes the next time. It adds gaps with a mean of 1, so rounding errors of
// nanoseconds do not add up: a float64 holds the sum of 10^9 gaps to seven digits.
func (a *Arrivals) advance() {
	if a.left == 0 {
		a.next = forever
		return
	}
	a.left--
	if a.same > 0 {
		a.same--
		return
	}
	a.same = max(a.together, 1) - 1
	if a.player != nil {
		a.next = a.player.due(a.gap)
		return
	}
	gap := 1.0
	if a.random != nil {
		gap = a.random.ExpFloat64()
	}
	a.units += gap
	a.next = a.due()
}

// Next returns the first time that Due has not returned.
func (a *Arrivals) Next() time.Duration { return a.next }

// Due sets due to the times up to and including now that it has not returned, the
// earliest first, and returns their number, at most len(due).
func (a *Arrivals) Due(now time.Duration, due []time.Duration) int {
	n := 0
	for n < len(due) && a.next <= now {
		due[n] = a.next
		a.advance()
		n++
	}
	return n
}

// Dues returns a digest of due times, extended by one more. It does not depend on their
// order. The digest of no times is 0.
func Dues(digest uint64, due time.Duration) uint64 { return digest + mix64(uint64(due)) }
