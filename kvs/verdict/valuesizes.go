package verdict

import (
	"math"
	"slices"

	"kvlab/metrics"
	"kvlab/workload/size"
)

// valueSizes are what bounds the bytes of many values: the least size of one, and the mean
// of their sizes and of the sizes' squares.
type valueSizes struct {
	least        uint64
	mean, square float64
}

// sizesOf are those of the records' values, each of which counts once.
func sizesOf(sizes *size.Sizes) valueSizes {
	mean, square := sizes.Moments()
	return valueSizes{uint64(sizes.Least), mean, square}
}

// drawnSizes are those of the values of operations, by their records' popularity. Only the
// least size is known where operations are not drawn independently, move to other records
// as these are inserted and deleted, or read a server without a store.
func drawnSizes(run *judged, sizes *size.Sizes) valueSizes {
	v := valueSizes{least: uint64(sizes.Least)}
	if run.expected == nil || run.expected.cells == nil || run.Total.Inserts+run.Total.Deletes > 0 || slices.ContainsFunc(run.Nodes, withoutStore) {
		return v
	}
	h := run.expected.hot
	for _, r := range h.records {
		bytes, share := float64(sizes.At(r.hash)), fraction(r.share)
		v.mean, v.square = v.mean+share*bytes, v.square+share*bytes*bytes
	}
	if h.all {
		return v
	}
	mean, square := sizes.Moments()
	v.mean += h.rest*mean - deviation(h.rest*fraction(h.records[len(h.records)-1].share)*square)
	v.square += h.rest * square
	return v
}

// bytes is what n values have at least.
func (v valueSizes) bytes(n uint64) uint64 {
	return max(n*v.least, uint64(max(0, float64(n)*v.mean-deviation(float64(n)*v.square))))
}

// deviation is how far a sum of independent numbers, none below 0, falls below its mean at
// most, given the sum of the means of their squares (A. Maurer, "A bound on the deviation
// probability for sums of non-negative random variables", Journal of Inequalities in Pure
// and Applied Mathematics 4(1), 2003). One of 10^12 sums exceeds it with probability 1e-9.
func deviation(squares float64) float64 { return math.Sqrt(2 * math.Log(1e21) * squares) }

// reads is the number of values that gets and read-modify-writes read at least. A delete's
// hit has no value, and that of a scan any number.
func reads(c metrics.Counts) uint64 {
	return c.Hits - min(c.Hits, c.Deletes+c.Scans+c.ScanParts)
}
