package cluster

import (
	"context"
	"errors"
	"time"
)

// loginTimeout is how long ssh may take to a node's first word. Its own limits end
// with the greeting and the exchange of keys (ConnectTimeout, ssh_config(5));
// after these there may be directories that do not answer, a home on a file server
// that is gone, start-up files that wait.
const loginTimeout = 12 * time.Second

// errLogin is the cause of a context that ends for want of the first word.
var errLogin = errors.New("the login gets no further")

// untilLogin is a context that ends after limit, unless spoken is called before.
func untilLogin(ctx context.Context, limit time.Duration) (until context.Context, spoken func() bool) {
	until, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(limit, func() { cancel(errLogin) })
	return until, timer.Stop
}
