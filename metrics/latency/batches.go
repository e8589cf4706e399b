package latency

import (
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"kvlab/metrics"
	"kvlab/metrics/stats"
)

// batches holds the values of a window in parts of its time that have one length. Intervals
// from batches do not assume that calls are independent: the calls of a moment share its
// queues and its stalls. The parts are aligned to the clock, so that the order in which
// records come changes nothing.
type batches struct {
	length time.Duration
	of     map[int64]*Distribution // by the number of the part since the Unix epoch
}

// Parts are doubled in length when there are more than mostBatches. Fewer than fewestBatches
// give no interval. Some 20 to 30 are advised (Schmeiser, Batch Size Effects in the Analysis
// of Simulation Output, Operations Research 30, 1982).
const (
	mostBatches   = 32
	fewestBatches = 5
)

// add adds the values of an interval to the part that holds its middle.
func (b *batches) add(r metrics.Record, d *Distribution) {
	if b.of == nil {
		b.length, b.of = time.Second, make(map[int64]*Distribution)
	}
	middle := r.Time.Add(-time.Duration(r.Histogram.LengthS * float64(time.Second) / 2))
	b.merge(middle.UnixNano()/int64(b.length), d)
	for len(b.of) > mostBatches {
		short := b.of
		b.length, b.of = 2*b.length, make(map[int64]*Distribution)
		for number, d := range short {
			b.merge(number/2, d)
		}
	}
}

func (b *batches) merge(number int64, d *Distribution) {
	if b.of[number] == nil {
		b.of[number] = NewDistribution()
	}
	b.of[number].Add(d)
}

// counts holds the number of values up to each of the quantiles.
type counts [len(metrics.QuantileShares)]float64

func upTo(d *Distribution, quantiles [len(counts{})]int64) (c counts) {
	for _, bar := range d.Distribution() {
		for i, micros := range quantiles {
			if bar.To <= micros {
				c[i] += float64(bar.Count)
			}
		}
	}
	return c
}

// independent returns for each quantile of d the number of independent samples that would give
// its share as exactly. d has the values of all batches. The number follows from the variance
// of the batches' shares (batch means: Heidelberger and Lewis, Quantile Estimation in
// Dependent Sequences, Operations Research 32, 1984), with Student's t for so few batches.
func (b *batches) independent(d *Distribution, quantiles [len(counts{})]int64) (samples counts) {
	total, all, sum := float64(d.TotalCount()), upTo(d, quantiles), counts{}
	for _, part := range b.of {
		own, n := upTo(part, quantiles), float64(part.TotalCount())
		for i := range own {
			beyond := own[i] - all[i]/total*n
			sum[i] += beyond * beyond
		}
	}
	n := float64(len(b.of))
	t := distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile(0.975) / distuv.UnitNormal.Quantile(0.975)
	for i := range samples {
		samples[i] = all[i] * (total - all[i]) / (sum[i] * n / (n - 1) * t * t)
	}
	return samples
}

// intervals returns the order-statistic 95 % intervals of the quantiles of d, which has the
// values of all batches and at most so many independent samples; nil without any.
func (b *batches) intervals(d *Distribution, most uint64) map[string][2]float64 {
	if len(b.of) < fewestBatches {
		return nil
	}
	var quantiles [len(counts{})]int64
	for i, share := range metrics.QuantileShares {
		quantiles[i] = d.ValueAtQuantile(100 * share)
	}
	ci := make(map[string][2]float64)
	for i, samples := range b.independent(d, quantiles) {
		n := most
		if samples < float64(most) {
			n = uint64(samples)
		}
		rank := func(k uint64) float64 { return float64(d.ValueAtQuantile(100 * float64(k) / float64(n))) }
		if low, high, ok := stats.QuantileRanks(n, metrics.QuantileShares[i], 0.95); ok {
			ci[metrics.QuantileKeys[i]] = [2]float64{rank(low), rank(high)}
		}
	}
	return ci
}
