package timer

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"
)

// A timer never ends early.
func TestAlarmRings(t *testing.T) {
	const seed = 5
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	a, err := New(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for range 200 {
		d := time.Duration(1 + random.IntN(500_000))
		begun := time.Now()
		if err := a.Sleep(d); err != nil {
			t.Fatal(err)
		}
		if slept := time.Since(begun); slept < d {
			t.Errorf("slept %v of %v", slept, d)
		}
	}
}

// The end of its context ends a sleep, and every later one at once.
func TestAlarmEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	a, err := New(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	time.AfterFunc(time.Millisecond, cancel)
	for range 3 {
		if err := a.Sleep(time.Hour); err != nil {
			t.Fatal(err)
		}
	}
}
