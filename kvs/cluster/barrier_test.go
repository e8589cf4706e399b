package cluster

import (
	"context"
	"testing"
	"time"

	"kvlab/kvs/cluster/trial"
)

// When one trial of a pair fails, the other goes on at once.
func TestBarrierWithAFailedTrial(t *testing.T) {
	ends := trial.NewBarriers()
	done := make(chan error, 1)
	go func() { done <- ends[0].Wait(context.Background()) }()
	ends[1].Drop()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("waits for a trial that has ended")
	}
}
