package cli

import "testing"

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]float64{
		"1": 1, "64k": 64e3, "64K": 64e3, "64KB": 64e3, "64kb": 64e3, "10M": 10e6, "10m": 10e6, "1.5GB": 1.5e9, "128B": 128,
		"64KiB": 64 << 10, "1mib": 1 << 20, "2GiB": 2 << 30, ".5k": 500,
		"": 0, "k": 0, "0": 0, "-1": 0, "+1k": 0, "1e3": 1000, "64kBB": 0, "64Ki": 0, "64iB": 0, "64 KB": 0, "1.2.3k": 0, "inf": 0, "NaN": 0, "0x10": 0,
	} {
		if got, ok := ParseBytes(text); ok != (want > 0) || ok && got != want {
			t.Errorf("%q: %g, %t; want %g", text, got, ok, want)
		}
	}
	if _, ok := ParseCount("64KB"); ok {
		t.Error("a count has the unit of bytes")
	}
}

func TestWhole(t *testing.T) {
	for text, want := range map[string]int{"8192": 8192, "8k": 8000, "1.5M": 1.5e6, "0": 0, "-3": -3} {
		n := 0
		if err := Count(&n).Set(text); err != nil || n != want {
			t.Errorf("%q: %d, %v; want %d", text, n, err, want)
		}
	}
	for _, text := range []string{"", "x", "1.5", "0.0001k", "-2k", "99999999999G"} {
		n := uint64(7)
		if err := Count(&n).Set(text); err == nil || n != 7 {
			t.Errorf("%q sets %d", text, n)
		}
	}
	n := uint64(7)
	if err := Count(&n).Set("-3"); err == nil {
		t.Errorf("-3 sets %d", n)
	}
}
