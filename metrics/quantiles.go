package metrics

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Samples returns the number of independent samples that the quantile q, 0 < q
// < 1, needs: the smallest n for which 1 - q^n >= 0.95, that is the chance that
// the highest of n samples lies above the quantile, so that the sample gives an
// upper 95 % confidence bound for it at all (distribution-free, one-sided; David
// and Nagaraja, Order Statistics, 3rd ed. 2003, section 7.1). p50 needs 5, p90
// 29, p99 299, p99.9 2,995, p99.99 29,956.
func Samples(q float64) uint64 {
	return uint64(math.Ceil(math.Log(0.05) / math.Log(q)))
}

// QuantilesOf reads the usual quantiles off d. samples is how many independent
// samples stand behind it, the number of calls; a quantile that needs more is
// nil.
func QuantilesOf(d *Distribution, samples uint64) Quantiles {
	at := func(q float64) *float64 {
		if samples < Samples(q) {
			return nil
		}
		micros := float64(d.ValueAtQuantile(100 * q))
		return &micros
	}
	return Quantiles{
		Count:      samples,
		Mean:       d.Mean(),
		P50:        at(0.5),
		P90:        at(0.9),
		P99:        at(0.99),
		P999:       at(0.999),
		P9999:      at(0.9999),
		Max:        float64(d.Max()),
		OutOfRange: d.OutOfRange,
	}
}

// String is for people: "p50 812µs p90 1.23ms p99 n/a p99.9 n/a p99.99 n/a max
// 2.5ms of 212 calls", each to three significant digits, n/a where there are
// too few calls.
func (q Quantiles) String() string {
	var b strings.Builder
	for _, p := range []struct {
		name   string
		micros *float64
	}{{"p50", q.P50}, {"p90", q.P90}, {"p99", q.P99}, {"p99.9", q.P999}, {"p99.99", q.P9999}} {
		value := "n/a"
		if p.micros != nil {
			value = latencyText(*p.micros)
		}
		fmt.Fprintf(&b, "%s %s ", p.name, value)
	}
	fmt.Fprintf(&b, "max %s of %d calls", latencyText(q.Max), q.Count)
	if q.OutOfRange > 0 {
		fmt.Fprintf(&b, " (%d more values out of range)", q.OutOfRange)
	}
	return b.String()
}

// latencyText writes microseconds as a duration of three significant digits.
func latencyText(micros float64) string {
	d := time.Duration(micros * float64(time.Microsecond))
	unit := time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit).String()
}
