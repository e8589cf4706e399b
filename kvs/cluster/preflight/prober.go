package preflight

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/cluster/remote"
	"kvlab/kvs/node"
	"kvlab/metrics"
	"kvlab/metrics/clock"
)

// probeTimeout bounds an answer of a probe that is there: the longest takes
// handshakes with peers that do not answer.
const probeTimeout = 15 * time.Second

// probeSilence is how long a node stays when it is asked nothing and its standard
// input stays open.
const probeSilence = 2 * time.Minute

// prober is a node's program as it tells what its machine is: the launcher's
// half of package node. One goroutine owns it.
type prober struct {
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	stderr  bytes.Buffer // complete when ended is closed
	answers chan reply
	ended   chan struct{}
	limit   time.Duration // for the next answer
	way     remote.Way
}

// reply is an answer, or the error of a node that has none, and when it came.
type reply struct {
	node.Answer
	err error
	at  time.Time
}

// startProber starts a probe at a place. connect is how long it may take to
// answer for the first time: start-up files of a shell may be slow.
func startProber(b *remote.Runner, place plan.Place, connect time.Duration) (*prober, error) {
	// More answers than questions mean a program that is no probe of ours.
	p := &prober{cmd: b.Command(place, remote.AsProbe), way: b.Way(place.Node), answers: make(chan reply, 16), ended: make(chan struct{}), limit: connect}
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout := &remote.LineWriter{Take: p.take}
	p.cmd.Stdout, p.cmd.Stderr = stdout, &p.stderr
	p.cmd.WaitDelay = remote.LeaveDelay
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // how it ended matters only to a question without an answer
	}()
	return p, nil
}

// take passes answers on. Other lines are the chatter of a login shell's
// start-up files.
func (p *prober) take(line []byte) error {
	var e node.Event
	r := reply{at: time.Now()}
	switch {
	case json.Unmarshal(line, &e) != nil:
		return nil
	case e.Event == node.Answered && e.Answer != nil:
		r.Answer = *e.Answer
	case e.Event == node.Error:
		r.err = errors.New(e.Text)
	default:
		return nil
	}
	select {
	case p.answers <- r:
		return nil
	default:
		return errors.New("more answers than questions")
	}
}

// ask puts a question and waits for its answer. An interrupted ctx is
// errInterrupted.
func (p *prober) ask(ctx context.Context, do string, q node.Question) (reply, error) {
	line, err := json.Marshal(node.Command{Do: do, Question: &q, Lease: &node.Lease{SilenceS: probeSilence.Seconds()}})
	if err != nil {
		return reply{}, err
	}
	// A write fails when the probe has ended, which says more.
	_, _ = p.stdin.Write(append(line, '\n'))
	patience := time.NewTimer(p.limit)
	defer patience.Stop()
	select {
	case r := <-p.answers:
		if r.err != nil {
			return r, r.err
		}
		p.limit = probeTimeout
		return r, nil
	case <-p.ended:
		return reply{}, p.early()
	case <-patience.C:
		return reply{}, fmt.Errorf("has not said anything about itself for %v", p.limit)
	case <-ctx.Done():
		return reply{}, plan.ErrInterrupted
	}
}

// early is why the probe has ended before it was told to.
func (p *prober) early() error {
	status, _ := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	said := cmp.Or(plan.LastLine(p.stderr.String()), "without a word")
	return fmt.Errorf("its probe %s: %s", p.way.Death(status, strings.Split(p.stderr.String(), "\n")), said)
}

// end makes the probe leave, by force after a while.
func (p *prober) end(patience time.Duration) {
	p.stdin.Close()
	select {
	case <-p.ended:
	case <-time.After(patience):
		syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		<-p.ended
	}
}

// clockQuestions is how often a clock is asked; the exchange that took the
// least time bounds the offset best.
const clockQuestions = 5

// clock measures how far the probe's clock is ahead of this machine's.
func (p *prober) clock(ctx context.Context) (metrics.ClockOffset, error) {
	var best metrics.ClockOffset
	here, err := clock.New()
	if err != nil {
		return best, err
	}
	monotonic := metrics.ClockOffsetBounds{LeastNs: math.MinInt64, MostNs: math.MaxInt64}
	var zeros []int64
	for i := range clockQuestions {
		asked := time.Now()
		r, err := p.ask(ctx, node.Clock, node.Question{})
		if err != nil {
			return best, err
		}
		c := offset(asked, time.Unix(0, r.ReceivedNS), time.Unix(0, r.SentNS), r.at)
		if i == 0 || c.BoundS < best.BoundS {
			best = c
		}
		monotonic = monotonic.Both(metrics.ClockOffsetBounds{
			LeastNs: r.SentMonotonicNS - here.Ns(r.at) - here.ErrorNs,
			MostNs:  r.ReceivedMonotonicNS - here.Ns(asked) + here.ErrorNs,
		})
		// Either may have come between the readings of the two clocks; seldom both.
		zeros = append(zeros, r.ReceivedNS-r.ReceivedMonotonicNS, r.SentNS-r.SentMonotonicNS)
	}
	slices.Sort(zeros)
	best.Monotonic, best.Zero = monotonic, time.Unix(0, zeros[len(zeros)/2])
	return best, nil
}

// offset is the clock offset of an exchange: asked and answered by the
// launcher's clock, received and sent by the node's (RFC 5905, section 8:
// theta = ((T2-T1) + (T3-T4)) / 2, within half of delta = (T4-T1) - (T3-T2)).
func offset(asked, received, sent, answered time.Time) metrics.ClockOffset {
	there, back := received.Sub(asked), sent.Sub(answered)
	return metrics.ClockOffset{
		OffsetS: (there + back).Seconds() / 2,
		BoundS:  (there - back).Seconds() / 2,
	}
}
