package node

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Lease is how long a node may live without its launcher. A node normally ends when
// its standard input closes. Behind a cut network sshd keeps that open for a quarter
// of an hour or longer (tcp_retries2, tcp(7)); then the lease ends the node.
type Lease struct {
	LifetimeS float64 `json:"lifetime_s,omitempty"` // seconds from now; 0: unlimited
	SilenceS  float64 `json:"silence_s,omitempty"`  // maximum seconds between two commands; 0: unlimited
}

// The causes with which an expired lease cancels a node's context.
var (
	errSilence  = errors.New("no word from the controller")
	errLifetime = errors.New("the controller's lease has expired")
)

// leaveWithin is how long a program may take to stop after its context ends; then
// its process exits.
const leaveWithin = 3 * time.Second

// leaseTimer ends a node when its lease expires. It is safe for concurrent use.
type leaseTimer struct {
	end context.CancelCauseFunc

	mu       sync.Mutex
	lease    Lease       // guarded by mu, as all below
	lifetime *time.Timer // nil: unlimited
	silence  *time.Timer // nil: unlimited
}

// renew restarts the timers after a command, which may carry a new lease.
func (t *leaseTimer) renew(lease *Lease) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if lease != nil {
		t.lease = *lease
		t.lifetime = t.reset(t.lifetime, lease.LifetimeS, errLifetime)
	}
	t.silence = t.reset(t.silence, t.lease.SilenceS, errSilence)
}

// reset replaces timer, which may be nil, by one that ends the node after seconds.
func (t *leaseTimer) reset(timer *time.Timer, seconds float64, cause error) *time.Timer {
	if timer != nil {
		timer.Stop()
	}
	if seconds <= 0 {
		return nil
	}
	return time.AfterFunc(time.Duration(seconds*float64(time.Second)), func() {
		t.end(fmt.Errorf("%w: %g s", cause, seconds))
	})
}
