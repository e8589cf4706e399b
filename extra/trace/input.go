package trace

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/klauspost/compress/zstd"

	"kvlab/workload/trace"
)

// reader reads an input's records.
type reader struct {
	b         *trace.Builder
	size      int // bytes of a value whose size the input does not tell
	putOnly   bool
	noDeletes bool
	texts     bool
	columns   []string
	first     uint64 // the time of the first record, in ticks
	firstSet  bool
	tick      uint32
}

// layout is a format of inputs.
type layout struct {
	record int   // bytes of a record; 0 for lines
	tickNs int64 // the unit of its times; 0 without any
	add    func(*reader, []byte) error
}

var formats = map[string]layout{
	"twitter": {tickNs: 1e9, add: (*reader).twitter},
	"meta":    {tickNs: 1e9, add: (*reader).meta},
	"oracle":  {tickNs: 1e9, record: 24, add: (*reader).oracle},
	"monitor": {tickNs: 1e5, add: (*reader).monitor},
	"txt":     {add: (*reader).txt},
}

func formatNames() []string { return slices.Sorted(maps.Keys(formats)) }

// longestLine is the most bytes of a line: a MONITOR line has a value of 1 MiB, escaped.
const longestLine = 8 << 20

// compile compiles an input into a file. cut says what was left out at the input's end, if
// that is cut off. Errors name the input and the number of the line or record.
func compile(input io.Reader, name, format, out string, r reader) (head trace.Header, cut string, err error) {
	f := formats[format]
	digest := sha256.New()
	raw := io.TeeReader(input, digest)
	text, err := decompress(raw)
	if err != nil {
		return head, "", fmt.Errorf("%s: %w", name, err)
	}
	b, err := trace.Create(out, format, f.tickNs)
	if err != nil {
		return head, "", fmt.Errorf("-o %w", err)
	}
	defer b.Abort()
	r.b, b.PutOnly, b.NoDeletes, b.Texts = b, r.putOnly, r.noDeletes, r.texts
	unit := "line"
	if f.record > 0 {
		unit = "record"
	}
	lines := bufio.NewReaderSize(text, 1<<20)
	for number, blank := 1, false; ; number++ {
		record, whole, err := next(lines, f.record)
		if errors.Is(err, io.EOF) {
			break
		}
		if blank {
			return head, "", fmt.Errorf("%s: line %d is empty", name, number-1)
		}
		if blank = err == nil && len(record) == 0; blank { // the last line may be empty
			continue
		}
		if err == nil {
			err = f.add(&r, record)
		}
		if err != nil && !whole && record != nil {
			cut = fmt.Sprintf("%s: %s %d is cut off, and left out", name, unit, number)
			break
		}
		if err != nil {
			return head, "", fmt.Errorf("%s: %s %d: %w", name, unit, number, err)
		}
	}
	if _, err := io.Copy(io.Discard, raw); err != nil {
		return head, "", err
	}
	if head, err = b.Close(hex.EncodeToString(digest.Sum(nil))); err != nil {
		return head, "", fmt.Errorf("%s: %w", name, err)
	}
	return head, cut, nil
}

// decompress returns what an input holds, by the bytes with which it begins.
func decompress(raw io.Reader) (io.Reader, error) {
	begins := bufio.NewReaderSize(raw, 1<<20)
	magic, _ := begins.Peek(4)
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		return gzip.NewReader(begins)
	case bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(begins, zstd.WithDecoderMaxMemory(4<<30))
		return z, err
	}
	return begins, nil
}

// next returns the next record, or line without its end, and whether it is whole: a line that
// has its end. The record is valid until the next call. The error is io.EOF at the end.
func next(r *bufio.Reader, size int) (record []byte, whole bool, err error) {
	if size > 0 {
		record = make([]byte, size)
		n, err := io.ReadFull(r, record)
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return record[:n], false, errors.New("it is cut off")
		}
		return record, true, err
	}
	line, err := r.ReadSlice('\n')
	for long := []byte(nil); errors.Is(err, bufio.ErrBufferFull); {
		if long = append(long, line...); len(long) > longestLine {
			return nil, true, fmt.Errorf("a line of more than %d bytes", longestLine)
		}
		line, err = r.ReadSlice('\n')
		if !errors.Is(err, bufio.ErrBufferFull) {
			line = append(long, line...)
		}
	}
	if err != nil && (!errors.Is(err, io.EOF) || len(line) == 0) {
		return nil, true, err
	}
	line, whole = bytes.CutSuffix(line, []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r")), whole, nil
}

// at sets the tick of the next operation from a time in ticks.
func (r *reader) at(ticks uint64) error {
	if !r.firstSet {
		r.first, r.firstSet = ticks, true
	}
	since := ticks - min(r.first, ticks)
	if since>>32 > 0 {
		return fmt.Errorf("a time %d units after the first: want less than 2^32", since)
	}
	r.tick = uint32(since)
	return nil
}

// number reads a decimal number up to a limit.
func number(what string, text []byte, most uint64) (n uint64, err error) {
	for _, c := range text {
		if c < '0' || c > '9' || n > most {
			return 0, fmt.Errorf("%s %q: want a number up to %d", what, text, most)
		}
		n = 10*n + uint64(c-'0')
	}
	if len(text) == 0 || n > most {
		return 0, fmt.Errorf("%s %q: want a number up to %d", what, text, most)
	}
	return n, nil
}
