package resp

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// Limits bound a command.
type Limits struct {
	Args int // its arguments, with its name
	Bulk int // bytes of an argument
	Size int // bytes of all
}

// Commands reads a client's commands, which are arrays of strings, or lines of text
// (inline commands), and parses them in place. An argument is parsed once, however small
// the pieces are in which it arrives.
type Commands struct {
	Limits

	buf   []byte
	start int    // of the command
	at    int    // the first byte that is not parsed
	lacks int    // arguments of the command that are not parsed
	args  []span // the others, from start on
}

// span is where an argument lies.
type span struct{ at, end uint32 }

const (
	firstBuf = 64 << 10 // also the largest that an idle connection keeps, times 4
	leastGap = 4 << 10  // free bytes for a read
	keptArgs = 1 << 10  // the most arguments whose memory is kept
)

// Read reads once. It invalidates the arguments of all commands before.
func (c *Commands) Read(r io.Reader) error {
	c.makeRoom()
	n, err := r.Read(c.buf[len(c.buf):cap(c.buf)])
	c.buf = c.buf[:len(c.buf)+n]
	if n > 0 {
		return nil
	}
	return err
}

// makeRoom moves what is not parsed to the buffer's beginning, or to a larger buffer.
func (c *Commands) makeRoom() {
	if c.lacks == 0 {
		c.start = c.at // the command before is done
	}
	rest := c.buf[c.start:]
	switch {
	case len(rest) == 0 && (cap(c.buf) == 0 || cap(c.buf) > 4*firstBuf):
		c.buf = make([]byte, 0, firstBuf)
	case len(rest) < leastGap || cap(c.buf)-len(c.buf) < leastGap:
		c.buf = append(c.buf[:0], rest...)
	default:
		return
	}
	c.at, c.start = c.at-c.start, 0
	if cap(c.buf)-len(c.buf) < leastGap {
		c.buf = slices.Grow(c.buf, cap(c.buf))
	}
}

// Partial reports whether a part of a command has arrived that Next could not return.
func (c *Commands) Partial() bool { return c.lacks > 0 || c.at < len(c.buf) }

// Next parses the next command and returns how many arguments it has with its name, at
// least 1, or 0 if it has not arrived as a whole. After an error, which wraps ErrProtocol,
// nothing more can be parsed.
func (c *Commands) Next() (args int, err error) {
	for c.lacks == 0 {
		if c.start, c.args = c.at, c.args[:0]; cap(c.args) > keptArgs {
			c.args = nil
		}
		rest := c.buf[c.at:]
		if len(rest) == 0 {
			return 0, nil
		}
		if rest[0] != Array {
			size, err := c.inline(rest)
			if size == 0 || err != nil {
				return 0, err
			}
			if c.at += size; len(c.args) > 0 {
				return len(c.args), nil
			}
			continue // an empty line
		}
		n, size, err := Head(rest)
		switch {
		case size == 0 || err != nil:
			return 0, err
		case n > int64(c.Limits.Args):
			return 0, fmt.Errorf("%w: a command of %d arguments; at most %d", ErrProtocol, n, c.Limits.Args)
		}
		c.at += size
		c.lacks = int(max(n, 0))
	}
	for ; c.lacks > 0; c.lacks-- {
		if ok, err := c.argument(c.buf[c.at:]); !ok || err != nil {
			return 0, err
		}
	}
	return len(c.args), nil
}

// argument parses the argument at the start of rest, if it is whole.
func (c *Commands) argument(rest []byte) (ok bool, err error) {
	if len(rest) == 0 {
		return false, nil
	}
	if rest[0] != Bulk {
		return false, fmt.Errorf("%w: expected '$', got %q", ErrProtocol, rest[0])
	}
	n, size, err := Head(rest)
	if size == 0 || err != nil {
		return false, err
	}
	at := c.at - c.start + size
	if at+int(n) > c.Limits.Size {
		return false, fmt.Errorf("%w: a command of more than %d bytes", ErrProtocol, c.Limits.Size)
	}
	text, end, err := BulkAt(rest, size, n, c.Limits.Bulk)
	if end == 0 || err != nil {
		return false, err
	}
	c.args = append(c.args, span{uint32(at), uint32(at + len(text))})
	c.at += end
	return true, nil
}

// Arg returns an argument of the command that Next returned; the name is number 0.
func (c *Commands) Arg(i int) []byte {
	s := c.args[i]
	return c.buf[c.start+int(s.at) : c.start+int(s.end) : c.start+int(s.end)]
}

// inline parses the line at the start of rest. size is its length, or 0 if it has not
// arrived as a whole.
func (c *Commands) inline(rest []byte) (size int, err error) {
	end := bytes.IndexByte(rest, '\n')
	switch most := min(MaxLine, c.Limits.Size); {
	case end > most || end < 0 && len(rest) > most:
		return 0, fmt.Errorf("%w: an inline command of more than %d bytes", ErrProtocol, most)
	case end < 0:
		return 0, nil
	}
	line := rest[:end]
	for i := skipSpaces(line, 0); i < len(line); i = skipSpaces(line, i) {
		if len(c.args) == c.Limits.Args {
			return 0, fmt.Errorf("%w: a command of more than %d arguments", ErrProtocol, c.Limits.Args)
		}
		next, length, ok := unquote(line, i)
		if !ok {
			return 0, fmt.Errorf("%w: unbalanced quotes in an inline command", ErrProtocol)
		}
		c.args = append(c.args, span{uint32(i), uint32(i + length)})
		i = next
	}
	return end + 1, nil
}

func skipSpaces(line []byte, i int) int {
	for i < len(line) && isSpace(line[i]) {
		i++
	}
	return i
}

func isSpace(b byte) bool { return b == ' ' || '\t' <= b && b <= '\r' }

// unquote replaces the word at line[i] by what it means, in place: Redis's quotes and
// escapes (sdssplitargs). The next word is searched from next on.
func unquote(line []byte, i int) (next, length int, ok bool) {
	to := line[i:i]
	var quote byte // the open one
	for ; i < len(line) && (quote != 0 || !isSpace(line[i])); i++ {
		switch b := line[i]; {
		case quote == 0 && (b == '"' || b == '\''):
			quote = b
		case quote == 0:
			to = append(to, b)
		case b == quote:
			if quote = 0; i+1 < len(line) && !isSpace(line[i+1]) {
				return 0, 0, false
			}
		case b == '\\' && i+1 < len(line) && (quote == '"' || line[i+1] == quote):
			var size int
			b, size = escape(line[i:], quote)
			to = append(to, b)
			i += size - 1
		default:
			to = append(to, b)
		}
	}
	return i, len(to), quote == 0
}

// escape returns the byte that an escape sequence means, and the sequence's length.
func escape(text []byte, quote byte) (b byte, size int) {
	if quote == '"' {
		if len(text) >= 4 && text[1] == 'x' {
			if n, err := strconv.ParseUint(string(text[2:4]), 16, 8); err == nil {
				return byte(n), 4
			}
		}
		if i := bytes.IndexByte([]byte("nrtba"), text[1]); i >= 0 {
			return "\n\r\t\b\a"[i], 2
		}
	}
	return text[1], 2
}
