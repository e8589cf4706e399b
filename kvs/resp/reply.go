package resp

import (
	"bytes"
	"fmt"
)

// Value is one value of a reply. The elements of an array are values of their own, and
// follow it.
type Value struct {
	Type byte
	N    int64  // of an Integer: the number; of a Bulk and an Array: the length, -1 for null
	Text []byte // of a Simple, an Error and a Bulk; refers to the buffer
}

// Null reports whether the value is a null, which a missing key has.
func (v Value) Null() bool { return v.N < 0 && (v.Type == Bulk || v.Type == Array) }

func (v Value) String() string { return fmt.Sprintf("%c%d %.80q", v.Type, v.N, v.Text) }

// ParseString parses the string at the start of buf, of at most limit bytes. If buf does not
// begin with a complete one, size is 0, and Parse says why.
func ParseString(buf []byte, limit int) (text []byte, size int) {
	if len(buf) < 2 || buf[0] != Bulk || buf[1] == '\r' {
		return nil, 0
	}
	n, at := 0, 1
	for ; at < len(buf) && buf[at]-'0' <= 9; at++ {
		if n = 10*n + int(buf[at]-'0'); n > limit {
			return nil, 0
		}
	}
	at += 2
	end := at + n
	if len(buf) < end+2 || buf[at-2] != '\r' || buf[at-1] != '\n' || buf[end] != '\r' || buf[end+1] != '\n' {
		return nil, 0
	}
	return buf[at:end:end], end + 2
}

// Parse parses the value at the start of buf, with a string of at most limit bytes. size is
// its length, or 0 if buf does not hold it all.
func Parse(buf []byte, limit int) (v Value, size int, err error) {
	if len(buf) == 0 {
		return Value{}, 0, nil
	}
	v.Type = buf[0]
	switch v.Type {
	case Bulk, Array, Integer:
		if v.N, size, err = Head(buf); size == 0 || v.Type == Integer {
			return v, size, err
		}
		switch {
		case v.N < -1:
			return v, 0, fmt.Errorf("%w: a length of %d", ErrProtocol, v.N)
		case v.Type == Bulk && v.N >= 0:
			v.Text, size, err = BulkAt(buf, size, v.N, limit)
		}
		return v, size, err
	case Simple, Error:
		end := bytes.IndexByte(buf, '\n')
		switch {
		case end < 0 && len(buf) < MaxLine:
			return v, 0, nil
		case end < 0 || end >= MaxLine:
			return v, 0, fmt.Errorf("%w: a line of more than %d bytes", ErrProtocol, MaxLine)
		case buf[end-1] != '\r':
			return v, 0, fmt.Errorf("%w: a line without \\r: %.80q", ErrProtocol, buf[:end])
		}
		v.Text = buf[1 : end-1 : end-1]
		return v, end + 1, nil
	}
	return v, 0, fmt.Errorf("%w: a reply begins with %q", ErrProtocol, v.Type)
}
