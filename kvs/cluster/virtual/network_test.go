package virtual

import (
	"strings"
	"testing"
)

func TestParseRate(t *testing.T) {
	for text, want := range map[string]uint64{
		"1mbit": 1_000_000, "1000kbit": 1_000_000, "1gbit": 1_000_000_000,
		"2.5gbit": 2_500_000_000, "0.25gbit": 250_000_000, "100gbit": 100_000_000_000,
	} {
		if got, err := ParseRate(text); err != nil || got != want {
			t.Errorf("ParseRate(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"": "needs a number", "1": "needs a number", "gbit": "needs a number", "1Gbit": "needs a number", "1 gbit": "needs a number",
		"-1gbit": "needs a number", "1gb": "needs a number", "1e3mbit": "needs a number", "1gbit;": "needs a number",
		"0gbit": "must be from 1mbit", "999kbit": "must be from 1mbit", "101gbit": "must be from 1mbit", strings.Repeat("9", 400) + "gbit": "must be from 1mbit",
	} {
		if got, err := ParseRate(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseRate(%q) = %d, %v; want an error with %q", text, got, err, want)
		}
	}
}

func TestBurst(t *testing.T) {
	for rate, want := range map[uint64]uint64{minRate: 256 << 10, 1_000_000_000: 256 << 10, 10_000_000_000: 2_500_000} {
		if got := burst(rate); got != want {
			t.Errorf("burst(%d) = %d, want %d", rate, got, want)
		}
	}
}
