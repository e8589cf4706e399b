package wire

import (
	"bufio"
	"bytes"
	"encoding/gob"

	"kvlab/kvs"
)

// gobResults writes replies. Gob makes a message in one piece of memory, which it
// keeps, and which grows by copying; so it is given some results at a time, and
// what it makes of them is put together to one message.
type gobResults struct {
	text bytes.Buffer
	enc  *gob.Encoder // to text
	some gobReply
}

func newGobResults() *gobResults {
	r := new(gobResults)
	r.enc = gob.NewEncoder(&r.text)
	return r
}

// write sends a reply. A reply of one piece is as gob makes it.
func (r *gobResults) write(out *bufio.Writer, reply *kvs.Reply) error {
	results := reply.Results()
	left, err := r.encode(&results, reply.Len())
	if err != nil {
		return err
	}
	if left == 0 {
		_, err := out.Write(r.text.Bytes())
		return err
	}
	definitions, first := gobSplit(r.text.Bytes())
	if _, err := out.Write(definitions); err != nil {
		return err
	}
	prefix := bytes.Clone(first.prefix)
	pieces := [][]byte{bytes.Clone(first.elements)}
	size := len(first.elements)
	for left > 0 {
		if left, err = r.encode(&results, left); err != nil {
			return err
		}
		_, next := gobSplit(r.text.Bytes())
		pieces = append(pieces, bytes.Clone(next.elements))
		size += len(next.elements)
	}
	prefix = appendGobUint(prefix, uint64(reply.Len()))
	out.Write(appendGobUint(nil, uint64(len(prefix)+size+1)))
	out.Write(prefix)
	for _, piece := range pieces {
		out.Write(piece)
	}
	return out.WriteByte(0) // the struct's end; a bufio.Writer keeps its first error
}

// encode makes text of some of the results that are left, and returns how many are
// left then.
func (r *gobResults) encode(results *kvs.Results, left int) (int, error) {
	r.text.Reset()
	r.some.Results = r.some.Results[:0]
	for size := 0; left > 0 && len(r.some.Results) < gobElements && size < gobPiece; left-- {
		result, err := results.Next()
		if err != nil {
			return 0, err
		}
		r.some.Results = append(r.some.Results, gobResult{Value: string(result.Value), Found: result.Found, Read: result.Read})
		size += len(result.Value)
	}
	err := r.enc.Encode(r.some)
	clear(r.some.Results) // or the values would stay
	return left, err
}

// gobParts are a message with a struct that has a slice alone, which is not empty.
type gobParts struct {
	prefix   []byte // the numbers of the type and the field
	elements []byte // behind their number, and before the struct's end
}

// gobSplit takes apart what gob has encoded.
func gobSplit(text []byte) (definitions []byte, value gobParts) {
	at := 0
	for {
		length, n := gobUint(text[at:])
		number, m := gobUint(text[at+n:])
		if number&1 == 0 {
			definitions, text = text[:at], text[at+n:]
			value.prefix = text[:m+1]
			break
		}
		at += n + int(length)
	}
	rest := text[len(value.prefix):]
	_, n := gobUint(rest)
	value.elements = rest[n : len(rest)-1]
	return definitions, value
}
