// Package prefetch lets an engine have cache lines fetched ahead of their use.
package prefetch

import "unsafe"

// List is a list of cache lines to fetch. The zero List is empty. It has one
// owner; it holds addresses, which keep nothing alive.
type List struct {
	lines [listLen]uintptr
	n     int
}

// listLen bounds what is under way at once: more than the processors have
// buffers for only waits.
const listLen = 64

// Line is the size of a cache line of the processors that lines is written for.
const Line = 64

// Add appends the line that p points into. A full list is fetched first.
func Add[T any](l *List, p *T) { l.add(uintptr(unsafe.Pointer(p))) }

// AddRange appends the lines of the size bytes from p on.
func AddRange[T any](l *List, p *T, size int) {
	start := uintptr(unsafe.Pointer(p))
	for at := start &^ (Line - 1); at < start+uintptr(size); at += Line {
		l.add(at)
	}
}

func (l *List) add(address uintptr) {
	if l.n == listLen {
		l.Fetch()
	}
	l.lines[l.n] = address
	l.n++
}

// Fetch has the processor fetch the lines, does not wait for them, and empties
// the list. It reads and writes no memory but the list, so that no address is
// wrong and nothing races.
func (l *List) Fetch() {
	lines(&l.lines[0], l.n)
	l.n = 0
}
