// Package resp is RESP2, the protocol of Redis, as its clients and its servers use it
// (https://redis.io/docs/latest/develop/reference/protocol-spec). A driver of a Redis
// appends operations and parses replies.
//
// Everything is parsed in place, and a parser that lacks bytes returns size 0: its caller
// reads more and calls it again.
package resp

import (
	"errors"
	"fmt"
	"strconv"
)

// ErrProtocol is wrapped by the errors of a parser: the bytes are no RESP, or over a limit.
var ErrProtocol = errors.New("RESP protocol error")

// The limits of what is parsed.
const (
	MaxLine   = 64 << 10 // bytes of a line, as in Redis
	maxDigits = 18       // of a number
)

// The types of values, which are their first bytes.
const (
	Simple  = '+' // a line of text
	Error   = '-' // a line: a code, a space and a text
	Integer = ':'
	Bulk    = '$' // a string with its length, or null
	Array   = '*' // its length; its elements follow
)

// AppendHead appends a value's type and a number or length.
func AppendHead(dst []byte, kind byte, n int64) []byte {
	dst = strconv.AppendInt(append(dst, kind), n, 10)
	return append(dst, '\r', '\n')
}

// AppendBulk appends a string with its length.
func AppendBulk[S string | []byte](dst []byte, s S) []byte {
	dst = append(AppendHead(dst, Bulk, int64(len(s))), s...)
	return append(dst, '\r', '\n')
}

// Head parses a type, which it does not look at, and the number after it. size is the
// length of their line, or 0 if buf does not hold it all.
func Head(buf []byte) (n int64, size int, err error) {
	first := 1
	if len(buf) > 1 && buf[1] == '-' {
		first = 2
	}
	i := first
	for ; i < len(buf); i++ {
		digit := buf[i] - '0'
		if digit > 9 {
			break
		}
		if i-first == maxDigits {
			return 0, 0, fmt.Errorf("%w: a number of more than %d digits", ErrProtocol, maxDigits)
		}
		n = n*10 + int64(digit)
	}
	switch {
	case i < len(buf) && (i == first || buf[i] != '\r'), i+1 < len(buf) && buf[i+1] != '\n':
		return 0, 0, fmt.Errorf("%w: want a number and \\r\\n: %.20q", ErrProtocol, buf)
	case i+1 >= len(buf):
		return 0, 0, nil
	case first == 2:
		n = -n
	}
	return n, i + 2, nil
}

// BulkAt parses a string of n bytes, at most limit, and the \r\n after it, which begin at
// buf[at]. size is where they end, or 0 if buf does not hold them all.
func BulkAt(buf []byte, at int, n int64, limit int) (text []byte, size int, err error) {
	if n < 0 || n > int64(limit) {
		return nil, 0, fmt.Errorf("%w: a string of %d bytes, want 0 to %d", ErrProtocol, n, limit)
	}
	end := at + int(n)
	if len(buf) < end+2 {
		return nil, 0, nil
	}
	if buf[end] != '\r' || buf[end+1] != '\n' {
		return nil, 0, fmt.Errorf("%w: a string of %d bytes does not end with \\r\\n", ErrProtocol, n)
	}
	return buf[at:end:end], end + 2, nil
}
