package transact

import (
	"reflect"
	"slices"
	"testing"
)

// The last write of a key is that of the greatest order; without an order that of any attempt.
func TestLast(t *testing.T) {
	tests := map[string]struct {
		writes []Write
		want   map[uint32][]uint32 // the versions, by key
	}{
		"none":                   {nil, map[uint32][]uint32{}},
		"by the store's order":   {[]Write{{1, 5, 9, 0}, {2, 6, 3, 0}, {1, 7, 8, 1}, {1, 8, 7, 2}}, map[uint32][]uint32{1: {5}, 2: {6}}},
		"twice in an attempt":    {[]Write{{1, 5, 9, 0}, {1, 6, 9, 0}}, map[uint32][]uint32{1: {6}}},
		"without an order":       {[]Write{{1, 7, 0, 0}, {1, 8, 0, 0}, {1, 3, 0, 1}}, map[uint32][]uint32{1: {3, 8}}},
		"a delete, and no order": {[]Write{{4, 7, 0, 0}, {4, 0, 0, 3}}, map[uint32][]uint32{4: {0, 7}}},
	}
	for name, test := range tests {
		got := map[uint32][]uint32{}
		for key, all := range Last(slices.Clone(test.writes)) {
			for _, w := range all {
				got[key] = append(got[key], w.Version)
			}
		}
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
