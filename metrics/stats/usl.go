package stats

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// USL is the Universal Scalability Law fitted to trials:
//
//	X(N) = gamma N / (1 + alpha (N-1) + beta N (N-1))
//
// (Gunther, Guerrilla Capacity Planning, 2007, chapters 4 to 6; with gamma as in
// Gunther, Puglia and Tomasette, Hadoop Superlinear Scalability, CACM 58(4),
// 2015). N is what was scaled, such as nodes; X is throughput.
type USL struct {
	Gamma Bounded // throughput of one alone
	Alpha Bounded // contention: the share that only one can do at a time; 0 to 1
	Beta  Bounded // coherency: the cost of each pair that must agree; above 0
	Peak  Bounded // the N of the highest throughput, sqrt((1-alpha)/beta); High may be +Inf
}

// Bounded is a fitted quantity and its 95 % interval.
type Bounded struct{ Value, Low, High float64 }

// At returns the throughput that the law predicts for n.
func (u USL) At(n float64) float64 {
	return curve{u.Gamma.Value, u.Alpha.Value, u.Beta.Value}.at(n)
}

const (
	uslSizes      = 4   // different N that a fit needs: one more than it has parameters
	uslReplicates = 500 // of the bootstrap
)

// FitUSL fits the law to trials, one n and throughput x each, by least squares
// with alpha and beta at least 0, and finds 95 % intervals by a bootstrap of the
// trials' relative residuals (Davison and Hinkley, Bootstrap Methods and their
// Application, 1997, section 7.2), drawn from seed. The residuals of a fit to few trials
// are too small. They are enlarged by sqrt(n/(n-3)) and by the ratio of Student's to the
// normal quantile.
//
// The error says why there is no useful fit: the trials have fewer than 4 different n,
// or a parameter is at its bound, where it has no interval and no peak follows.
func FitUSL(n, x []float64, seed uint64) (USL, error) {
	sizes := slices.Compact(slices.Sorted(slices.Values(n)))
	if len(sizes) < uslSizes {
		return USL{}, fmt.Errorf("a fit needs results at %d different places, not %d", uslSizes, len(sizes))
	}
	if slices.Min(x) <= 0 {
		return USL{}, errors.New("a trial has no throughput")
	}
	best := fitCurve(n, x, startCurve(n, x))
	largest := sizes[len(sizes)-1]
	const nothing = 1e-6 // of the throughput at the largest size, is no effect
	switch {
	case best[alpha] >= 1:
		return USL{}, errors.New("the best fit has contention 1 or more: throughput does not grow")
	case best[alpha]*largest < nothing:
		return USL{}, errors.New("the best fit has contention 0, its bound: throughput grows in proportion or faster, and nothing shows what will limit it")
	case best[beta]*largest*largest < nothing:
		return USL{}, errors.New("the best fit has coherency 0, its bound: these trials show no peak to come")
	}
	replicas := bootstrapCurve(best, n, x, rand.New(rand.NewPCG(seed, uslReplicates)))
	bounded := func(of func(curve) float64) Bounded {
		values := make([]float64, len(replicas))
		for i, c := range replicas {
			values[i] = of(c)
		}
		slices.Sort(values)
		return Bounded{of(best), stat.Quantile(0.025, stat.Empirical, values, nil), stat.Quantile(0.975, stat.Empirical, values, nil)}
	}
	return USL{
		Gamma: bounded(func(c curve) float64 { return c[gamma] }),
		Alpha: bounded(func(c curve) float64 { return c[alpha] }),
		Beta:  bounded(func(c curve) float64 { return c[beta] }),
		Peak:  bounded(curve.peak),
	}, nil
}

// curve is the law's three parameters.
type curve [3]float64

// The places of the parameters in a curve.
const (
	gamma = iota
	alpha
	beta
)

func (c curve) at(n float64) float64 { return c[gamma] * n / c.cost(n) }

// cost returns the law's denominator.
func (c curve) cost(n float64) float64 { return 1 + c[alpha]*(n-1) + c[beta]*n*(n-1) }

// peak returns where the curve is highest; +Inf when it rises for ever.
func (c curve) peak() float64 {
	if c[alpha] >= 1 {
		return 1
	}
	return math.Sqrt((1 - c[alpha]) / c[beta])
}

// slopes returns the derivatives of at(n) by each parameter.
func (c curve) slopes(n float64) [3]float64 {
	y, cost := c.at(n), c.cost(n)
	return [3]float64{y / c[gamma], -y * (n - 1) / cost, -y * n * (n - 1) / cost}
}

// misfit returns the sum of the squared residuals.
func (c curve) misfit(n, x []float64) float64 {
	sum := 0.0
	for i := range n {
		sum += math.Pow(x[i]-c.at(n[i]), 2)
	}
	return sum
}

// startCurve returns Amdahl's law through the trials of the smallest and the largest n.
func startCurve(n, x []float64) curve {
	first, last := slices.Index(n, slices.Min(n)), slices.Index(n, slices.Max(n))
	perOne := x[first] / n[first]
	contention := (perOne*n[last]/x[last] - 1) / (n[last] - 1)
	return curve{perOne, min(max(contention, 1e-3), 1), 1e-3 / n[last]}
}

// fitCurve improves c by Levenberg and Marquardt's method, its steps cut off at
// the bounds (Nocedal and Wright, Numerical Optimization, 2nd ed. 2006, sections
// 10.3 and 16.7).
func fitCurve(n, x []float64, c curve) curve {
	const rounds, least, most = 500, 1e-12, 1e12
	misfit := c.misfit(n, x)
	for damping, round := 1e-3, 0; round < rounds && damping < most; round++ {
		next := c.step(n, x, damping)
		better := next.misfit(n, x)
		if !(better < misfit) {
			damping *= 10
			continue
		}
		done := misfit-better <= 1e-14*misfit
		c, misfit, damping = next, better, max(damping/10, least)
		if done {
			break
		}
	}
	return c
}

// step returns the curve after one damped Gauss-Newton step within the bounds. A
// parameter that is at its bound and would leave it stays there. The parameters
// differ by many powers of ten, so each is damped by the length of its slopes.
func (c curve) step(n, x []float64, damping float64) curve {
	slopes, off := mat.NewDense(len(n)+len(c), len(c), nil), mat.NewVecDense(len(n)+len(c), nil)
	for i := range n {
		s := c.slopes(n[i])
		slopes.SetRow(i, s[:])
		off.SetVec(i, x[i]-c.at(n[i]))
	}
	for p := range c {
		column := slopes.ColView(p).(*mat.VecDense)
		length := mat.Norm(column, 2)
		if p != gamma && c[p] == 0 && mat.Dot(column, off) <= 0 {
			column.Zero()
		}
		slopes.Set(len(n)+p, p, math.Sqrt(damping)*length)
	}
	var move mat.VecDense
	if move.SolveVec(slopes, off) != nil {
		return c
	}
	for p := range c {
		c[p] = max(c[p]+move.AtVec(p), 0)
	}
	return c
}

// bootstrapCurve fits the law to resampled trials.
func bootstrapCurve(best curve, n, x []float64, rng *rand.Rand) []curve {
	freedom := float64(len(n) - len(best))
	widen := math.Sqrt(float64(len(n))/freedom) *
		distuv.StudentsT{Sigma: 1, Nu: freedom}.Quantile(0.975) / distuv.UnitNormal.Quantile(0.975)
	residuals := make([]float64, len(n))
	for i := range n {
		residuals[i] = widen * (x[i]/best.at(n[i]) - 1)
	}
	centre := stat.Mean(residuals, nil)
	replicas, again := make([]curve, uslReplicates), make([]float64, len(n))
	for r := range replicas {
		for i := range n {
			again[i] = best.at(n[i]) * (1 + residuals[rng.IntN(len(n))] - centre)
		}
		replicas[r] = fitCurve(n, again, best)
	}
	return replicas
}
