package cluster

import (
	"context"
	"testing"
	"time"
)

// A trial that ends before a point of the meeting is waited for no longer, and one that
// is made alone waits for nobody.
func TestMeeting(t *testing.T) {
	open := func(c <-chan struct{}) bool {
		select {
		case <-c:
			return false
		default:
			return true
		}
	}
	both := newMeetings()
	there := both[0].come()
	if !open(there) {
		t.Error("the other has not come yet")
	}
	if open(both[1].come()) || open(there) {
		t.Error("both have come to the first point")
	}
	there = both[0].come()
	both[1].leave()
	if open(there) {
		t.Error("the other has ended")
	}
	both[0].leave()
	var alone *meeting
	alone.leave()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := alone.prepared(ctx); err != nil {
		t.Error(err)
	}
	if err := newMeetings()[0].prepared(ctx); err == nil {
		t.Error("waited for nobody, and the end of the context was no error")
	}
}

// Two trials of which one fails both end, and soon.
func TestMeetingWithAFailedTrial(t *testing.T) {
	both := newMeetings()
	done := make(chan error, 1)
	go func() { done <- both[0].prepared(context.Background()) }()
	both[1].leave()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("waits for a trial that has ended")
	}
}
