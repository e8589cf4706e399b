package resp

import (
	"strconv"
	"time"

	"kvlab/kvs"
)

// requests are the commands of the kinds of operation: what precedes the key, and what
// follows key and value. A kind without a command is empty.
var requests = [kvs.Kinds]struct{ head, tail string }{
	kvs.Get:             {head: "*2\r\n$3\r\nGET\r\n"},
	kvs.Put:             {head: "*3\r\n$3\r\nSET\r\n"},
	kvs.ReadModifyWrite: {head: "*4\r\n$3\r\nSET\r\n", tail: "$3\r\nGET\r\n"},
	kvs.Insert:          {head: "*3\r\n$3\r\nSET\r\n"},
	kvs.Delete:          {head: "*2\r\n$3\r\nDEL\r\n"},
}

// Has reports whether a kind of operation has a command.
func Has(kind kvs.Kind) bool { return kind < kvs.Kinds && requests[kind].head != "" }

// AppendOp appends the command of an operation, whose kind Has one: GET, SET, SET with GET
// (Redis 6.2) for a ReadModifyWrite, or DEL. A SET has the words of an Expiry, if there are any.
func AppendOp(dst []byte, op *kvs.Op, expiry string) []byte {
	request, at := &requests[op.Kind], len(dst)
	dst = AppendBulk(append(dst, request.head...), op.Key)
	if !op.Kind.Carries() {
		return dst
	}
	dst = append(AppendBulk(dst, op.Value), request.tail...)
	if expiry != "" {
		dst[at+len("*")] += 2 // words
		dst = append(dst, expiry...)
	}
	return dst
}

// Expiry returns the words with which a SET lets its key expire: PX and the milliseconds; none
// for 0.
func Expiry(ttl time.Duration) string {
	if ttl == 0 {
		return ""
	}
	return string(AppendBulk(AppendBulk(nil, "PX"), strconv.FormatInt(ttl.Milliseconds(), 10)))
}

// AppendCommand appends a command and its arguments.
func AppendCommand(dst []byte, words ...string) []byte {
	dst = AppendHead(dst, Array, int64(len(words)))
	for _, word := range words {
		dst = AppendBulk(dst, word)
	}
	return dst
}
