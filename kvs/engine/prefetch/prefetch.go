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

// AddRange appends the lines of the size bytes at p; size is at least 1.
func AddRange[T any](l *List, p *T, size int) {
	l.addRange(uintptr(unsafe.Pointer(p)), uintptr(size))
}

// short is the most lines of a short range. addRange writes this many for each short range
// and counts those that the range has: a loop over the 3 or 4 lines of a record would
// mispredict a branch for many records.
const short = 5

func (l *List) addRange(start, size uintptr) {
	first := start &^ (Line - 1)
	n := int((start+size-1-first)/Line) + 1
	if n > short || l.n > listLen-short {
		for i := range n {
			l.add(first + uintptr(i)*Line)
		}
		return
	}
	lines := l.lines[l.n:][:short]
	lines[0] = first
	lines[1] = first + Line
	lines[2] = first + 2*Line
	lines[3] = first + 3*Line
	lines[4] = first + 4*Line
	l.n += n
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
