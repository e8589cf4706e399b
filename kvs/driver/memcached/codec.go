package memcached

import (
	"bytes"
	"fmt"
	"strconv"

	"kvlab/kvs"
	"kvlab/kvs/driver"
)

// The limits of the protocol (doc/protocol.txt).
const (
	maxKey  = 250
	maxLine = 2048 // bytes of a line of a reply
)

// codec is the classic text protocol on a connection.
type codec struct {
	// distinct keeps a key from standing twice in a command. A reply leaves out the keys
	// that it does not find: of two equal ones it does not say which, if one was stored
	// or deleted in between.
	distinct bool
	exptime  int64 // seconds that a key lives; 0 for ever

	left int // operations of the command whose reply is being parsed that have no result yet; 0 between replies
}

// Append appends one command: a get of all keys of a run, a set or a delete.
func (c *codec) Append(dst []byte, ops []kvs.Op) (requests []byte, n int, err error) {
	if n = 1; ops[0].Kind == kvs.Get {
		n = c.run(ops)
	}
	for i := range ops[:n] {
		if err := checkKey(ops[i].Key); err != nil {
			return dst, 0, err
		}
	}
	switch op := &ops[0]; op.Kind {
	case kvs.Get:
		dst = append(dst, "get"...)
		for i := range ops[:n] {
			dst = append(append(dst, ' '), ops[i].Key...)
		}
	case kvs.Delete:
		dst = append(append(dst, "delete "...), op.Key...)
	default:
		dst = append(append(dst, "set "...), op.Key...)
		dst = strconv.AppendInt(append(dst, " 0 "...), c.exptime, 10)
		dst = strconv.AppendInt(append(dst, ' '), int64(len(op.Value)), 10)
		dst = append(append(dst, "\r\n"...), op.Value...)
	}
	return append(dst, "\r\n"...), n, nil
}

// checkKey refuses a key that the protocol cannot carry.
func checkKey(key []byte) error {
	ok := len(key) <= maxKey
	for _, b := range key {
		ok = ok && b > ' ' && b != 0x7f
	}
	if !ok {
		return fmt.Errorf("key %.40q of %d bytes: memcached takes at most %d, without spaces and control characters", key, len(key), maxKey)
	}
	return nil
}

// run returns the number of Gets at the start of ops that one command carries.
func (c *codec) run(ops []kvs.Op) int {
	var seen [16]uint64 // a bit for each of 1024 hash values
	for i := range ops {
		if ops[i].Kind != kvs.Get {
			return i
		}
		if !c.distinct {
			continue
		}
		h := uint32(len(ops[i].Key))
		for _, b := range ops[i].Key {
			h = (h ^ uint32(b)) * 16777619 // FNV-1a's prime
		}
		h >>= 22
		if seen[h/64]&(1<<(h%64)) != 0 {
			return i
		}
		seen[h/64] |= 1 << (h % 64)
	}
	return len(ops)
}

// Parse parses replies.
func (c *codec) Parse(buf []byte, ops []kvs.Op, reply *kvs.Reply) (size, n int, err error) {
	for n < len(ops) {
		line, length, err := lineAt(buf[size:])
		if length == 0 {
			return size, n, err
		}
		kind := ops[n].Kind
		switch text := string(line); {
		case kind == kvs.Get:
			taken, answered, err := c.parseGet(buf[size:], line, ops[n:], reply)
			size, n = size+taken, n+answered
			if err != nil || taken == 0 {
				return size, n, err
			}
			continue
		case text == "STORED" && kind.Writes():
			reply.Stored()
		case text == "DELETED" && kind == kvs.Delete:
			reply.Removed()
		case text == "NOT_FOUND" && kind == kvs.Delete:
			reply.Missing()
		default:
			return size + length, n + 1, failure(kind, line)
		}
		size, n = size+length, n+1
	}
	return size, n, nil
}

// lineAt returns the line at the start of buf without its end, and its length with it; 0
// if it is not complete.
func lineAt(buf []byte) (line []byte, length int, err error) {
	i := bytes.IndexByte(buf[:min(len(buf), maxLine)], '\n')
	switch {
	case i < 0 && len(buf) < maxLine:
		return nil, 0, nil
	case i < 1 || buf[i-1] != '\r':
		return nil, 0, fmt.Errorf("%w reply: want a line of at most %d bytes: %.40q", kvs.ErrMalformed, maxLine, buf)
	}
	return buf[:i-1], i + 1, nil
}

const end = "END\r\n"

// parseGet parses a value, or the end, of the reply to a get, which begins with line.
func (c *codec) parseGet(buf, line []byte, ops []kvs.Op, reply *kvs.Reply) (size, n int, err error) {
	if c.left == 0 {
		c.left = c.run(ops)
	}
	rest, isValue := bytes.CutPrefix(line, []byte("VALUE "))
	switch {
	case string(line) == end[:len(end)-2]:
		for range c.left {
			reply.Missing()
		}
		n, c.left = c.left, 0
		return len(end), n, nil
	case !isValue:
		n, c.left = c.left, 0
		return len(line) + 2, n, failure(kvs.Get, line)
	}
	key, rest, _ := bytes.Cut(rest, []byte(" "))
	length, err := valueLength(rest)
	missing := 0
	for missing < c.left && !bytes.Equal(ops[missing].Key, key) {
		missing++
	}
	if err != nil || missing == c.left {
		return 0, 0, fmt.Errorf("%w reply to a get: %.300q", kvs.ErrMalformed, line)
	}
	from := len(line) + 2
	if size = from + length + 2; len(buf) < size {
		return 0, 0, nil
	}
	if buf[size-2] != '\r' || buf[size-1] != '\n' {
		return 0, 0, fmt.Errorf("%w reply to a get: %d bytes do not end its value: %.300q", kvs.ErrMalformed, length, line)
	}
	if n = missing + 1; n == c.left { // the last has its result when the end is there
		switch after := buf[size:]; {
		case len(after) < len(end) && string(after) == end[:len(after)]:
			return 0, 0, nil
		case len(after) < len(end) || string(after[:len(end)]) != end:
			return 0, 0, fmt.Errorf("%w reply to a get: more than its keys: %.40q", kvs.ErrMalformed, after)
		}
		size += len(end)
	}
	for range missing {
		reply.Missing()
	}
	reply.Found(buf[from : from+length])
	c.left -= n
	return size, n, nil
}

// valueLength parses what follows the key of a value: its flags and its length.
func valueLength(text []byte) (n int, err error) {
	_, digits, _ := bytes.Cut(text, []byte(" "))
	if len(digits) == 0 || len(digits) > 9 {
		return 0, kvs.ErrMalformed
	}
	for _, digit := range digits {
		if digit < '0' || digit > '9' {
			return 0, kvs.ErrMalformed
		}
		n = 10*n + int(digit-'0')
	}
	if n > kvs.MaxValueLen {
		return 0, kvs.ErrMalformed
	}
	return n, nil
}

// notStored are the errors of a set that stores nothing, but deletes the key's old value
// (process_update_command in proto_text.c).
var notStored = []string{"SERVER_ERROR object too large for cache", "SERVER_ERROR out of memory storing object"}

// failure returns the error of an operation. Only SERVER_ERROR leaves the connection in
// step: after another, the data of a set may be read as a command.
func failure(kind kvs.Kind, line []byte) error {
	text := string(line)
	if !bytes.HasPrefix(line, []byte("SERVER_ERROR ")) {
		return fmt.Errorf("%w reply to a %s: %.80q", kvs.ErrMalformed, kind, text)
	}
	effect := driver.Unknown
	switch {
	case kind == kvs.Get:
		effect = driver.NotApplied
	case text == notStored[0], text == notStored[1]:
		effect, text = driver.NotApplied, text+"; it deletes the old value"
	}
	return &driver.OpError{Kind: kind, Effect: effect, Text: text}
}
