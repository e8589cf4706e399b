package format

import (
	"math"
	"testing"
)

func TestCount(t *testing.T) {
	for _, tt := range []struct {
		n    float64
		want string
	}{
		{0, "0"}, {1, "1"}, {7.5, "7.5"}, {0.25, "0.25"}, {0.0012345, "0.00123"}, {99.96, "100"}, {258, "258"}, {999.4, "999"},
		{999.5, "1k"}, {1000, "1k"}, {1234, "1.23k"}, {258944, "259k"}, {999_499, "999k"}, {999_500, "1M"},
		{12.4e6, "12.4M"}, {25_948_794, "25.9M"}, {1e7, "10M"}, {31.3e9, "31.3G"}, {2e12, "2T"}, {1.5e15, "1.5P"}, {1.5e18, "1.5E"},
		{-12.4e6, "-12.4M"}, {math.Inf(1), "+Inf"}, {math.NaN(), "NaN"},
	} {
		if got := Count(tt.n); got != tt.want {
			t.Errorf("Count(%v) = %q, want %q", tt.n, got, tt.want)
		}
	}
}
