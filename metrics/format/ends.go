package format

import "fmt"

// endBytes is what Ends keeps of a text from each end.
const endBytes = 64 << 10

// Ends keeps the beginning and the end of a text of any length, in lines. The zero value
// is empty. It is not safe for concurrent use.
type Ends struct {
	head  int      // bytes of the beginning
	tail  []string // the end so far
	bytes int      // of tail
	lost  int      // lines between them
	cut   int      // bytes of these
}

// Add takes the next line, and reports whether it is of the beginning. Rest returns the
// others.
func (e *Ends) Add(line string) bool {
	if e.bytes == 0 && e.lost == 0 && e.head+len(line) < endBytes {
		e.head += len(line) + 1
		return true
	}
	e.tail, e.bytes = append(e.tail, line), e.bytes+len(line)+1
	for e.bytes > endBytes && len(e.tail) > 1 {
		first := len(e.tail[0]) + 1
		e.tail, e.bytes, e.lost, e.cut = e.tail[1:], e.bytes-first, e.lost+1, e.cut+first
	}
	return false
}

// Rest returns the lines of the end, after one that counts what is left out, if anything
// is.
func (e *Ends) Rest() []string {
	rest := e.tail
	if e.lost > 0 {
		rest = append([]string{fmt.Sprintf("(%s, %d bytes, are left out here)", Plural(e.lost, "line"), e.cut)}, rest...)
	}
	*e = Ends{head: e.head, lost: e.lost}
	return rest
}
