package history

import (
	"strings"
	"testing"

	"kvlab/metrics"
)

// What a batch of worker 1 of client 0 may see of a key, and what not.
func TestBatchOrder(t *testing.T) {
	type step struct {
		wrote bool
		value metrics.WriteID
	}
	mine := func(version uint32) metrics.WriteID { return metrics.MakeWriteID(0, 1, version) }
	other := func(version uint32) metrics.WriteID { return metrics.MakeWriteID(0, 2, version) }
	tests := []struct {
		name  string
		steps []step
		want  string // the first fault
	}{
		{"put and get", []step{{true, mine(5)}, {false, mine(5)}, {false, mine(5)}}, ""},
		{"others in between", []step{{true, mine(5)}, {false, other(1)}, {false, other(9)}, {false, other(2)}}, ""},
		{"an earlier batch's", []step{{false, mine(3)}, {true, mine(5)}, {false, mine(5)}}, ""},
		{"put, and back to an earlier batch's", []step{{true, mine(5)}, {false, mine(3)}}, "0.1#3 was read after 0.1#5 was put"},
		{"put twice, and back", []step{{true, mine(5)}, {true, mine(6)}, {false, mine(5)}}, "0.1#5 is back after 0.1#6"},
		{"another's is back", []step{{false, other(1)}, {true, mine(5)}, {false, other(1)}}, "0.2#1 is back after 0.1#5"},
		{"mine is back", []step{{true, mine(5)}, {false, other(1)}, {false, mine(5)}}, "0.1#5 is back after 0.2#1"},
		{"lost", []step{{true, mine(5)}, {false, metrics.NoWrite}}, "nothing is there after 0.1#5 was put"},
		{"missing, then there", []step{{false, metrics.NoWrite}, {true, mine(5)}, {false, mine(5)}}, ""},
		{"read too early", []step{{false, mine(5)}, {true, mine(5)}}, "0.1#5 was read before it was put"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var o batchOrder
			o.begin()
			got := ""
			for _, s := range test.steps {
				fault := ""
				if s.wrote {
					fault = o.wrote(s.value)
				} else {
					_, fault = o.read(mine(0), s.value)
				}
				if got == "" {
					got = fault
				}
			}
			if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("fault %q, want %q", got, test.want)
			}
		})
	}
}
