package stats

import (
	"math"
	"testing"
)

// The limits that were worked out by hand for 10 Gb/s Ethernet, 95 % reads that
// all hit, keys of 10 bytes, one byte of framing with each key and value, and
// nothing for a Put's answer. delta is the share of a reply's values that
// coalescing leaves.
func TestWireLimit(t *testing.T) {
	const reads, key = 0.95, 10
	tests := []struct {
		value, delta                     float64
		toClient, perServer, fourAndFour float64 // bytes; millions of operations per second
	}{
		{100, 1, 96.0, 12.27, 49.1},
		{100, 0.566, 54.3, 21.7, 86.7},
		{100, 0.469, 45.0, 26.2, 105},
		{100, 0.322, 30.9, 38.1, 152},
		{100, 0.223, 21.4, 55.0, 220},
		{128, 1, 122.6, 9.60, 38.4},
		{128, 0.566, 69.4, 17.0, 67.9},
		{128, 0.469, 57.5, 20.5, 81.9},
		{128, 0.322, 39.5, 29.8, 119},
		{128, 0.223, 27.3, 43.1, 172},
	}
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got/want-1) > 0.005 {
			t.Errorf("%s: %.4g, want %.4g", what, got, want)
		}
	}
	near("goodput", Goodput(10e9, false), 1.1769e9)
	near("goodput of a shaped link", Goodput(10e9, true), 1.1956e9)
	shared := Wire{Goodput: Goodput(10e9, false), Servers: 8, Shared: true, ToServer: reads*(key+1) + (1-reads)*(key+1+100+1), ToClient: reads * (100 + 1), Balance: 1}
	near("8 machines that both serve and load", shared.Limit()/1e6, 96.1)
	shared.Servers = 1
	if got := shared.Limit(); !math.IsInf(got, 1) {
		t.Errorf("one machine's wire limits it to %v", got)
	}
	for _, test := range tests {
		w := Wire{
			Goodput: Goodput(10e9, false), Servers: 1, Clients: 1, Balance: 1,
			ToServer: reads*test.delta*(key+1) + (1-reads)*(key+1+test.value+1),
			ToClient: reads * test.delta * (test.value + 1),
		}
		near("bytes to the client", w.ToClient, test.toClient)
		near("one server", w.Limit()/1e6, test.perServer)
		w.Servers, w.Clients = 4, 4
		near("4 + 4", w.Limit()/1e6, test.fourAndFour)
		w.Clients, w.Balance = 8, 0.9
		near("more clients, uneven servers", w.Limit()/1e6, 0.9*test.fourAndFour)
	}
	// Writes go the other way.
	writes := Wire{Goodput: 1000, Servers: 3, Clients: 2, ToServer: 100, ToClient: 1, Balance: 1}
	near("writes only", writes.Limit(), 20)
}

func TestBalance(t *testing.T) {
	for _, test := range []struct {
		ops  []uint64
		want float64
	}{
		{nil, 1},
		{[]uint64{0, 0}, 1},
		{[]uint64{7}, 1},
		{[]uint64{5, 5, 5}, 1},
		{[]uint64{30, 25, 25, 20}, 25.0 / 30},
		{[]uint64{10, 0}, 0.5},
	} {
		if got := Balance(test.ops); math.Abs(got-test.want) > 1e-12 {
			t.Errorf("Balance(%v) = %v, want %v", test.ops, got, test.want)
		}
	}
}
