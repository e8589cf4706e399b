package redis

import (
	"bytes"
	"fmt"
	"slices"

	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/kvs/driver/pipeline"
	"kvlab/kvs/resp"
)

// codec is RESP2 on a connection.
type codec struct {
	expiry string // see resp.Expiry
}

func (c codec) Append(dst []byte, ops []kvs.Op) (requests []byte, n int, err error) {
	for n < len(ops) && (n == 0 || len(dst) < pipeline.Chunk) {
		dst = resp.AppendOp(dst, &ops[n], c.expiry)
		n++
	}
	return dst, n, nil
}

func (codec) Parse(buf []byte, ops []kvs.Op, reply *kvs.Reply) (size, n int, err error) {
	for n < len(ops) {
		if text, length := resp.ParseString(buf[size:], kvs.MaxValueLen); length > 0 && ops[n].Kind.Reads() {
			reply.Found(text)
			size += length
			n++
			continue
		}
		v, length, err := resp.Parse(buf[size:], kvs.MaxValueLen)
		if length == 0 {
			return size, n, err
		}
		size += length
		kind := ops[n].Kind
		n++
		switch {
		case v.Type == resp.Bulk && kind.Reads(), v.Type == resp.Integer && kind == kvs.Delete && v.N == 0:
			reply.Missing()
		case v.Type == resp.Integer && kind == kvs.Delete && v.N == 1:
			reply.Removed()
		case v.Type == resp.Simple && kind.Writes() && !kind.Reads() && string(v.Text) == "OK":
			reply.Stored()
		case v.Type == resp.Error:
			return size, n, &driver.OpError{Kind: kind, Effect: effect(v.Text), Text: string(v.Text)}
		default:
			return size, n, fmt.Errorf("%w reply to a %s: %v", kvs.ErrMalformed, kind, v)
		}
	}
	return size, n, nil
}

// refusals are the codes of errors that Redis replies before it executes a command
// (processCommand in server.c), and WRONGTYPE, with which a command changes nothing.
var refusals = []string{"ASK", "BUSY", "CLUSTERDOWN", "CROSSSLOT", "LOADING", "MASTERDOWN", "MISCONF", "MOVED",
	"NOAUTH", "NOPERM", "NOREPLICAS", "OOM", "READONLY", "TRYAGAIN", "WRONGTYPE"}

// effect returns what an operation that was answered with an error did.
func effect(text []byte) driver.Effect {
	code, _, _ := bytes.Cut(text, []byte(" "))
	if slices.Contains(refusals, string(code)) {
		return driver.NotApplied
	}
	return driver.Unknown
}
