package metrics

import (
	"reflect"
	"testing"
)

// The slots of Retries follow each other, and each begins where the one before ends.
func TestAttemptsSlots(t *testing.T) {
	first := []int{1, 2, 3, 4, 5, 9, 17, 33, 65}
	slot := -1
	for attempts := 1; attempts < 100; attempts++ {
		if slot+1 < len(first) && attempts == first[slot+1] {
			slot++
		}
		if first := FirstAttempts(slot); first > uint64(attempts) || FirstAttempts(slot+1) <= uint64(attempts) {
			t.Errorf("slot %d begins at %d attempts, want %d to be in it", slot, first, attempts)
		}
		if got := AttemptsSlot(attempts); got != slot {
			t.Errorf("%d attempts are in slot %d, want %d", attempts, got, slot)
		}
	}
}

// A sum of counts leaves its terms as they were.
func TestTransactionCountsAdd(t *testing.T) {
	a := TransactionCounts{Attempts: 5, Commits: 3, Aborts: map[string]uint64{"conflict": 1}, Unknown: 1, Single: 2, Cross: 1, Parts: 2, Ops: 9, Retries: []uint64{2, 1}}
	b := TransactionCounts{Attempts: 4, Commits: 1, Aborts: map[string]uint64{"conflict": 2, "late": 1}, Cross: 1, Parts: 3, Ops: 3, Retries: []uint64{0, 0, 0, 1}}
	before := a.Add(TransactionCounts{})
	want := TransactionCounts{Attempts: 9, Commits: 4, Aborts: map[string]uint64{"conflict": 3, "late": 1}, Unknown: 1, Single: 2, Cross: 2, Parts: 5, Ops: 12, Retries: []uint64{2, 1, 0, 1}}
	if got := a.Add(b); !reflect.DeepEqual(got, want) || !reflect.DeepEqual(a, before) {
		t.Errorf("the sum is %+v, want %+v; a term is now %+v", got, want, a)
	}
	if n := want.Aborted(); n+want.Commits+want.Unknown != want.Attempts {
		t.Errorf("%d attempts were aborted of %+v", n, want)
	}
}
