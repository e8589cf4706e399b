package loadgen

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/kvs/verdict"
	"kvlab/metrics"
)

// Every time in a window is in the slot of its distance from the nearer end, or in none.
func TestEdge(t *testing.T) {
	const seed = 2
	random := rand.New(rand.NewPCG(seed, 0))
	opens := now()
	for _, length := range []time.Duration{3000, time.Second, 30 * time.Second, 24 * time.Hour} {
		s := &span{opens, opens + length, metrics.EdgeSlot(length)}
		slot := metrics.EdgeSlot(length)
		check := func(since time.Duration) {
			t.Helper()
			got, ok := s.boundary(opens + since)
			fromEnd := 2 * metrics.EdgeSlots
			for at := length; at > since && fromEnd >= metrics.EdgeSlots; at -= slot {
				fromEnd--
			}
			want, known := fromEnd, fromEnd >= metrics.EdgeSlots
			if since < metrics.EdgeSlots*slot {
				want, known = int(since/slot), true
			}
			if ok != known || known && got != want {
				t.Fatalf("seed %d: %v of %v: slot %d %v, want %d %v", seed, since, length, got, ok, want, known)
			}
		}
		for _, since := range []time.Duration{0, slot - 1, slot, metrics.EdgeSlots*slot - 1, metrics.EdgeSlots * slot, length - metrics.EdgeSlots*slot - 1,
			length - metrics.EdgeSlots*slot, length - slot - 1, length - slot, length - 1} {
			check(since)
		}
		for range 100 {
			check(time.Duration(random.Int64N(int64(length))))
		}
	}
}

// came is when a call's reply came: after the connection had it, and before the
// worker's next step on that connection.
type came struct {
	after, before time.Time
	ops           uint64
}

// logged is a conn that records when its replies came.
type logged struct {
	driver.Conn
	log *[]came
}

func (c logged) Send(call *kvs.Call) {
	c.next()
	c.Conn.Send(call)
}

func (c logged) Wait(call *kvs.Call) error {
	err := c.Conn.Wait(call)
	*c.log = append(*c.log, came{after: time.Now(), ops: uint64(call.Batch.Len())})
	return err
}

// next records that the worker took its next step.
func (c logged) next() {
	if log := *c.log; len(log) > 0 && log[len(log)-1].before.IsZero() {
		log[len(log)-1].before = time.Now()
	}
}

// The windows of two clients begin a thirtieth of a window apart. The run counts the
// operations whose replies came in both windows, and all of a client's operations are in
// its slots or between them.
func TestCommonWindow(t *testing.T) {
	const apart = 20 * time.Millisecond
	c := small()
	c.Clients, c.Workers, c.Batch, c.Window = 2, 2, 50, 30*apart
	_, c.Hosts = newStores(t, 2, c.Codec)
	logs := make([][][]came, c.Clients) // by client and connection
	summaries := make([]metrics.Summary, c.Clients)
	begins := sync.OnceValue(func() time.Time { return time.Now().Add(apart) }) // when all have loaded
	var running, loaded sync.WaitGroup
	loaded.Add(c.Clients)
	for i := range c.Clients {
		c.Node, c.Index = fmt.Sprintf("client%d", i), i
		g := connected(t, c)
		running.Go(func() {
			err := g.Load(context.Background())
			loaded.Done()
			loaded.Wait()
			logs[i] = make([][]came, 0, c.Workers*len(c.Hosts))
			everyConn(func(_ *worker, inner driver.Conn) driver.Conn {
				logs[i] = append(logs[i], nil)
				return logged{inner, &logs[i][len(logs[i])-1]}
			})(g)
			g.Begins = begins().Add(time.Duration(i) * apart)
			if err == nil {
				err = g.Measure(context.Background(), func(metrics.Phase) error { return nil })
			}
			if err != nil {
				t.Error(err)
			}
			summaries[i] = g.Summary()
		})
	}
	running.Wait()
	run := metrics.Run{}
	for i := range summaries {
		run.Nodes = append(run.Nodes, metrics.RunNode{Name: fmt.Sprintf("client%d", i), Role: metrics.Client, Summary: &summaries[i]})
	}
	verdict.Judge(&run)
	shift := summaries[1].WindowStart.Sub(summaries[0].WindowStart).Abs()
	if want := (c.Window - shift).Seconds(); math.Abs(run.WindowS-want) > 1e-6 {
		t.Fatalf("the common window is %v s, want %v", run.WindowS, want)
	}
	var low, high, own uint64
	for i, s := range summaries {
		late, early := run.WindowStart.Sub(s.WindowStart).Seconds(), s.WindowLengthS-run.WindowS
		early -= late
		ops, seconds := s.Within(late, early)
		slots := math.Round(late / s.Edges.SlotS)
		from := s.WindowStart.Add(time.Duration(slots) * metrics.EdgeSlot(c.Window))
		until := from.Add(time.Duration(math.Round(seconds * 1e9)))
		atLeast, atMost := cameIn(logs[i], from, until)
		if ops < atLeast || ops > atMost {
			t.Errorf("client %d: %d operations in the common window, its replies say %d to %d", i, ops, atLeast, atMost)
		}
		low, high, own = low+atLeast, high+atMost, own+s.InWindow.Ops()
	}
	if run.Ops < low || run.Ops > high || run.Ops > own || own == 0 {
		t.Errorf("%d operations in the common window, the replies say %d to %d, and %d in the clients' own", run.Ops, low, high, own)
	}
	if rate := float64(run.Ops) / run.WindowS; math.Abs(run.OpsPerS/rate-1) > 0.002 {
		t.Errorf("%v ops/s, and %v by count and time", run.OpsPerS, rate)
	}
}

// cameIn returns the least and the greatest possible number of operations whose replies
// came in an interval.
func cameIn(logs [][]came, from, until time.Time) (atLeast, atMost uint64) {
	for _, log := range logs {
		for _, r := range log {
			before := r.before
			if before.IsZero() { // the last of its connection
				before = until.Add(time.Hour)
			}
			if r.after.Before(until) && !before.Before(from) {
				atMost += r.ops
				if !r.after.Before(from) && before.Before(until) {
					atLeast += r.ops
				}
			}
		}
	}
	return atLeast, atMost
}
