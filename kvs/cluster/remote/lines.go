package remote

import (
	"bytes"
	"fmt"
)

// MaxLine is the longest line that a node may send: a record with a histogram
// has some kilobytes, a few megabytes at the very most.
const MaxLine = 16 << 20

// LineWriter cuts what is written to it into lines. Not safe for concurrent
// use. The line it passes on is valid only during the call.
type LineWriter struct {
	Take    func(line []byte) error
	partial []byte
}

// Write passes complete lines on. An error of Take, or a line beyond maxLine,
// ends the reading of the node's output.
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

// Flush passes on what the node left without an end of line.
func (w *LineWriter) Flush() error {
	if len(w.partial) == 0 {
		return nil
	}
	line := w.partial
	w.partial = nil
	return w.Take(line)
}
