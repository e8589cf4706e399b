package wire

import (
	"bytes"
	"encoding/gob"
	"fmt"

	"kvlab/kvs"
)

// gobType is a type of gob's: what every stream has from the start, or what it
// has defined.
type gobType uint64

// The types that a field of an operation or a result may have, and that of
// definitions (the package's documentation, "Encoding Details").
const (
	gobBool gobType = 1 + iota
	gobInt
	gobUnsigned
	gobFloat
	gobBytes
	gobString
	gobComplex
	gobDefinition gobType = 16
)

// gobWire is how gob writes a definition: one of these is there. Gob refuses to
// pass over fields of types that it has by itself, so all of them are here.
type gobWire struct {
	ArrayT *struct {
		CommonType gobCommon
		Elem, Len  int
	}
	SliceT *struct {
		CommonType gobCommon
		Elem       int
	}
	StructT *struct {
		CommonType gobCommon
		Field      []gobCommon
	}
	MapT *struct {
		CommonType gobCommon
		Key, Elem  int
	}
	GobEncoderT, BinaryMarshalerT, TextMarshalerT *struct{ CommonType gobCommon }
}

type gobCommon struct {
	Name string
	Id   int
}

// gobTypes are the structs and slices that a stream has defined.
type gobTypes struct {
	text    bytes.Buffer
	dec     *gob.Decoder // of text
	structs map[gobType][]gobType
	slices  map[gobType]gobType
}

func newGobTypes() *gobTypes {
	t := &gobTypes{structs: map[gobType][]gobType{}, slices: map[gobType]gobType{}}
	t.dec = gob.NewDecoder(&t.text)
	return t
}

// define notes a definition. Gob reads it as any other value, of a type that it
// has by itself.
func (t *gobTypes) define(number uint64, definition []byte) error {
	var d gobWire
	t.text.Reset()
	t.text.Write(appendGobUint(nil, uint64(1+len(definition))))
	t.text.WriteByte(byte(gobDefinition << 1)) // as a signed number
	t.text.Write(definition)
	if err := t.dec.Decode(&d); err != nil {
		return fmt.Errorf("read a gob type's definition: %w", err)
	}
	switch id := gobType(number); {
	case d.SliceT != nil:
		t.slices[id] = gobType(d.SliceT.Elem)
	case d.StructT != nil:
		fields := make([]gobType, len(d.StructT.Field))
		for i, field := range d.StructT.Field {
			fields[i] = gobType(field.Id)
		}
		t.structs[id] = fields
	}
	return nil
}

// elements returns the fields of a slice's elements, if they are structs.
func (t *gobTypes) elements(slice gobType) (fields []gobType, ok bool) {
	element, ok := t.slices[slice]
	if !ok {
		return nil, false
	}
	fields, ok = t.structs[element]
	return fields, ok
}

// gobField is the number of the field that a struct sends delta behind another.
func gobField(field int, delta uint64, fields []gobType) (int, error) {
	if last := len(fields) - 1; delta > uint64(last-field) {
		return 0, fmt.Errorf("%w gob: field %d behind field %d of 0 to %d", kvs.ErrMalformed, delta, field, last)
	}
	return field + int(delta), nil
}

// gobStructLen is how many bytes a struct takes at the start of b, 0 when b
// breaks off.
func gobStructLen(b []byte, fields []gobType) (int, error) {
	for at, field := 0, -1; ; {
		delta, n := gobUint(b[at:])
		if n <= 0 || delta == 0 {
			return gobLen(at+n, n)
		}
		at += n
		var err error
		if field, err = gobField(field, delta, fields); err != nil {
			return 0, err
		}
		if n, err = gobFieldLen(b[at:], fields[field]); n == 0 {
			return 0, err
		}
		at += n
	}
}

// gobFieldLen is gobStructLen for a field.
func gobFieldLen(b []byte, t gobType) (int, error) {
	number, n := gobUint(b)
	switch {
	case n <= 0:
		return gobLen(0, n)
	case gobBool <= t && t <= gobFloat:
		return n, nil
	case t == gobComplex:
		_, more := gobUint(b[n:])
		return gobLen(n+more, more)
	case t != gobBytes && t != gobString:
		return 0, fmt.Errorf("%w gob: a field of type %d in place of a number, a truth value or a text", kvs.ErrMalformed, t)
	case number > maxGobElement:
		return 0, fmt.Errorf("%w gob: a text of %d bytes; at most %d", kvs.ErrMalformed, number, kvs.MaxValueLen)
	case number > uint64(len(b)-n):
		return 0, nil
	}
	return n + int(number), nil
}

// gobLen is a length that ends with a number, of which gobUint says last.
func gobLen(length, last int) (int, error) {
	switch {
	case last < 0:
		return 0, fmt.Errorf("%w gob: no number where one is due", kvs.ErrMalformed)
	case last == 0:
		return 0, nil
	}
	return length, nil
}
