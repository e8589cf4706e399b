package kvs_test

import (
	"testing"

	"kvlab/kvs"
	"kvlab/metrics"
)

// Every kind has a row, and the records name the same kinds in the same order.
func TestKinds(t *testing.T) {
	for k := range kvs.Kind(kvs.Kinds) {
		if name := metrics.KindNames[k]; k.String() != name || !k.Reads() && !k.Writes() && k != kvs.Delete {
			t.Errorf("kind %d: %s, in records %s; reads %v, writes %v", k, k, name, k.Reads(), k.Writes())
		}
		if k.Carries() != (k.Writes() || k.Scans()) {
			t.Errorf("%s: carries a value %v, writes %v, scans %v", k, k.Carries(), k.Writes(), k.Scans())
		}
	}
	for k := kvs.Kind(kvs.Kinds); k != 0; k++ {
		if k.Reads() || k.Writes() || k.Carries() || k.String() != "unknown" {
			t.Errorf("kind %d: %s, reads %v, writes %v, carries %v", k, k, k.Reads(), k.Writes(), k.Carries())
		}
	}
	if kvs.Kinds != len(metrics.KindNames) {
		t.Errorf("%d kinds, %d named in records", kvs.Kinds, len(metrics.KindNames))
	}
}
