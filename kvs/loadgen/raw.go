package loadgen

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"kvlab/kvs/wire"
	"kvlab/metrics"
)

// RawRate is what the network under the calls can do, both nodes' kernels
// included.
type RawRate struct {
	OpsPerS   float64 // operations that the frames would have carried
	BytesPerS float64 // both ways together
}

// lane is the raw connections of one of a worker's rounds, one to each server.
type lane []*wire.Raw

// MeasureRaw sends frames of f's sizes to the servers at c.Hosts, which speak
// wire.RawCodec, and takes as large replies back, with as many of them under
// way as c's workers would have, through c's warm-up and window. Workers that
// share a connection would at best always send together.
func MeasureRaw(ctx context.Context, c Config, f Frames) (RawRate, error) {
	n := c.Workers * c.InFlight
	if c.link().Shared {
		together := float64(n) / float64(c.Lanes())
		n, f = c.Lanes(), Frames{together * f.Request, together * f.Reply, together * f.Ops}
	}
	inner, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	lanes, err := openLanes(inner, c, f, n)
	defer closeLanes(lanes)
	if err != nil {
		return RawRate{}, err
	}
	stop := context.AfterFunc(inner, func() { closeLanes(lanes) })
	defer stop()
	now := time.Now()
	s := fixed(now.Add(c.WarmUp), now.Add(c.WarmUp+c.Window))
	var group sync.WaitGroup
	var calls atomic.Uint64
	for _, l := range lanes {
		group.Go(func() {
			n, err := l.run(s)
			calls.Add(n)
			if err != nil {
				fail(err)
			}
		})
	}
	group.Wait()
	perS := float64(calls.Load()) / c.Window.Seconds()
	return RawRate{OpsPerS: perS * f.Ops, BytesPerS: perS * (f.Request + f.Reply)}, context.Cause(inner)
}

func openLanes(ctx context.Context, c Config, f Frames, n int) ([]lane, error) {
	o := c.link()
	o.Node = c.Node
	sizes := wire.RawSizes{Request: int(math.Round(f.Request)), Reply: int(math.Round(f.Reply))}
	lanes := make([]lane, n)
	for i := range lanes {
		for j, addr := range c.Hosts {
			conn, err := wire.DialRaw(ctx, addr, o, sizes)
			if err != nil {
				return lanes, fmt.Errorf("connect to raw server %d of %d: %w", j+1, len(c.Hosts), err)
			}
			lanes[i] = append(lanes[i], conn)
		}
	}
	return lanes, nil
}

func closeLanes(lanes []lane) {
	for _, l := range lanes {
		for _, conn := range l {
			_ = conn.Close() // a failure under way says more
		}
	}
}

// run goes round until the window closes, and returns how many calls came back
// inside it.
func (l lane) run(s schedule) (calls uint64, err error) {
	for !s.over(time.Now()) {
		for i, conn := range l {
			if err := conn.Send(); err != nil {
				return calls, fmt.Errorf("send to raw server %d of %d: %w", i+1, len(l), err)
			}
		}
		for i, conn := range l {
			if err := conn.Receive(); err != nil {
				return calls, fmt.Errorf("receive from raw server %d of %d: %w", i+1, len(l), err)
			}
			if phase, _ := s.at(time.Now()); phase == metrics.Window {
				calls++
			}
		}
	}
	return calls, nil
}
