package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"time"

	"kvlab/kvs/cluster/nodes"
	"kvlab/kvs/cluster/plan"
	"kvlab/metrics/format"
)

// An sshd with many unfinished logins refuses further ones before it says who it is
// (MaxStartups in sshd_config(5)). Such a connection has done nothing, and is tried again.
const (
	refusedTries = 6
	refusedPause = 300 * time.Millisecond // after the first; it doubles
)

// refusedLogin matches ssh's message about a connection that sshd has closed at its start.
var refusedLogin = regexp.MustCompile(`kex_exchange_identification: |Connection (closed|reset) by .* port |Not allowed at this time|Exceeded MaxStartups`)

// converse holds a conversation as converseOnce does, and begins it again if the node's sshd
// refuses it.
func (r *Runner) converse(ctx context.Context, place plan.Place, script string, program io.Reader, command ...string) (answer map[string]string, err error) {
	for try := 1; ; try++ {
		answer, err = r.converseOnce(ctx, place, script, program, command...)
		if err == nil || try == refusedTries || place.Way.Kind != nodes.SSH || !refusedLogin.MatchString(err.Error()) {
			return answer, err
		}
		select {
		case <-ctx.Done():
			return answer, err
		case <-time.After(pauseAfter(try)):
		}
	}
}

// pauseAfter returns how long to wait after refused try number try, from 1. It is random,
// because other connections are refused at the same time.
func pauseAfter(try int) time.Duration {
	pause := refusedPause << (try - 1)
	return pause + rand.N(pause)
}

// converseOnce executes a command on the node and returns its answers, the lines that begin
// with "kvlab", by their second word. It ignores other lines, which a login shell's
// start-up files print. The command reads script, and after its answer "send" the
// program, which may be nil.
func (r *Runner) converseOnce(ctx context.Context, place plan.Place, script string, program io.Reader, command ...string) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, limitOf(program))
	defer cancel()
	ctx, end := context.WithCancelCause(ctx)
	login := time.AfterFunc(r.loginLimit(place), func() { end(errLogin) })
	defer login.Stop()
	cmd := r.Way(place.Node).Command(ctx, place.Node, command...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	answer := make(map[string]string)
	stdout := &LineWriter{Take: func(line []byte) error {
		rest, ok := strings.CutPrefix(strings.TrimSpace(string(line)), "kvlab ")
		key, value, _ := strings.Cut(rest, " ")
		if ok {
			login.Stop()
			answer[key] = value
		}
		if ok && key == "send" {
			go func() {
				_, _ = io.Copy(in, program)
				in.Close()
			}()
		}
		return nil
	}}
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = stdout, &stderr
	cmd.WaitDelay = nodes.LeaveDelay
	if err = cmd.Start(); err == nil {
		// A write fails only if the command has ended, which its error reports. The
		// pipe holds the whole script.
		_, _ = io.WriteString(in, script)
		if program == nil {
			in.Close()
		}
		err = errors.Join(cmd.Wait(), stdout.Flush())
	}
	if err != nil {
		return nil, r.ended(ctx, place, err, stderr.String())
	}
	return answer, nil
}

// ended returns why a command on the node failed.
func (r *Runner) ended(ctx context.Context, place plan.Place, err error, stderr string) error {
	said := format.LastLine(stderr)
	if said != "" {
		said = ": " + said
	}
	switch {
	case errors.Is(context.Cause(ctx), errLogin):
		return fmt.Errorf("cannot be reached: %w within %s%s", errLogin, r.loginLimit(place), said)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("no answer within %s%s", remoteTimeout, said)
	case ctx.Err() != nil:
		return plan.ErrInterrupted
	}
	return failure(r.Way(place.Node), err, stderr)
}

// failure returns why a command that ran through a way ended with err.
func failure(way Way, err error, stderr string) error {
	if why := way.Unreached(err, stderr); why != "" {
		return fmt.Errorf("cannot be reached: %s", why)
	}
	// srun reports the task's end after the command's own output.
	lines := slices.DeleteFunc(strings.Split(stderr, "\n"), func(line string) bool { return strings.HasPrefix(line, "srun: ") })
	if said := format.LastLine(strings.Join(lines, "\n")); said != "" {
		return errors.New(said)
	}
	return err
}

// loginTimeout limits the time from the start of ssh to a node's first answer. ssh's own
// limits cover only the greeting and the exchange of keys (ConnectTimeout,
// ssh_config(5)). After these, a home on a dead file server or a start-up file may block
// the login.
const loginTimeout = 12 * time.Second

// loginLimit returns the limit of the time to the first answer of a place's node. A Slurm
// step may wait for its turn.
func (r *Runner) loginLimit(place plan.Place) time.Duration {
	if place.Way.Kind == nodes.SSH {
		return r.login
	}
	return remoteTimeout
}

// errLogin is the cause of a context that ends before the first answer.
var errLogin = errors.New("the login gets no further")
