package kvs

import (
	"slices"
	"testing"
)

// A burst's buffers are kept while they are needed, and given up when not, the
// first given first; the one that is given last is the next taken.
func TestBuffersForgetABurst(t *testing.T) {
	var list buffers
	hold := func(n int) (held [][]byte) {
		for range n {
			held = append(held, list.get(Headroom))
		}
		return held
	}
	release := func(held [][]byte) {
		for _, buf := range held {
			list.put(buf)
		}
	}
	release(hold(64))
	for range trimEvery {
		release(hold(64)) // again and again: none is idle
	}
	if n := len(list.free); n != 64 {
		t.Errorf("%d buffers are kept of 64 that are needed", n)
	}
	for range 10 * trimEvery {
		release(hold(3))
	}
	if n := len(list.free); n != 3 {
		t.Errorf("%d buffers are kept of 3 that are needed", n)
	}
	held := hold(3)
	release(held)
	if got := list.get(Headroom); &got[:1][0] != &held[2][:1][0] {
		t.Error("the buffer that was given last is not the first taken")
	}
	if slices.ContainsFunc(list.free[:cap(list.free)][len(list.free):], func(b []byte) bool { return b != nil }) {
		t.Error("the list still refers to what it has given up")
	}
}
