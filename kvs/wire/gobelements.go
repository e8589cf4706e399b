package wire

import (
	"errors"
	"fmt"
	"io"

	"kvlab/kvs"
)

// How much of a batch or a reply is decoded or encoded at a time.
const (
	gobPiece      = 128 << 10 // bytes
	gobElements   = 4096
	maxGobElement = kvs.MaxValueLen + 4<<10 // bytes of one operation or result
)

// gobWalk is one value on its way in: a struct with a slice of structs.
type gobWalk struct {
	*gobMessages
	number  uint64 // of the value's type
	decoded bool   // a piece at least
	value   any
	use     func() error
}

// elements decodes a value that is a struct with a slice of structs, of which it
// takes some at a time into value, and calls use for them, which empties it: the next
// ones are decoded over what it leaves.
func (m *gobMessages) elements(value any, use func() error) error {
	if err := m.await(); err != nil {
		return err
	}
	m.some.Reset()
	w := gobWalk{gobMessages: m, value: value, use: use}
	err := m.limits.check(w.size, 0)
	if err == nil {
		err = w.walk()
	}
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.Join(err, m.leave()) // else the error's way to the other side would be cut by a reset
	}
	return err
}

// walk reads the struct around the slice.
func (w *gobWalk) walk() error {
	var err error
	if w.number, err = w.uint(); err != nil {
		return err
	}
	id := gobType(w.number >> 1) // a signed number
	fields, ok := w.types.structs[id]
	if !ok {
		return fmt.Errorf("%w gob: a value of type %d, which is no struct", kvs.ErrMalformed, id)
	}
	for field := -1; ; {
		delta, err := w.uint()
		if err != nil {
			return err
		}
		if delta == 0 {
			return w.end()
		}
		if field, err = gobField(field, delta, fields); err != nil {
			return err
		}
		if elements, ok := w.types.elements(fields[field]); ok && !w.decoded {
			err = w.slice(field, elements)
		} else {
			err = w.pass(fields[field])
		}
		if err != nil {
			return err
		}
	}
}

// end has gob see a value whose slice is empty too, and the definitions before it.
func (w *gobWalk) end() error {
	if behind := w.some.Len() + w.left; behind > 0 {
		return fmt.Errorf("%w gob: %d bytes behind the value", kvs.ErrMalformed, behind)
	}
	if w.decoded {
		return nil
	}
	return w.piece(nil, nil)
}

// uint reads a number.
func (w *gobWalk) uint() (uint64, error) {
	for {
		number, n := gobUint(w.some.Bytes())
		if n > 0 {
			w.some.Next(n)
			return number, nil
		}
		_, err := gobLen(n, n)
		if err == nil {
			err = w.more()
		}
		if err != nil {
			return 0, err
		}
	}
}

// pass passes over a field of the outer struct.
func (w *gobWalk) pass(t gobType) error {
	for {
		n, err := gobFieldLen(w.some.Bytes(), t)
		if n != 0 || err != nil {
			w.some.Next(n)
			return err
		}
		if err := w.more(); err != nil {
			return err
		}
	}
}

// more reads further, up to a piece, or if what is there already begins with a
// longer element, as much again.
func (w *gobWalk) more() error {
	here := w.some.Len()
	switch {
	case w.left == 0:
		return fmt.Errorf("%w gob: the value breaks off", kvs.ErrMalformed)
	case here > maxGobElement:
		return fmt.Errorf("%w gob: an operation or a result of more than %d bytes", kvs.ErrMalformed, maxGobElement)
	}
	n := gobPiece - here
	if n <= 0 {
		n = here
	}
	n = min(n, w.left)
	w.left -= n
	return copyGob(&w.some, w.in, n)
}

// slice decodes the elements of a slice. Each piece is a value of its own, of the
// same type, with nothing but the slice.
func (w *gobWalk) slice(field int, fields []gobType) error {
	count, err := w.uint()
	if err != nil {
		return err
	}
	if here := w.some.Len() + w.left; count > uint64(here) {
		return fmt.Errorf("%w gob: %d elements in %d bytes", kvs.ErrMalformed, count, here)
	}
	if err := w.limits.check(w.size, int(count)); err != nil {
		return err
	}
	for left := int(count); left > 0; {
		size, whole, err := w.whole(fields, left)
		switch {
		case err != nil:
		case whole == 0:
			err = w.more()
		default:
			left -= whole
			before := appendGobUint(appendGobUint(nil, uint64(field+1)), uint64(whole))
			err = w.piece(before, w.some.Next(size))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// whole is how many of the next elements are here and make a piece, and how many
// bytes they take.
func (w *gobWalk) whole(fields []gobType, left int) (size, whole int, err error) {
	for here := w.some.Bytes(); whole < min(left, gobElements) && size < gobPiece; whole++ {
		n, err := gobStructLen(here[size:], fields)
		if err != nil {
			return 0, 0, err
		}
		if n == 0 {
			break
		}
		size += n
	}
	return size, whole, nil
}

// piece decodes a struct of the value's type, with the elements and what stands
// before them.
func (w *gobWalk) piece(before, elements []byte) error {
	w.decoded = true
	before = append(appendGobUint(nil, w.number), before...)
	w.ready.Write(appendGobUint(nil, uint64(len(before)+len(elements)+1)))
	w.ready.Write(before)
	w.ready.Write(elements)
	w.ready.WriteByte(0) // the struct's end
	if err := w.decode(w.value); err != nil {
		return err
	}
	return w.use()
}
