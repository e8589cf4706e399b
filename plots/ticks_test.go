package plots

import (
	"math"
	"strings"
	"testing"

	"gonum.org/v1/plot"

	"kvlab/metrics/format"
)

// labels joins the labels of ticks that have one.
func labels(t plot.Ticker, low, high float64) string {
	var all []string
	for _, tick := range t.Ticks(low, high) {
		if tick.Label != "" {
			all = append(all, tick.Label)
		}
	}
	return strings.Join(all, " ")
}

func TestTicks(t *testing.T) {
	for _, test := range []struct {
		name      string
		ticker    plot.Ticker
		low, high float64
		want      string
	}{
		{"seconds", ticks{14, shortest}, -8.7, 30.4, "-5 0 5 10 15 20 25 30"},
		{"a short run", ticks{14, shortest}, -0.3, 0.3, "-0.3 -0.25 -0.2 -0.15 -0.1 -0.05 0 0.05 0.1 0.15 0.2 0.25 0.3"},
		{"ops/s", ticks{5, format.Count}, 0, 12.5e6, "0 2.5M 5M 7.5M 10M 12.5M"},
		{"no range", ticks{5, shortest}, 3, 3, "3"},
		{"two decades", logTicks{shortest}, 0.5, 20, "0.5 1 2 5 10 20"},
		{"six decades", logTicks{shortest}, 0.001, 1000, "0.001 0.01 0.1 1 10 100 1000"},
		{"percentiles", percentileTicks{}, 0, 5, "0 % 50 % 90 % 99 % 99.9 % 99.99 % 99.999 %"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := labels(test.ticker, test.low, test.high); got != test.want {
				t.Errorf("ticks of [%g, %g] are %q, want %q", test.low, test.high, got, test.want)
			}
		})
	}
}

func TestRoundTopLeavesRoom(t *testing.T) {
	for high := 1e-6; high < 1e12; high *= 1.7 {
		top := roundTop(high, 5)
		if n := len(ticks{5, shortest}.Ticks(0, top)); top < high || top > 1.6*high || n < 3 || n > 8 {
			t.Errorf("roundTop(%g) = %g with %d ticks, want a little more and 3 to 8", high, top, n)
		}
	}
	for _, high := range []float64{0, -1, math.NaN()} {
		if top := roundTop(high, 5); top != 1 {
			t.Errorf("roundTop(%g) = %g, want 1", high, top)
		}
	}
}

func TestMilliseconds(t *testing.T) {
	for _, test := range []struct {
		micros float64
		want   string
	}{{0, "0"}, {1, "0.001"}, {1234, "1.23"}, {25600, "25.6"}, {999400, "999"}, {1234567, "1235"}, {3.6e9, "3600000"}} {
		if got := milliseconds(test.micros); got != test.want {
			t.Errorf("milliseconds(%g) = %q, want %q", test.micros, got, test.want)
		}
	}
}

func TestWrapCutsVisibly(t *testing.T) {
	style := bold(13.5, alarm)
	words := "INVALID: " + strings.Repeat("word ", 200) + strings.Repeat("x", 400)
	lines := wrap(words, style, 600, 2)
	if len(lines) != 2 || !strings.HasSuffix(lines[1], "…") {
		t.Fatalf("wrap gives %q, want two lines, the last cut", lines)
	}
	for _, line := range lines {
		if style.Width(line) > 600 {
			t.Errorf("%q is wider than 600 points", line)
		}
	}
	if lines := wrap("", style, 600, 2); lines != nil {
		t.Errorf("wrap of nothing gives %q, want nothing", lines)
	}
}

func TestLabel(t *testing.T) {
	for _, test := range []struct{ name, want string }{
		{"node0", "node0"}, {"a\nb\x00c\xff", "a?b?c?"}, {"a-very-long-node-name", "a-very-lo…"}, {"ünïcödé-ab", "ünïcödé-ab"},
	} {
		if got := label(test.name, 10); got != test.want {
			t.Errorf("label(%q) = %q, want %q", test.name, got, test.want)
		}
	}
}
