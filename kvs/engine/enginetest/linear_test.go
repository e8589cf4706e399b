package enginetest

import (
	"testing"

	"github.com/anishathalye/porcupine"
)

// The oracle itself: it accepts what a register may do, and nothing else.
func TestCheckHistory(t *testing.T) {
	at := func(o op, out outcome, call, back int64) porcupine.Operation {
		return porcupine.Operation{Input: o, Output: out, Call: call, Return: back}
	}
	tests := []struct {
		name    string
		history []porcupine.Operation
		ok      bool
	}{
		{"in order", []porcupine.Operation{at(put("k", "1"), stored, 0, 1), at(get("k"), found("1"), 2, 3)}, true},
		{"beside each other", []porcupine.Operation{at(put("k", "1"), stored, 0, 9), at(get("k"), missing, 1, 2), at(get("k"), found("1"), 3, 4)}, true},
		{"other keys", []porcupine.Operation{at(put("k", "1"), stored, 0, 1), at(get("l"), missing, 2, 3)}, true},
		{"stale", []porcupine.Operation{at(put("k", "1"), stored, 0, 1), at(put("k", "2"), stored, 2, 3), at(get("k"), found("1"), 4, 5)}, false},
		{"lost", []porcupine.Operation{at(put("k", "1"), stored, 0, 1), at(get("k"), missing, 2, 3)}, false},
		{"back and forth", []porcupine.Operation{
			at(put("k", "1"), stored, 0, 9), at(get("k"), found("1"), 1, 2), at(get("k"), missing, 3, 4),
		}, false},
		{"two exchanges read the same", []porcupine.Operation{
			at(put("k", "1"), stored, 0, 1), at(modify("k", "2"), found("1"), 2, 9), at(modify("k", "3"), found("1"), 2, 9),
		}, false},
		{"out of nowhere", []porcupine.Operation{at(get("k"), found("1"), 0, 1)}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if err := checkHistory(register, test.history); (err == nil) != test.ok {
				t.Errorf("error %v, want linearizable %v", err, test.ok)
			}
		})
	}
}
