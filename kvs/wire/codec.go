package wire

import (
	"cmp"
	"fmt"
	"net"
	"net/rpc"
	"slices"
	"time"

	"kvlab/internal/cli"
	"kvlab/kvs"
)

// Codec describes how calls and replies are encoded on a connection.
type Codec struct {
	name     string
	client   func(net.Conn, Features) rpc.ClientCodec
	server   func(net.Conn, Features, Limits) serverCodec
	supports Features
}

// Label returns the name, which says enough.
func (c Codec) Label() (name, description string) { return c.name, "" }

// codecs are the codecs that a program knows, the default first.
var codecs = []Codec{
	{"binary", newBinaryClient, newBinaryServer, Features{Dedup: true, CRC: true, Retry: true, Cache: true, Transactions: true}},
	MessageCodec("gob", newGobStream),
}

// Features are optional parts of the protocol that not every codec supports. The
// comments name the flags.
type Features struct {
	Dedup bool `json:"coalesce,omitempty"` // -dedup: a reply sends a repeated value once
	CRC   bool `json:"crc,omitempty"`      // -crc: every body has a checksum, both ways
	Retry bool `json:"retry,omitempty"`    // -retry: the client reconnects, and sends calls again
	Cache bool `json:"cache,omitempty"`    // -cache: batches are compact, and replies have versions

	Transactions bool `json:"txn,omitempty"` // -txn: batches of transactions too (kvs/transaction.go); not with Dedup or Cache
}

// Codecs are the codecs' names, the default first.
var Codecs = cli.Names(codecs)

// Link adds codecs to those that the program knows. A main calls it before anything else.
func Link(more ...[]Codec) {
	codecs = append(codecs, slices.Concat(more...)...)
	Codecs = cli.Names(codecs)
}

// codecNamed returns the row of codecs with a name that CheckCodec accepts.
func codecNamed(name string) Codec {
	c, _ := cli.Find("-codec", name, codecs)
	return c
}

// CheckCodec returns an error that names the flag unless the named codec exists and
// supports the features.
func CheckCodec(name string, features Features) error {
	c, err := cli.Find("-codec", name, codecs)
	check := func(flag string, used, supported bool) error {
		if used && !supported {
			return fmt.Errorf("%s: -codec %s does not support it; want -codec %s", flag, name, codecs[0].name)
		}
		return nil
	}
	return cmp.Or(err,
		check("-cache", features.Cache, c.supports.Cache), // before -dedup, which it includes
		check("-dedup", features.Dedup, c.supports.Dedup),
		check("-crc", features.CRC, c.supports.CRC),
		check("-retry", features.Retry, c.supports.Retry),
		check("-txn", features.Transactions, c.supports.Transactions))
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

	// empty reports whether no byte of another request is buffered. Then releaseBuffers may
	// be called, and acquireBuffers before any other use.
	empty() bool
	releaseBuffers()
	acquireBuffers()

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
