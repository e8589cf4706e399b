package trial

import (
	"context"
	"testing"
)

// A trial that ends before a barrier does not hold the other there, and a trial that
// runs alone never waits.
func TestBarrier(t *testing.T) {
	open := func(c <-chan opening) bool {
		select {
		case <-c:
			return false
		default:
			return true
		}
	}
	ends := NewBarriers()
	first := ends[0].arrive(opening{})
	if !open(first) {
		t.Error("the other has not arrived yet")
	}
	if open(ends[1].arrive(opening{})) || open(first) {
		t.Error("both have arrived at the first barrier")
	}
	second := ends[0].arrive(opening{})
	ends[1].Drop()
	if open(second) {
		t.Error("the other has ended")
	}
	ends[0].Drop()
	var alone *Barrier
	alone.Drop()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := alone.Wait(ctx); err != nil {
		t.Error(err)
	}
	if err := NewBarriers()[0].Wait(ctx); err == nil {
		t.Error("the end of the context is no error")
	}
}
