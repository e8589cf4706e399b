package metrics

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// A count within a stretch is what counting every reply by its time gives, for
// any stretch that ends where slots do.
func TestWithinIsExact(t *testing.T) {
	const seed = 1
	random := rand.New(rand.NewPCG(seed, 0))
	window := 30 * time.Second
	slot := EdgeSlot(window)
	if slot != 10*time.Millisecond {
		t.Fatalf("a slot of %v", slot)
	}
	s := Summary{WindowLengthS: window.Seconds(), Edges: &Edges{SlotS: slot.Seconds(), First: make([]uint64, EdgeSlots), Last: make([]uint64, EdgeSlots)}}
	type reply struct {
		at  time.Duration
		ops uint64
	}
	var replies []reply
	for range 20_000 {
		r := reply{time.Duration(random.Int64N(int64(window))), random.Uint64N(300)}
		replies = append(replies, r)
		s.InWindow.Gets += r.ops
		if i := int(r.at / slot); i < EdgeSlots {
			s.Edges.First[i] += r.ops
		} else if i -= 3000 - EdgeSlots; i >= 0 {
			s.Edges.Last[i] += r.ops
		}
	}
	for range 200 {
		late, early := random.IntN(EdgeSlots+1), random.IntN(EdgeSlots+1)
		var want uint64
		for _, r := range replies {
			if r.at >= time.Duration(late)*slot && r.at < window-time.Duration(early)*slot {
				want += r.ops
			}
		}
		// Anything nearer to this slot's end than to another's.
		off := func() float64 { return 0.49 * (2*random.Float64() - 1) }
		got, seconds := s.Within((float64(late)+off())*0.01, (float64(early)+off())*0.01)
		if got != want || math.Abs(seconds-(30-0.01*float64(late+early))) > 1e-9 {
			t.Fatalf("seed %d: %d and %d slots left out: %d operations in %v s, want %d", seed, late, early, got, seconds, want)
		}
	}
}

func TestWithinEnds(t *testing.T) {
	all := make([]uint64, EdgeSlots)
	for i := range all {
		all[i] = 1
	}
	s := Summary{WindowLengthS: 3, InWindow: Counts{Gets: 1000}, Edges: &Edges{SlotS: 0.001, First: all, Last: all}}
	for _, test := range []struct {
		late, early float64
		ops         uint64
		seconds     float64
	}{
		{0, 0, 1000, 3}, {-1, -2, 1000, 3}, {0.0004, 0.0004, 1000, 3}, {0.01, 0, 990, 2.99}, {0, 0.02, 980, 2.98},
		{5, 0, 1000 - EdgeSlots, 3 - 0.001*EdgeSlots}, // past the edge: a window too far off, which is INVALID
	} {
		ops, seconds := s.Within(test.late, test.early)
		if ops != test.ops || math.Abs(seconds-test.seconds) > 1e-9 {
			t.Errorf("%v and %v s left out: %d in %v s, want %d in %v", test.late, test.early, ops, seconds, test.ops, test.seconds)
		}
	}
	s.Edges = nil
	if ops, seconds := s.Within(0.1, 0.1); ops != 1000 || seconds != 3 {
		t.Errorf("without edges: %d in %v s", ops, seconds)
	}
}

// The memory is the same for a day.
func TestEdgeSlot(t *testing.T) {
	for window, want := range map[time.Duration]time.Duration{
		24 * time.Hour: 28800 * time.Millisecond, time.Second: 333333 * time.Nanosecond, 1: 1,
	} {
		if got := EdgeSlot(window); got != want {
			t.Error(fmt.Sprint(window, ": ", got, ", want ", want))
		}
	}
}
