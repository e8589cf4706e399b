// Package enginetest is the engines' test suite:
//
//	conformance  single operations, compared with the contract
//	random       long random lists, compared with a plain map
//	concurrent   many goroutines: no torn or foreign value, no lost exchange
//	snapshot     scans beside a writer: each sees the keys as they were at one moment
//	linear       recorded histories, checked by porcupine
//	versions     of values, compared with a model that knows every write
package enginetest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"kvlab/internal/kvstest"
	"kvlab/kvs"
)

// Run tests an engine that has all kinds but those that it lacks. Each call of open returns
// a new, empty one.
func Run(t *testing.T, lacks []kvs.Kind, open func() kvs.Engine) {
	var kinds, points []kvs.Kind // that the engine has, and those of them on one key
	for kind := range kvs.Kind(kvs.Kinds) {
		if slices.Contains(lacks, kind) {
			continue
		}
		kinds = append(kinds, kind)
		if !kind.Scans() {
			points = append(points, kind)
		}
	}
	t.Run("conformance", func(t *testing.T) { testConformance(t, kinds, open) })
	t.Run("borrowed", func(t *testing.T) { testBorrowed(t, open) })
	t.Run("random", func(t *testing.T) { testRandom(t, kinds, open) })
	t.Run("concurrent", func(t *testing.T) { testConcurrent(t, points, open()) })
	t.Run("exchange", func(t *testing.T) { testExchange(t, open()) })
	t.Run("linear", func(t *testing.T) { testLinear(t, points, open) })
	if len(kinds) > len(points) {
		t.Run("snapshot", func(t *testing.T) { testSnapshot(t, open()) })
		t.Run("linear scans", func(t *testing.T) { testLinearScans(t, kinds, open) })
	}
}

// op is an operation that shares no memory with others. The value of a scan is its limit;
// a Get and a Delete ignore it.
type op struct {
	kind       kvs.Kind
	key, value string
}

func get(key string) op           { return op{kind: kvs.Get, key: key} }
func put(key, value string) op    { return op{kind: kvs.Put, key: key, value: value} }
func modify(key, value string) op { return op{kind: kvs.ReadModifyWrite, key: key, value: value} }
func insert(key, value string) op { return op{kind: kvs.Insert, key: key, value: value} }
func remove(key string) op        { return op{kind: kvs.Delete, key: key} }

func scan(key string, limit int) op {
	return op{kind: kvs.Scan, key: key, value: string(binary.AppendUvarint(nil, uint64(limit)))}
}

// outcome is a result that shares no memory with others. The zero outcome is that of a
// read or a Delete of a missing key.
type outcome struct {
	stored bool // the operation did not read, or removed its key
	found  bool // it read a value, or scanned
	value  string
}

var (
	stored  = outcome{stored: true}
	missing = outcome{}
)

func (o outcome) String() string {
	switch {
	case o.found:
		return fmt.Sprintf("found %.60q (%d bytes)", o.value, len(o.value))
	case o.stored:
		return "stored"
	}
	return "missing"
}

func found(value string) outcome { return outcome{found: true, value: value} }

// scribble is as long as the longest value.
var scribble = bytes.Repeat([]byte{0xa5}, kvs.MaxValueLen)

// apply executes ops in one Apply and returns their results. The reply of an even number of
// operations sends a repeated value once. It overwrites the operations'
// memory afterwards, so that later reads detect an engine that kept a part of it. It
// reports failures with Errorf, because goroutines call it.
func apply(t testing.TB, e kvs.Engine, ops ...op) []outcome {
	t.Helper()
	lent := make([]kvs.Op, len(ops))
	for i, o := range ops {
		lent[i] = kvs.Op{Kind: o.kind, Key: []byte(o.key)}
		if o.kind.Carries() {
			lent[i].Value = []byte(o.value)
		}
	}
	var reply kvs.Reply
	reply.Reset()
	if len(ops)%2 == 0 {
		reply.Dedup(len(ops))
		defer reply.EndDedup()
	}
	e.Apply(lent, &reply)
	for _, o := range lent {
		copy(o.Key, scribble)
		copy(o.Value, scribble)
	}
	clear(lent)
	all := make([]outcome, len(ops))
	results, err := kvstest.DecodeReply(&reply)
	if err != nil || len(results) != len(ops) {
		t.Errorf("%d results of %d operations: %v", len(results), len(ops), err)
		return all
	}
	for i, r := range results {
		all[i] = outcome{!r.Read, r.Found, string(r.Value)}
	}
	reply.Free()
	return all
}
