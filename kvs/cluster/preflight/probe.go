package preflight

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"syscall"
	"time"

	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/cluster/remote"
	"kvlab/kvs/node"
	"kvlab/metrics"
	"kvlab/metrics/clock"
	"kvlab/metrics/format"
)

// connectTimeout limits the first answer of a probe: a shell's start-up files may be slow.
const connectTimeout = time.Minute

// probeTimeout limits an answer of a running probe. The longest question needs
// handshakes with peers that do not answer.
const probeTimeout = 15 * time.Second

// probeSilence is how long a probe runs without a question while its standard input is
// open.
const probeSilence = 2 * time.Minute

// probeClient runs a node's program as a probe of its machine: the launcher's half of package
// node's probe protocol. One goroutine owns it.
type probeClient struct {
	cmd     *remote.Running
	stdin   io.WriteCloser
	stderr  []string // lines, complete when ended is closed
	log     []string // likewise
	answers chan reply
	ended   chan struct{}
	limit   time.Duration // for the next answer
	silence time.Duration // after which it ends by itself; 0: never
	way     remote.Way
}

// reply is an answer or a node's error, and its arrival time.
type reply struct {
	node.Answer
	err error
	at  time.Time
}

// startProbe starts a probe at a place.
func startProbe(r *remote.Runner, place plan.Place) (p *probeClient, err error) {
	p = &probeClient{way: r.Way(place.Node), answers: make(chan reply, 16), ended: make(chan struct{}), limit: connectTimeout, silence: probeSilence}
	if p.cmd, p.stdin, err = r.Start(place, node.ProbeFlag, remote.Output{
		Line:  p.take,
		Error: func(line []byte) error { p.stderr = append(p.stderr, string(line)); return nil },
		Ended: func(error) { close(p.ended) }, // its exit matters only to an unanswered question
	}); err != nil {
		return nil, err
	}
	return p, nil
}

// take delivers answers. It ignores other lines, which a login shell's start-up files
// print.
func (p *probeClient) take(line []byte) error {
	var e node.Event
	r := reply{at: time.Now()}
	switch {
	case json.Unmarshal(line, &e) != nil:
		return nil
	case e.Event == node.Answered && e.Answer != nil:
		r.Answer = *e.Answer
	case e.Event == node.Log:
		p.log = append(p.log, e.Text)
		return nil
	case e.Event == node.Error:
		r.err = errors.New(e.Text)
	default:
		return nil
	}
	select {
	case p.answers <- r:
	default: // more answers than questions: not a kvlab probe
	}
	return nil
}

// ask sends a question and waits for its answer. If ctx is interrupted, the error is
// plan.ErrInterrupted.
func (p *probeClient) ask(ctx context.Context, do string, q node.Question) (reply, error) {
	remote.Send(p.stdin, node.Command{Do: do, Question: q, Lease: &node.Lease{SilenceS: p.silence.Seconds()}})
	timeout := time.NewTimer(p.limit)
	defer timeout.Stop()
	select {
	case r := <-p.answers:
		p.limit = probeTimeout
		return r, r.err
	case <-p.ended:
		said := cmp.Or(format.LastLine(strings.Join(p.stderr, "\n")), "without a word")
		return reply{}, fmt.Errorf("its probe %s: %s", p.way.Death(p.cmd.Status(), p.stderr), said)
	case <-timeout.C:
		return reply{}, fmt.Errorf("has not said anything about itself for %v", p.limit)
	case <-ctx.Done():
		return reply{}, plan.ErrInterrupted
	}
}

// end makes the probe exit, and kills it after patience.
func (p *probeClient) end(patience time.Duration) {
	p.stdin.Close()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.cmd.Signal(syscall.SIGKILL)
		<-p.ended
	}
}

// clockQuestions is the number of readings of a clock. The fastest exchange gives the
// best bound on the offset.
const clockQuestions = 5

// clock measures the lead of the probe's clock over this machine's.
func (p *probeClient) clock(ctx context.Context) (*metrics.ClockOffset, error) {
	here := clock.New()
	var best metrics.ClockOffset
	monotonic := metrics.ClockOffsetBounds{LeastNs: math.MinInt64, MostNs: math.MaxInt64}
	var zeros []int64
	for i := range clockQuestions {
		asked := time.Now()
		r, err := p.ask(ctx, node.Clock, node.Question{})
		if err != nil {
			return nil, err
		}
		c := offset(asked, time.Unix(0, r.ReceivedNS), time.Unix(0, r.SentNS), r.at)
		if i == 0 || c.BoundS < best.BoundS {
			best = c
		}
		monotonic = monotonic.Both(metrics.ClockOffsetBounds{
			LeastNs: r.SentMonotonicNS - here.Ns(r.at) - here.ErrorNs,
			MostNs:  r.ReceivedMonotonicNS - here.Ns(asked) + here.ErrorNs,
		})
		// A delay between the readings of the two clocks may affect one of these, but
		// seldom both.
		zeros = append(zeros, r.ReceivedNS-r.ReceivedMonotonicNS, r.SentNS-r.SentMonotonicNS)
	}
	slices.Sort(zeros)
	best.Monotonic, best.Zero = monotonic, time.Unix(0, zeros[len(zeros)/2])
	return &best, nil
}

// offset returns the clock offset of an exchange: asked and answered by the
// launcher's clock, received and sent by the node's (RFC 5905, section 8:
// theta = ((T2-T1) + (T3-T4)) / 2, within half of delta = (T4-T1) - (T3-T2)).
func offset(asked, received, sent, answered time.Time) metrics.ClockOffset {
	there, back := received.Sub(asked), sent.Sub(answered)
	return metrics.ClockOffset{
		OffsetS: (there + back).Seconds() / 2,
		BoundS:  (there - back).Seconds() / 2,
	}
}
