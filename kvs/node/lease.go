package node

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Lease is how long a node may live without its launcher. The closing of the
// pipe is the first sign that a launcher is gone; the lease is for when that
// sign does not come: a cut network leaves an sshd, and so the node's standard
// input, as they are for a quarter of an hour and longer (TCP gives up after
// tcp_retries2, tcp(7)).
type Lease struct {
	LifetimeS float64 `json:"lifetime_s,omitempty"` // seconds from now; 0: without an end
	SilenceS  float64 `json:"silence_s,omitempty"`  // seconds that may pass between two commands; 0: any time
}

// The causes of the end of a node's context, when its lease has run out.
var (
	ErrSilence  = errors.New("no word from the controller")
	ErrLifetime = errors.New("the controller's lease has run out")
)

// leaveWithin is how long a program may take to stop after its context has
// ended, before its process ends without it.
const leaveWithin = 3 * time.Second

// tenancy watches the lease of one node. Safe for concurrent use.
type tenancy struct {
	end context.CancelCauseFunc

	mu       sync.Mutex
	lease    Lease       // guarded by mu, as all below
	lifetime *time.Timer // nil without an end
	silence  *time.Timer // nil when silence is no sign
}

// heard takes note of a command, which may bring another lease.
func (t *tenancy) heard(lease *Lease) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if lease != nil {
		t.lease = *lease
		t.lifetime = t.reset(t.lifetime, lease.LifetimeS, ErrLifetime)
	}
	t.silence = t.reset(t.silence, t.lease.SilenceS, ErrSilence)
}

// reset makes timer, which may be nil, end the node after so many seconds.
func (t *tenancy) reset(timer *time.Timer, seconds float64, cause error) *time.Timer {
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
