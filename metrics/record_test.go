package metrics

import (
	"reflect"
	"testing"
)

// TestCountsAddAndSubEveryField fills each field with a different number, so
// that a forgotten field or two confused ones show.
func TestCountsAddAndSubEveryField(t *testing.T) {
	var a, b, sum Counts
	for i := range reflect.TypeFor[Counts]().NumField() {
		set := func(c *Counts, n uint64) { reflect.ValueOf(c).Elem().Field(i).SetUint(n) }
		x, y := uint64(1)<<i, uint64(1000)<<i
		set(&a, x)
		set(&b, y)
		set(&sum, x+y)
	}
	if got := a.Add(b); got != sum {
		t.Errorf("%+v + %+v = %+v, want %+v", a, b, got, sum)
	}
	if got := sum.Sub(a); got != b {
		t.Errorf("%+v - %+v = %+v, want %+v", sum, a, got, b)
	}
	if got := (Counts{Gets: 1, Puts: 2, ReadModifyWrites: 4, Hits: 8, Misses: 16, Calls: 32}).Ops(); got != 7 {
		t.Errorf("Ops() = %d, want 7", got)
	}
}

func TestRates(t *testing.T) {
	if got := (Summary{WindowLengthS: 4, InWindow: Counts{Gets: 10}}).OpsPerS(); got != 2.5 {
		t.Errorf("summary's rate = %v, want 2.5", got)
	}
	if got := (Summary{InWindow: Counts{Gets: 10}}).OpsPerS(); got != 0 {
		t.Errorf("rate without a window = %v, want 0", got)
	}
}

func TestUsageData(t *testing.T) {
	u := Usage{Interfaces: []InterfaceUsage{{Name: "lo"}, {Name: "eth1", RxBytesPerS: 7}}, DataInterface: "eth1"}
	if i, ok := u.Data(); !ok || i.RxBytesPerS != 7 {
		t.Errorf("Data() = %+v, %v, want eth1", i, ok)
	}
	u.DataInterface = "eth2"
	if i, ok := u.Data(); ok {
		t.Errorf("Data() = %+v of an interface that was not sampled", i)
	}
}
