package metrics

import (
	"reflect"
	"testing"
)

func TestSaturation(t *testing.T) {
	o := Offered{Arrivals: "poisson", OpsPerS: 200, Ops: 10_000}
	for done, want := range map[uint64]string{
		10_050: "", 10_000: "", 9_900: "", 9_899: "saturated: 99.0 % of the offered rate", 9_340: "saturated: 93.4 % of the offered rate", 0: "saturated: 0.0 % of the offered rate",
	} {
		if got := o.Saturated(done); got != want {
			t.Errorf("%d of 10,000: %q, want %q", done, got, want)
		}
	}
	short := Offered{OpsPerS: 2000, Ops: 6000} // a stall of 0.25 s at an end of 3 s
	if a, b := short.Saturated(5500), short.Saturated(5499); a != "" || b == "" {
		t.Errorf("5500 and 5499 of 6000 in 3 s: %q and %q, want the second alone to be saturated", a, b)
	}
	if o.Ahead(10_100) || !o.Ahead(10_101) || (*Offered)(nil).Ahead(1) {
		t.Error("a backlog is more than 1 % of what was due")
	}
	if got := (&Offered{}).Saturated(0); got != "" {
		t.Errorf("nothing offered: %q", got)
	}
}

func TestLoopText(t *testing.T) {
	var all Offered
	all.Add(Offered{Arrivals: "poisson", OpsPerS: 50_000, Ops: 500_000})
	all.Add(Offered{Arrivals: "poisson", OpsPerS: 150_000, Ops: 1_500_000})
	for _, tt := range []struct {
		o    *Offered
		done uint64
		want string
	}{
		{nil, 5, "closed loop"},
		{&all, 2_000_000, "open loop, 200k ops/s offered, Poisson: 100.0 % achieved"},
		{&Offered{Arrivals: "constant", OpsPerS: 700, Ops: 7000, PeakOpsPerS: 1000}, 3500, "open loop, 700 ops/s offered, constant, 70 % of a closed loop's 1k: 50.0 % achieved"},
	} {
		if got := LoopText(tt.o, tt.done); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

// A refused latency keeps what is true of it, and says why it has no quantile.
func TestRefuse(t *testing.T) {
	one := 1.0
	latencies := map[string]Quantiles{OpLatency: {Count: 7, Mean: 2, P50: &one, P9999: &one, Max: 9, OutOfRange: 3, CI95: map[string][2]float64{"p50": {1, 1}}}}
	Refuse(latencies, "saturated: 93.0 % of the offered rate")
	if got, want := latencies[OpLatency], (Quantiles{Count: 7, Mean: 2, Max: 9, OutOfRange: 3, Refused: "saturated: 93.0 % of the offered rate"}); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got, want := latencies[OpLatency].String(), "n/a (saturated: 93.0 % of the offered rate), max 9µs of 7 calls (3 more values out of range)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
