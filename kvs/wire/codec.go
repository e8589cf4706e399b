package wire

import (
	"fmt"
	"net"
	"net/rpc"
	"slices"
	"strings"
	"time"

	"kvlab/kvs"
	"kvlab/metrics/format"
)

// codec encodes calls and replies on a connection. A new codec is a file and a row
// of codecs.
type codec struct {
	name     string
	client   func(net.Conn, Features) rpc.ClientCodec
	server   func(net.Conn, Features, Limits) serverCodec
	supports Features
}

var codecs = []codec{
	{"binary", newBinaryClient, newBinaryServer, Features{Dedup: true, CRC: true, Retry: true}},
	{"gob", newGobClient, newGobServer, Features{}},
}

// Features are optional parts of the protocol that not every codec supports. The
// comments name the flags.
type Features struct {
	Dedup bool `json:"coalesce,omitempty"` // -dedup: a reply sends a repeated value once
	CRC   bool `json:"crc,omitempty"`      // -crc: every body has a checksum, both ways
	Retry bool `json:"retry,omitempty"`    // -retry: the client reconnects, and sends calls again
}

// Codecs are the codecs' names, the default first.
var Codecs = names(codecs)

func names(codecs []codec) (names []string) {
	for _, c := range codecs {
		names = append(names, c.name)
	}
	return names
}

// codecNamed returns the row of codecs with a name that CheckCodec accepts.
func codecNamed(name string) (c codec) {
	for _, c = range codecs {
		if c.name == name {
			break
		}
	}
	return c
}

// CheckCodec returns an error that names the flag unless the named codec exists and
// supports the features.
func CheckCodec(name string, features Features) error {
	c := codecNamed(name)
	if c.name != name {
		return fmt.Errorf("-codec %q: want one of %q%s", name, Codecs, format.DidYouMean(name, "", Codecs))
	}
	for _, f := range []struct {
		flag string
		in   func(Features) bool
	}{
		{"-dedup", func(f Features) bool { return f.Dedup }},
		{"-crc", func(f Features) bool { return f.CRC }},
		{"-retry", func(f Features) bool { return f.Retry }},
	} {
		if f.in(features) && !f.in(c.supports) {
			others := slices.DeleteFunc(slices.Clone(codecs), func(c codec) bool { return !f.in(c.supports) })
			return fmt.Errorf("%s: -codec %s does not support it; want -codec %s", f.flag, name, strings.Join(names(others), " or "))
		}
	}
	return nil
}

// serverCodec is a codec's server end. It belongs to one goroutine.
type serverCodec interface {
	// await waits for a request's first byte. io.EOF is the orderly end.
	await() error

	// read reads a request. Any error ends the connection. An error that the server
	// may send to the client is also in the request's Err.
	read(*Request) error

	// write sends the request's reply, or its Err if that is not nil.
	write(*Request) error

	Close() error
}

// Request is a call on the server's side. It may be reused for later calls.
type Request struct {
	Seq   uint64 // the call's number
	Batch kvs.Batch
	Reply kvs.Reply
	Err   error // sent in place of the reply unless nil

	arrived time.Duration // when the last byte arrived, by the codec's clock
}
