package wire

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"fmt"
	"io"
)

// gobMessages stands between a connection and gob, which trusts what it reads:
// it caps a message at 8 GiB only, and an operation that takes one byte of a
// message takes 40 of memory. Here messages come whole before gob sees them, and
// the operations of a large one are counted first.
//
// A gob stream is messages, each behind its length; each begins with a type
// number, which is negative where the message defines a type (the package's
// documentation, "Encoding Details").
type gobMessages struct {
	in          *bufio.Reader
	ready       bytes.Buffer // whole messages, for the decoder
	dec         *gob.Decoder // reads from ready
	definitions []byte       // messages that define types, as they came
	limits      Limits
}

// maxDefinitions is how many bytes of type definitions a connection may send;
// those of a batch take some 200.
const maxDefinitions = 16 << 10

func newGobMessages(in io.Reader, limits Limits) *gobMessages {
	m := &gobMessages{in: bufio.NewReaderSize(in, 64<<10), limits: limits}
	m.dec = gob.NewDecoder(&m.ready)
	return m
}

// decode reads one value, with the definitions before it; nil skips it.
func (m *gobMessages) decode(value any) error {
	m.ready.Reset()
	for {
		start := m.ready.Len()
		at, err := m.take()
		if err != nil {
			return err
		}
		message := m.ready.Bytes()[start:]
		if !definesType(message[at:]) {
			if err := m.check(value, message); err != nil {
				return err
			}
			err := m.dec.Decode(value)
			if m.ready.Cap() > unseen*seenTimes {
				m.ready = bytes.Buffer{} // the decoder has a copy of its own
			}
			return err
		}
		if m.definitions = append(m.definitions, message...); len(m.definitions) > maxDefinitions {
			return fmt.Errorf("%w: over %d bytes of gob type definitions", ErrFrame, maxDefinitions)
		}
	}
}

// take appends the next message to ready, behind its length, and returns how
// many bytes that has. An io.EOF is the stream's orderly end.
func (m *gobMessages) take() (at int, err error) {
	first, err := m.in.Peek(1)
	if err != nil {
		return 0, err
	}
	at = 1 + gobMore(first[0])
	if at > 9 {
		return 0, fmt.Errorf("%w: a gob length that begins with %02x", ErrFrame, first[0])
	}
	length, err := m.in.Peek(at)
	if err != nil {
		return 0, noEOF(err)
	}
	size := gobUint(length)
	if size == 0 || size > MaxBody {
		return 0, fmt.Errorf("%w: a gob message of %d bytes; at most %d", ErrFrame, size, MaxBody)
	}
	return at, m.copy(at + int(size))
}

// copy appends so many bytes to ready, and takes memory for them as they come; see
// unseen.
func (m *gobMessages) copy(size int) error {
	for step := unseen; size > 0; step = (seenTimes - 1) * m.ready.Len() {
		step = min(step, size)
		m.ready.Grow(step)
		if _, err := io.ReadFull(m.in, m.ready.AvailableBuffer()[:step]); err != nil {
			return noEOF(err)
		}
		m.ready.Write(m.ready.AvailableBuffer()[:step])
		size -= step
	}
	return nil
}

// check holds a message, of a value that is due, against the limits. As each
// operation takes a byte, a small message cannot hold too many.
func (m *gobMessages) check(value any, message []byte) error {
	if _, ok := value.(*gobBatch); !ok {
		return nil
	}
	if err := m.limits.check(len(message), 0); err != nil || m.limits.Batch == 0 || len(message) <= m.limits.Batch {
		return err
	}
	var shape struct{ Ops []struct{ Kind uint8 } } // a byte of memory for each
	again := io.MultiReader(bytes.NewReader(m.definitions), bytes.NewReader(message))
	if err := gob.NewDecoder(again).Decode(&shape); err != nil {
		return fmt.Errorf("count a batch's operations: %w", err)
	}
	return m.limits.check(len(message), len(shape.Ops))
}

// gobMore is how many bytes of an unsigned number follow its first.
func gobMore(first byte) int {
	if first < 0x80 {
		return 0
	}
	return -int(int8(first))
}

// gobUint is an unsigned number of at most 9 bytes.
func gobUint(b []byte) uint64 {
	if len(b) == 1 {
		return uint64(b[0])
	}
	var wide [8]byte
	copy(wide[8-len(b[1:]):], b[1:])
	return binary.BigEndian.Uint64(wide[:])
}

// definesType reports whether a message's type number is negative: the lowest
// bit of a signed number's unsigned form is its sign.
func definesType(message []byte) bool {
	more := gobMore(message[0])
	return more < len(message) && message[more]&1 == 1
}
