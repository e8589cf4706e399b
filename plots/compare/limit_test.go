package compare

import (
	"math"
	"slices"
	"strings"
	"testing"

	"kvlab/metrics"
	"kvlab/plots/folder"
)

// A limit is kept by a run's own value, or by the end of the interval of 6 trials and more.
func TestAlone(t *testing.T) {
	for _, test := range []struct {
		limit  string
		values []float64 // ops/s, or microseconds
		want   string
	}{
		{"rate=1M", []float64{1e6}, "PASS rate=1M: 1M ops/s"},
		{"rate<1M", []float64{999_999}, "FAIL rate=1M: "},
		{"rate=1M", []float64{1.1e6, 1.2e6, 1.3e6, 1.4e6, 1.5e6}, "UNDECIDED rate=1M: 1.3M ops/s, of 5 trials; 6 have an interval: --trials 6"},
		{"rate=1M", []float64{1e6, 1.2e6, 1.3e6, 1.4e6, 1.5e6, 9e6}, "PASS rate=1M: 1.35M ops/s [1M ops/s, 9M ops/s]"},
		{"rate=1M", []float64{0.9e6, 1.2e6, 1.3e6, 1.4e6, 1.5e6, 9e6}, "UNDECIDED rate=1M: 1.35M ops/s [900k ops/s, 9M ops/s]; more --trials narrow the interval"},
		{"rate=1M", []float64{0.5e6, 0.6e6, 0.7e6, 0.8e6, 0.9e6, 0.99e6}, "FAIL rate=1M: 750k ops/s ["},
		{"rate=1M", []float64{1.2e6, 0}, "UNDECIDED rate=1M: a trial does not say its ops/s"},
		{"p99=5ms", []float64{5000}, "PASS p99=5ms: 5ms"},
		{"p99>5ms", []float64{5000.01}, "FAIL p99=5ms: 5.00001ms"},
		{"p99=5ms", []float64{1000, 2000, 3000, 4000, 4500, 5000}, "PASS p99=5ms: 3.5ms [1ms, 5ms]"},
		{"p99=5ms", []float64{1000, 2000, 3000, 4000, 4500, 5001}, "UNDECIDED p99=5ms: 3.5ms [1ms, 5.001ms]"},
		{"p99=5ms", []float64{5001, 6000, 7000, 8000, 9000, 9001}, "FAIL p99=5ms: "},
		{"p99.9=5ms", []float64{1}, "UNDECIDED p99.9=5ms: a trial does not say its p99.9"},
		{"failed=0%", []float64{1e6}, "PASS failed=0%: 0 %"},
	} {
		l, err := ParseLimit(test.limit)
		if err != nil {
			t.Fatal(err)
		}
		var runs []*folder.Run
		for _, value := range test.values {
			r := &folder.Run{Run: metrics.Run{Total: metrics.Counts{Gets: 1000}, Latency: map[string]metrics.Quantiles{metrics.CallLatency: {P99: &value}}}}
			r.OpsPerS = value
			runs = append(runs, r)
		}
		slices.Reverse(runs)
		if line, kept := l.alone(runs); !strings.HasPrefix(line, test.want) || kept != strings.HasPrefix(test.want, "PASS") {
			t.Errorf("%s of %v: %q, want %q", test.limit, test.values, line, test.want)
		}
	}
}

func TestParseLimit(t *testing.T) {
	if _, most := limits(t, "cpu=100%")[0].bounds(); most != math.Log(2) {
		t.Errorf("cpu=100%% lets the logarithm of the ratio be %g, want that of 2", most)
	}
	for text, want := range map[string]string{
		"slowr=5%":    `the measure "slowr": want one of slower, rate, failed, cpu, p50, p90, p95, p99, p99.9, p99.99; did you mean slower?`,
		"":            `the measure "": want one of slower, rate,`,
		"slower":      "want with --baseline slower=PERCENT, above 0% and below 100%, as in slower=5%",
		"slower=5":    "want with --baseline slower=PERCENT",
		"p99=0%":      "want p99=5ms, which fails above it, or with --baseline p99=PERCENT",
		"p99=-1%":     "want p99=5ms, which fails above it, or with --baseline p99=PERCENT",
		"slower=100%": "want with --baseline slower=PERCENT, above 0% and below 100%, as in slower=5%",
		"cpu=Inf%":    "or with --baseline cpu=PERCENT, above 0%, as in cpu=5%",
		"cpu=NaN%":    "or with --baseline cpu=PERCENT",
		"cpu=5%%":     "or with --baseline cpu=PERCENT",
		"rate>1M":     "want rate=1M, which fails below it",
		"p99<5ms":     "want p99=5ms, which fails above it",
		"rate=5%":     "want rate=1M, which fails below it",
		"failed=0.1":  "want failed=0.1%, which fails above it",
		"SLOWER=5%":   "did you mean slower?",
		"slower =5%":  "did you mean slower?",
	} {
		if l, err := ParseLimit(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v; want %q", text, l, err, want)
		}
	}
}
