package metrics

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ErrCutShort is the error, within a message that names file and line, of a file
// that ends in the middle of a record, as an aborted run leaves it. Every record
// before it has been read.
var ErrCutShort = errors.New("record cut short at the end of the file")

// maxLineBytes is far above the longest record, a histogram in which each of its
// 24,000 counters is in use (below 300 kB), or a config of long arguments.
const maxLineBytes = 16 << 20

// Reader reads what Writer wrote:
//
//	r := metrics.NewReader(name, file)
//	for r.Scan() {
//		use(r.Record())
//	}
//	if err := r.Err(); err != nil { ... }
//
// Fields that it does not know are passed over, so that files of later releases
// can be read. Not safe for concurrent use.
type Reader struct {
	name   string
	in     *bufio.Reader
	line   int
	record Record
	err    error
}

// NewReader returns a Reader of in; name is the file's name in errors.
func NewReader(name string, in io.Reader) *Reader {
	return &Reader{name: name, in: bufio.NewReader(in)}
}

// Scan reads the next record and reports whether there is one. It returns false
// at the end and at the first fault.
func (r *Reader) Scan() bool {
	if r.err != nil {
		return false
	}
	r.line++
	r.record = Record{}
	text, err := r.readLine()
	atEnd := err == io.EOF
	switch {
	case atEnd && len(text) == 0:
		r.err = io.EOF
		return false
	case err != nil && !atEnd:
		r.err = fmt.Errorf("%s:%d: %w", r.name, r.line, err)
		return false
	}
	if err := r.parse(text); err != nil {
		if atEnd {
			err = ErrCutShort
		}
		r.err = fmt.Errorf("%s:%d: %w", r.name, r.line, err)
	}
	return r.err == nil
}

// readLine returns the next line without its newline, and io.EOF with a last
// line that has none.
func (r *Reader) readLine() ([]byte, error) {
	var text []byte
	for {
		part, err := r.in.ReadSlice('\n')
		if len(text)+len(part) > maxLineBytes {
			return nil, fmt.Errorf("line longer than %d bytes", maxLineBytes)
		}
		text = append(text, part...)
		if err != bufio.ErrBufferFull {
			return bytes.TrimSuffix(text, []byte("\n")), err
		}
	}
}

func (r *Reader) parse(text []byte) error {
	if err := json.Unmarshal(text, &r.record); err != nil {
		return fmt.Errorf("not a record: %w", err)
	}
	return r.record.validate()
}

// Record returns the record that Scan read. It shares nothing with the next.
func (r *Reader) Record() Record { return r.record }

// Err returns the fault that ended the reading, nil at the plain end of the file.
func (r *Reader) Err() error {
	if r.err == io.EOF {
		return nil
	}
	return r.err
}
