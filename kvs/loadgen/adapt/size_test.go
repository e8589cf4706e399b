package adapt

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"kvlab/internal/kvstest"
)

func TestBatchingSteps(t *testing.T) {
	const target = time.Millisecond
	b := Size{Target: target, Most: 1000}
	tests := []struct {
		name    string
		size    float64
		latency time.Duration
		want    float64
	}{
		{"over", 800, target + 1, 600},
		{"far over", 800, time.Hour, 600},
		{"just met", 400, target, 402.5},
		{"met", 256, target / 2, 258},
		{"an eighth", 256, target / 8, 258},
		{"well under", 256, target/8 - 1, 288},
		{"no time at all", 1, 0, 1.125},
		{"the smallest", 1, target, 1.125},
		{"not below one", 1.1, 2 * target, 1},
		{"not over the most", 999, 0, 1000},
		{"down from the most", 1000, 2 * target, 750},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b.Mean = test.size
			if b.Learn(test.latency); b.Mean != test.want {
				t.Errorf("%v operations, %v: next %v, want %v", test.size, test.latency, b.Mean, test.want)
			}
		})
	}
}

// queue is a server that serves one batch at a time, in order of arrival, in a + b per
// operation. In a closed loop every call waits for one call of each other worker: its
// latency is the sum of all service times.
type queue struct {
	Size
	a, b  time.Duration
	sizes []float64 // of every worker
}

// round makes one call for each worker in turn, and returns the share of the latencies
// over the target.
func (q *queue) round(noise func() float64) (over float64) {
	for i := range q.sizes {
		var latency time.Duration
		for _, size := range q.sizes {
			latency += q.a + time.Duration(int(size))*q.b
		}
		latency = time.Duration(float64(latency) * noise())
		if latency > q.Target {
			over++
		}
		q.Mean = q.sizes[i]
		q.Learn(latency)
		q.sizes[i] = q.Mean
	}
	return over / float64(len(q.sizes))
}

// right returns the batch at which the latency is the Target: it solves
// workers * (a + b*batch) = target.
func (q *queue) right() float64 {
	return (float64(q.Target)/float64(len(q.sizes)) - float64(q.a)) / float64(q.b)
}

// settles fails unless, after the allowed rounds, the batches have the right mean and
// no worker's mean is far from it. Latencies that differ a little keep the workers from
// meeting the target in turn.
func (q *queue) settles(t *testing.T, from string, random *rand.Rand) {
	t.Helper()
	const allowed, watched = 1000, 4000
	nearly := func() float64 { return 0.95 + 0.05*random.Float64() }
	for range allowed {
		q.round(nearly)
	}
	means, mean := make([]float64, len(q.sizes)), 0.0
	for range watched {
		q.round(nearly)
		for i, size := range q.sizes {
			means[i] += size / watched
			mean += size / watched / float64(len(q.sizes))
		}
	}
	if right := min(max(q.right(), 1), float64(q.Most)); mean < 0.75*right-1 || mean > 1.05*right+1 {
		t.Errorf("%s: a mean batch of %.1f, where %.1f meets the target", from, mean, right)
	}
	if least, greatest := slices.Min(means), slices.Max(means); least < mean/3 || greatest > 3*mean {
		t.Errorf("%s: workers have batches of %.1f to %.1f, where %.1f is the mean", from, least, greatest, mean)
	}
}

// Batches settle where the latency meets the target, from below and from above,
// and follow a server that becomes slower or faster.
func TestBatchingSettles(t *testing.T) {
	tests := []struct {
		name    string
		workers int
		a, b    time.Duration
		target  time.Duration
	}{
		{"one worker", 1, 10 * time.Microsecond, 200 * time.Nanosecond, time.Millisecond},
		{"64 workers", 64, 2 * time.Microsecond, 200 * time.Nanosecond, time.Millisecond},
		{"a long target", 64, 2 * time.Microsecond, 200 * time.Nanosecond, 20 * time.Millisecond},
		{"small batches", 16, 5 * time.Microsecond, 10 * time.Microsecond, time.Millisecond},
		{"out of reach", 64, 100 * time.Microsecond, time.Microsecond, time.Millisecond},
		{"the most", 1, time.Microsecond, time.Nanosecond, time.Second},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			random := kvstest.NewRandom(t)
			q := &queue{Size: Size{Target: test.target, Most: Largest}, a: test.a, b: test.b, sizes: make([]float64, test.workers)}
			for from, sizes := range map[string][]float64{"from below": {1}, "from above": {Largest}, "from unequal batches": {1, 10, 100, 400}} {
				for i := range q.sizes {
					q.sizes[i] = sizes[i%len(sizes)]
				}
				q.settles(t, from, random)
			}
			q.b *= 4
			q.settles(t, "after it became slower", random)
			q.b /= 16
			q.settles(t, "after it became faster", random)
		})
	}
}

// With noise the target applies to the tail: few calls exceed it.
func TestBatchingMeetsTail(t *testing.T) {
	random := kvstest.NewRandom(t)
	noise := func() float64 { return 0.5 + 0.5*random.ExpFloat64() }
	q := &queue{Size: Size{Target: time.Millisecond, Most: Largest}, a: 2 * time.Microsecond, b: 200 * time.Nanosecond, sizes: make([]float64, 64)}
	for range 2000 {
		q.round(noise)
	}
	var over float64
	const watched = 2000
	for range watched {
		over += q.round(noise) / watched
	}
	if over > 0.10 || over < 0.01 {
		t.Errorf("%.2f %% of the calls are over the target", 100*over)
	}
}
