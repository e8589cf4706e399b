package cluster

import (
	"context"
	"testing"
	"time"
)

// A trial that ends before a barrier does not hold the other there, and a trial that
// runs alone never waits.
func TestBarrier(t *testing.T) {
	open := func(c <-chan struct{}) bool {
		select {
		case <-c:
			return false
		default:
			return true
		}
	}
	ends := newBarriers()
	first := ends[0].arrive()
	if !open(first) {
		t.Error("the other has not arrived yet")
	}
	if open(ends[1].arrive()) || open(first) {
		t.Error("both have arrived at the first barrier")
	}
	second := ends[0].arrive()
	ends[1].drop()
	if open(second) {
		t.Error("the other has ended")
	}
	ends[0].drop()
	var alone *barrier
	alone.drop()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := alone.wait(ctx); err != nil {
		t.Error(err)
	}
	if err := newBarriers()[0].wait(ctx); err == nil {
		t.Error("the end of the context is no error")
	}
}

// When one trial of a pair fails, the other goes on at once.
func TestBarrierWithAFailedTrial(t *testing.T) {
	ends := newBarriers()
	done := make(chan error, 1)
	go func() { done <- ends[0].wait(context.Background()) }()
	ends[1].drop()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("waits for a trial that has ended")
	}
}
