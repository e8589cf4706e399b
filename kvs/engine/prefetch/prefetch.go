// Package prefetch fetches cache lines before their use.
package prefetch

import "unsafe"

// List is a list of cache lines to fetch. The zero List is empty. It has one owner. Its
// addresses keep nothing alive.
type List struct {
	lines [listLen]uintptr
	n     int
}

// listLen bounds the lines in flight. Processors have buffers for fewer.
const listLen = 64

// Line is the size of a cache line on amd64 and arm64.
const Line = 64

// Add appends the line of *p. It fetches a full list first.
func Add[T any](l *List, p *T) { l.add(uintptr(unsafe.Pointer(p))) }

// AddRange appends the lines of the size bytes at p.
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

// Fetch starts to fetch the lines and empties the list. It accesses no memory but the
// list, so every address is valid and no race is possible.
func (l *List) Fetch() {
	lines(&l.lines[0], l.n)
	l.n = 0
}
