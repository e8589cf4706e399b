package metrics

import "testing"

func TestQuantilesString(t *testing.T) {
	p := func(micros float64) *float64 { return &micros }
	for _, tt := range []struct {
		q    Quantiles
		want string
	}{
		{Quantiles{}, "p50 n/a p90 n/a p95 n/a p99 n/a p99.9 n/a p99.99 n/a max 0s of 0 calls"},
		{Quantiles{Count: 300, P50: p(812), P90: p(1234), P99: p(99960), Max: 2_549_759},
			"p50 812µs p90 1.23ms p95 n/a p99 100ms p99.9 n/a p99.99 n/a max 2.55s of 300 calls"},
		{Quantiles{Count: 5, P50: p(1), P90: p(2), P95: p(3), P99: p(4), P999: p(5), P9999: p(6), Max: 3_601_000_000, OutOfRange: 2},
			"p50 1µs p90 2µs p95 3µs p99 4µs p99.9 5µs p99.99 6µs max 1h0m0s of 5 calls (2 more values out of range)"},
	} {
		if got := tt.q.String(); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}
