package loadgen

import (
	"context"
	"time"

	"kvlab/metrics"
)

// repeat draws its rounds once and resends them until the schedule ends, without
// checking the replies. It measures the network, both kernels and the codec; with
// -repeat, the servers do no other work either.
func (w *worker) repeat(ctx context.Context, c Config, s schedule) error {
	w.repeats = true
	for i := range w.rounds {
		w.rounds[i].begin()
		w.draw(&w.rounds[i], c.Batch*c.Servers())
	}
	next := 0
	for ; ctx.Err() == nil; next++ {
		r := &w.rounds[next%len(w.rounds)]
		if r.underway {
			if err := w.finish(r, s.at); err != nil {
				return err
			}
		}
		r.begun, r.latency = time.Now(), 0
		if s.over(r.begun) {
			return w.drain(next, s)
		}
		w.send(r)
	}
	return context.Cause(ctx)
}

// unchecked counts a reply without checking it.
func (x *exchange) unchecked() (t replyCheck) {
	n := uint64(x.batch.Len())
	t.Sent, t.Received = uint64(x.batch.Size()), uint64(x.reply.Size())
	t.Counts = metrics.Counts{Calls: 1, Gets: n, Hits: n}
	t.Unchecked = n
	x.reply.Free()
	return t
}
