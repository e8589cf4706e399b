package remote

import (
	"bytes"
	"fmt"
)

// MaxLine is the longest line that a node may send. A record with a histogram usually has
// some kilobytes, and at most a few megabytes.
const MaxLine = 16 << 20

// LineWriter calls Take with each line that is written to it. The line is valid only
// during the call. Not safe for concurrent use.
type LineWriter struct {
	Take    func(line []byte) error
	partial []byte
}

// Write calls Take with each complete line. An error of Take, or a line longer than
// MaxLine, ends the reading of the node's output.
func (w *LineWriter) Write(p []byte) (int, error) {
	n := len(p)
	for {
		line, rest, found := bytes.Cut(p, []byte{'\n'})
		if !found {
			break
		}
		if len(w.partial) > 0 {
			line = append(w.partial, line...)
			w.partial = w.partial[:0]
		}
		if err := w.Take(bytes.TrimSuffix(line, []byte{'\r'})); err != nil {
			return 0, err
		}
		p = rest
	}
	if w.partial = append(w.partial, p...); len(w.partial) > MaxLine {
		return 0, fmt.Errorf("a line of more than %d bytes", MaxLine)
	}
	return n, nil
}

// Flush calls Take with the rest, which has no end of line.
func (w *LineWriter) Flush() error {
	if len(w.partial) == 0 {
		return nil
	}
	line := w.partial
	w.partial = nil
	return w.Take(line)
}
