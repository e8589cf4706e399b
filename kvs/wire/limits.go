package wire

import (
	"errors"
	"fmt"
	"time"
)

// Limits bound what one connection may ask of a server. A field that is zero
// sets none beyond MaxBody. The comments name the flags.
type Limits struct {
	Frame   int           // -max-frame: bytes of a request
	Batch   int           // -max-batch: operations of a request
	Request time.Duration // -request-timeout: from a request's first byte to its reply's last, at most twice that
	Idle    time.Duration // -idle-timeout: between two requests, at most that and Request more
}

// DefaultLimits leave room for every run that kvlab's own client can be asked to
// make: the labs' batches of 258,944 operations, and a client that waits for the
// others to load.
func DefaultLimits() Limits {
	return Limits{Frame: MaxBody, Batch: 1 << 20, Request: time.Minute, Idle: time.Hour}
}

// Validate returns an error that names the first wrong flag and its right form.
func (l Limits) Validate() error {
	switch {
	case l.Frame < 1 || l.Frame > MaxBody:
		return fmt.Errorf("-max-frame %d: want 1 to %d bytes", l.Frame, MaxBody)
	case l.Batch < 1:
		return fmt.Errorf("-max-batch %d: want at least 1 operation", l.Batch)
	case l.Request < time.Second:
		return fmt.Errorf("-request-timeout %v: want at least 1s", l.Request)
	case l.Idle < time.Second:
		return fmt.Errorf("-idle-timeout %v: want at least 1s", l.Idle)
	}
	return nil
}

// ErrLimit is wrapped by the errors that a server's Limits cause. The client
// gets them as the call's error.
var ErrLimit = errors.New("over a limit of the server")

// check refuses a request by its size and its number of operations.
func (l Limits) check(size, ops int) error {
	switch {
	case l.Frame > 0 && size > l.Frame:
		return fmt.Errorf("%w: a request of %d bytes; at most %d (-max-frame)", ErrLimit, size, l.Frame)
	case l.Batch > 0 && ops > l.Batch:
		return fmt.Errorf("%w: a batch of %d operations; at most %d (-max-batch)", ErrLimit, ops, l.Batch)
	}
	return nil
}
