package wire

import (
	"bufio"
	"bytes"
	"encoding/gob"
	"fmt"
	"io"
)

// gobMessages stands between a connection and gob, which trusts what it reads:
// it has a message whole in memory, of up to 8 GiB, and takes 40 bytes for an
// operation of one. Here every length is checked before memory is taken for it,
// and the elements of a batch or a reply are decoded some at a time.
//
// A gob stream is messages, each behind its length; each begins with a type
// number, which is negative where the message defines a type (the package's
// documentation, "Encoding Details").
type gobMessages struct {
	in      *bufio.Reader
	size    int          // bytes of the value that is due or under way
	left    int          // those that are not read yet
	ready   bytes.Buffer // what the decoder reads next: definitions of types, and a value
	dec     *gob.Decoder // of ready
	types   *gobTypes
	defined int // bytes of definitions so far
	limits  Limits
	some    bytes.Buffer // of a value's bytes, when its elements are decoded
}

// What a connection may send besides batches and replies, whose definitions take
// some 200 bytes, in bytes.
const (
	maxDefinitions = 16 << 10
	maxGobHead     = 1 << 20 // net/rpc's header, which may hold an error's text
)

func newGobMessages(in io.Reader, limits Limits) *gobMessages {
	m := &gobMessages{in: bufio.NewReaderSize(in, 64<<10), types: newGobTypes(), limits: limits}
	m.dec = gob.NewDecoder(&m.ready)
	return m
}

// await reads up to the next value, and the definitions before it. An io.EOF is
// the stream's orderly end.
func (m *gobMessages) await() error {
	for {
		at, size, err := m.length()
		if err != nil {
			return err
		}
		start, err := m.in.Peek(min(at+size, at+maxGobNumber))
		if err != nil {
			return noEOF(err)
		}
		number, n := gobUint(start[at:])
		if n <= 0 {
			return fmt.Errorf("%w: a gob message that begins with %x", ErrFrame, start)
		}
		if number&1 == 0 { // a signed number has its sign there
			_, err := m.in.Discard(at)
			m.size, m.left = size, size
			return err
		}
		if m.defined += at + size; m.defined > maxDefinitions {
			return fmt.Errorf("%w: over %d bytes of gob type definitions", ErrFrame, maxDefinitions)
		}
		defined := m.ready.Len() + at + n
		if err := m.take(at + size); err != nil {
			return err
		}
		if err := m.types.define(number>>1+1, m.ready.Bytes()[defined:]); err != nil {
			return err
		}
	}
}

// length looks at the next message's length, which takes so many bytes.
func (m *gobMessages) length() (at, size int, err error) {
	start, err := m.in.Peek(1)
	if err != nil {
		return 0, 0, err
	}
	if start, err = m.in.Peek(min(gobMore(start[0]), maxGobNumber-1) + 1); err != nil {
		return 0, 0, noEOF(err)
	}
	length, at := gobUint(start)
	if at <= 0 {
		return 0, 0, fmt.Errorf("%w: a gob length that begins with %02x", ErrFrame, start[0])
	}
	if length == 0 || length > MaxBody {
		return 0, 0, fmt.Errorf("%w: a gob message of %d bytes; at most %d", ErrFrame, length, MaxBody)
	}
	return at, int(length), nil
}

// take has the decoder read the stream's next bytes.
func (m *gobMessages) take(n int) error {
	return copyGob(&m.ready, m.in, n)
}

// copyGob adds the stream's next bytes to a buffer.
func copyGob(to *bytes.Buffer, in io.Reader, n int) error {
	to.Grow(n)
	room := to.AvailableBuffer()[:n]
	if _, err := io.ReadFull(in, room); err != nil {
		return noEOF(err)
	}
	to.Write(room)
	return nil
}

// head decodes one of net/rpc's headers.
func (m *gobMessages) head(value any) error {
	if err := m.await(); err != nil {
		return err
	}
	if m.left > maxGobHead {
		return fmt.Errorf("%w: a gob header of %d bytes; at most %d", ErrFrame, m.left, maxGobHead)
	}
	m.ready.Write(appendGobUint(nil, uint64(m.left)))
	if err := m.take(m.left); err != nil {
		return err
	}
	return m.decode(value)
}

// decode decodes the value that is ready.
func (m *gobMessages) decode(value any) error {
	err := m.dec.Decode(value)
	m.ready.Reset()
	return err
}

// skip passes over a value of any type.
func (m *gobMessages) skip() error {
	if err := m.await(); err != nil {
		return err
	}
	return m.leave()
}

// leave passes over what is left of the value under way.
func (m *gobMessages) leave() error {
	n, err := m.in.Discard(m.left)
	m.left -= n
	return noEOF(err)
}
