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

// Reports show the kinds that there are, and without inserts, deletes and scans all others.
func TestKindsShown(t *testing.T) {
	for want, counts := range map[string]Counts{
		"0 get, 0 put, 0 read-modify-write":    {},
		"7 get, 0 put, 0 read-modify-write":    {Gets: 7},
		"3 put, 2 insert":                      {Puts: 3, Inserts: 2},
		"1 insert, 9 scan, 27 scan-part":       {Inserts: 1, Scans: 9, ScanParts: 27},
		"1 get, 1 read-modify-write, 1 delete": {Gets: 1, ReadModifyWrites: 1, Deletes: 1},
	} {
		if got := counts.KindText(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if n := (Counts{Gets: 1, Puts: 2, ReadModifyWrites: 3, Inserts: 4, Deletes: 5, Scans: 6, ScanParts: 70}).Ops(); n != 21 {
		t.Errorf("%d operations, want 21: a scan counts once", n)
	}
}
