package kvs_test

import (
	"testing"

	"kvlab/kvs"
	"kvlab/metrics"
)

// Every kind has a row, and the records name the same kinds in the same order.
func TestKinds(t *testing.T) {
	for k := range kvs.Kind(kvs.Kinds) {
		if name := metrics.KindNames[k]; k.String() != name || !k.Reads() && !k.Writes() {
			t.Errorf("kind %d: %s, in records %s; reads %v, writes %v", k, k, name, k.Reads(), k.Writes())
		}
	}
	for k := kvs.Kind(kvs.Kinds); k != 0; k++ {
		if k.Reads() || k.Writes() || k.String() != "unknown" {
			t.Errorf("kind %d: %s, reads %v, writes %v", k, k, k.Reads(), k.Writes())
		}
	}
}
