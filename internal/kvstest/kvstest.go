// Package kvstest makes random operations and reads replies in tests.
package kvstest

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"kvlab/kvs"
)

// NewRandom prints its seed, so that a failure can be repeated.
func NewRandom(t testing.TB) *rand.Rand {
	const seed = 20261121
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// RandomBytes returns n bytes.
func RandomBytes(random *rand.Rand, n int) []byte {
	b := make([]byte, 0, n+8)
	for len(b) < n {
		b = binary.LittleEndian.AppendUint64(b, random.Uint64())
	}
	return b[:n]
}

// RandomOps returns n operations of the kinds below end, of all lengths; one value in 100 is
// long.
func RandomOps(random *rand.Rand, n int, end kvs.Kind) []kvs.Op {
	ops := make([]kvs.Op, n)
	for i := range ops {
		op := &ops[i]
		op.Kind = kvs.Kind(random.IntN(int(end)))
		op.Key = RandomBytes(random, 1+random.IntN(kvs.MaxKeyLen))
		if !op.Kind.Carries() {
			continue
		}
		if op.Kind.Scans() {
			op.Value = binary.AppendUvarint(nil, 1+random.Uint64N(kvs.MaxScan))
			continue
		}
		size := random.IntN(300)
		if random.IntN(100) == 0 {
			size = random.IntN(kvs.MaxValueLen + 1)
		}
		op.Value = RandomBytes(random, size)
	}
	return ops
}

// Fill appends ops to a batch, through each of the ways to do so.
func Fill(b *kvs.Batch, ops []kvs.Op) {
	for i, op := range ops {
		switch {
		case op.Kind == kvs.Get:
			b.Get(op.Key)
		case op.Kind == kvs.Delete:
			b.Delete(op.Key)
		case op.Kind.Scans() && i%3 == 0:
			b.Scan(op.Kind, op.Key, op.Limit())
		case i%2 == 0:
			b.Append(op.Kind, op.Key, op.Value)
		default:
			copy(b.Reserve(op.Kind, op.Key, len(op.Value)), op.Value)
		}
	}
}

// Received returns what a codec makes of the body of a batch that another process
// sent.
func Received(body []byte, n int) *kvs.Batch {
	var b kvs.Batch
	copy(b.Body(len(body), n), body)
	return &b
}

// DecodeReply reads the results that a reply says it has, and its end.
func DecodeReply(r *kvs.Reply) ([]kvs.Result, error) {
	var all []kvs.Result
	cursor := r.Results()
	for range r.Len() {
		result, err := cursor.Next()
		if err != nil {
			return all, err
		}
		all = append(all, result)
	}
	return all, cursor.End()
}
