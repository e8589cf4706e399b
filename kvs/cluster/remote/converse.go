package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"kvlab/kvs/cluster/plan"
)

// run executes a command on the node and returns its answers, the lines that
// begin with "kvlab", by their second word. Other lines are the chatter of a
// login shell's start-up files.
func (r *Runner) run(ctx context.Context, place plan.Place, stdin io.Reader, command ...string) (map[string]string, error) {
	return r.converse(ctx, place, stdin, nil, command...)
}

// converse is run, with more to be read once the command answers "send".
func (r *Runner) converse(ctx context.Context, place plan.Place, stdin, more io.Reader, command ...string) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, remoteTimeout)
	defer cancel()
	ctx, spoken := untilLogin(ctx, r.patience(place))
	defer spoken()
	cmd := r.Way(place.Node).Command(ctx, place.Node, command...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	// An error of a write means that the command has ended, which says more.
	give := func(from io.Reader, last bool) {
		if from != nil {
			_, _ = io.Copy(in, from)
		}
		if last {
			in.Close()
		}
	}
	answer := make(map[string]string)
	stdout := &LineWriter{Take: func(line []byte) error {
		rest, ok := strings.CutPrefix(strings.TrimSpace(string(line)), "kvlab ")
		key, value, _ := strings.Cut(rest, " ")
		if ok {
			spoken()
			answer[key] = value
		}
		if ok && key == "send" {
			go give(more, true)
		}
		return nil
	}}
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = stdout, &stderr
	cmd.WaitDelay = time.Second
	err = cmd.Start()
	if err == nil {
		go give(stdin, more == nil)
		err = errors.Join(cmd.Wait(), stdout.Flush())
	}
	if err != nil {
		return nil, r.failure(ctx, place, err, stderr.String())
	}
	return answer, nil
}

// failure is why a command on the node has failed.
func (r *Runner) failure(ctx context.Context, place plan.Place, err error, stderr string) error {
	said := plan.LastLine(stderr)
	if said != "" {
		said = ": " + said
	}
	switch {
	case errors.Is(context.Cause(ctx), errLogin):
		return fmt.Errorf("cannot be reached: %w within %s%s", errLogin, r.patience(place), said)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("no answer within %s%s", remoteTimeout, said)
	case ctx.Err() != nil:
		return plan.ErrInterrupted
	}
	return r.Way(place.Node).Failure(err, stderr)
}

// patience is how long a place's node may take to its first word.
func (r *Runner) patience(place plan.Place) time.Duration {
	if r.login > 0 {
		return r.login
	}
	return login(place.Way.Kind)
}

// loginTimeout is how long ssh may take to a node's first word. Its own limits end
// with the greeting and the exchange of keys (ConnectTimeout, ssh_config(5));
// after these there may be directories that do not answer, a home on a file server
// that is gone, start-up files that wait.
const loginTimeout = 12 * time.Second

// errLogin is the cause of a context that ends before the first word arrives.
var errLogin = errors.New("the login gets no further")

// untilLogin is a context that ends after limit, unless spoken is called before.
func untilLogin(ctx context.Context, limit time.Duration) (until context.Context, spoken func() bool) {
	until, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(limit, func() { cancel(errLogin) })
	return until, timer.Stop
}
