package driver

import (
	"context"
	"errors"
	"syscall"
	"time"

	"kvlab/kvs/wire"
)

// restartTimeout is how long Restarted waits for a server that is being restarted.
const restartTimeout = 500 * time.Millisecond

// Restarted finds out whether a server was restarted, after a connection to it broke. Only a
// new connection shows it: dial makes one and ends it, and its error is a
// *wire.RestartedError if the server is another instance. Restarted returns that, or nil.
func Restarted(ctx context.Context, dial func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, restartTimeout)
	defer cancel()
	for {
		err := dial(ctx)
		var restarted *wire.RestartedError
		switch {
		case errors.As(err, &restarted):
			return restarted
		case !errors.Is(err, syscall.ECONNREFUSED):
			return nil
		}
		select {
		case <-time.After(restartTimeout / 20):
		case <-ctx.Done():
			return nil
		}
	}
}
