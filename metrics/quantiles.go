package metrics

import (
	"fmt"
	"strings"
	"time"
)

// String is for people: "p50 812µs p90 1.23ms p95 1.4ms p99 n/a p99.9 n/a p99.99
// n/a max 2.5ms of 212 calls", each to three significant digits, n/a where there are
// too few calls.
func (q Quantiles) String() string {
	var b strings.Builder
	if q.Refused != "" {
		fmt.Fprintf(&b, "n/a (%s), ", q.Refused)
	} else {
		for i, micros := range q.All() {
			value := "n/a"
			if micros != nil {
				value = durationText(*micros)
			}
			fmt.Fprintf(&b, "%s %s ", QuantileNames[i], value)
		}
	}
	fmt.Fprintf(&b, "max %s of %d calls", durationText(q.Max), q.Count)
	if q.OutOfRange > 0 {
		fmt.Fprintf(&b, " (%d more values out of range)", q.OutOfRange)
	}
	return b.String()
}

// The quantiles, in the order of All: their names, their shares of the samples, and
// their keys in Quantiles.CI95.
var (
	QuantileNames  = [...]string{"p50", "p90", "p95", "p99", "p99.9", "p99.99"}
	QuantileShares = [...]float64{0.5, 0.9, 0.95, 0.99, 0.999, 0.9999}
	QuantileKeys   = [...]string{"p50", "p90", "p95", "p99", "p99_9", "p99_99"}
)

// All returns the quantiles in rising order.
func (q Quantiles) All() [len(QuantileNames)]*float64 {
	return [...]*float64{q.P50, q.P90, q.P95, q.P99, q.P999, q.P9999}
}

// Quantiles are latencies in microseconds read off one histogram. A quantile
// that Count samples cannot support is nil. Samples are calls, for OpLatency
// too: the operations of one call share its fate, and are not independent.
type Quantiles struct {
	Count      uint64   `json:"count"`            // calls
	Values     uint64   `json:"values,omitempty"` // in the histogram: operations for those that have one value an operation
	Mean       float64  `json:"mean_us"`
	P50        *float64 `json:"p50_us"`
	P90        *float64 `json:"p90_us"`
	P95        *float64 `json:"p95_us"`
	P99        *float64 `json:"p99_us"`
	P999       *float64 `json:"p99_9_us"`
	P9999      *float64 `json:"p99_99_us"`
	Max        float64  `json:"max_us"`
	OutOfRange uint64   `json:"out_of_range,omitempty"` // values that are in none of the above
	StdDev     float64  `json:"stddev_us,omitempty"`
	Octaves    []uint64 `json:"octaves,omitempty"` // numbers of values, see Octave; of CallLatency and OpLatency

	// CI95 are the 95 % intervals in microseconds, from and to, of the quantiles of calls and
	// operations for which the window's seconds give one: they do not take calls for
	// independent (batch means). A window of fewer than 5 s has none.
	CI95    map[string][2]float64 `json:"ci95_us,omitempty"`
	Refused string                `json:"refused,omitempty"` // why there is no quantile, whatever Count is
}

// Refuse takes away every quantile of every latency, with the reason; none without one.
func Refuse(latencies map[string]Quantiles, reason string) {
	if reason == "" {
		return
	}
	for name, q := range latencies {
		q.P50, q.P90, q.P95, q.P99, q.P999, q.P9999, q.CI95, q.Refused = nil, nil, nil, nil, nil, nil, nil, reason
		latencies[name] = q
	}
}

// Histogram is one latency distribution, HdrHistogram V2 compressed and in
// base64, of values in microseconds. All of its values are of the one Phase: an
// interval that a phase change cuts in two makes two histograms. So the window's
// distribution is the sum of all histograms whose Phase is Window.
type Histogram struct {
	Name       string  `json:"name"` // one of LatencyNames
	Phase      Phase   `json:"phase"`
	StartS     float64 `json:"start_s"`
	LengthS    float64 `json:"length_s"`
	HDR        string  `json:"hdr"`
	OutOfRange uint64  `json:"out_of_range,omitempty"` // values that HDR cannot hold and lacks
}

// durationText writes microseconds as a duration of three significant digits: "1.23ms".
func durationText(micros float64) string {
	d := time.Duration(micros * float64(time.Microsecond))
	unit := time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit).String()
}
