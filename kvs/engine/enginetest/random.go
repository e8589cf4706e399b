package enginetest

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"kvlab/internal/kvstest"
	"kvlab/kvs"
)

// step returns the operation's result, and the result of a Get after it; before is that
// of a Get before it.
func (o op) step(before outcome) (result, after outcome) {
	switch o.kind {
	case kvs.Get:
		return before, before
	case kvs.ReadModifyWrite:
		return before, found(o.value)
	case kvs.Delete:
		return outcome{stored: before.found}, missing
	}
	return stored, found(o.value)
}

// reference is the plain map with which engines are compared.
type reference map[string]outcome

func (r reference) apply(o op) outcome {
	if o.kind.Scans() {
		return found(r.scan(o))
	}
	result, after := o.step(r[o.key])
	if r[o.key] = after; !after.found {
		delete(r, o.key)
	}
	return result
}

// scan returns the value of a scan's result: see kvs.Pairs.
func (r reference) scan(o op) string {
	limit, _ := binary.Uvarint([]byte(o.value))
	var keys []string
	for key := range r {
		if key >= o.key {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	var all []byte
	for _, key := range keys[:min(limit, uint64(len(keys)))] {
		value := r[key].value
		all = append(append(all, byte(len(key))), key...)
		all = append(binary.AppendUvarint(all, uint64(len(value))), value...)
	}
	return string(all)
}

// text returns n random bytes of a small alphabet, with the smallest and largest byte.
func text(random *rand.Rand, n int) string {
	const alphabet = "\x00a\xff"
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[random.IntN(len(alphabet))]
	}
	return string(b)
}

func randomKind(random *rand.Rand, kinds []kvs.Kind) kvs.Kind { return kinds[random.IntN(len(kinds))] }

// randomOp returns an operation on one of some hundred keys, mostly short ones, so that
// keys repeat and are prefixes of others.
func randomOp(random *rand.Rand, kinds []kvs.Kind) op {
	size := 1 + random.IntN(4)
	if random.IntN(50) == 0 {
		size = kvs.MaxKeyLen
	}
	o := op{randomKind(random, kinds), text(random, size), text(random, random.IntN(80))}
	if size == kvs.MaxKeyLen {
		o.key = o.key[:1] + longKey[1:]
	}
	switch {
	case o.kind.Scans():
		o.value = scan("", 1+random.IntN(150)).value
	case random.IntN(500) == 0:
		o.value = longValue[random.IntN(len(longValue)):]
	}
	return o
}

// check applies operations in one Apply, and compares their results and the number of
// keys with the reference.
func check(t *testing.T, e kvs.Engine, want reference, ops ...op) {
	t.Helper()
	for i, got := range apply(t, e, ops...) {
		if due := want.apply(ops[i]); got != due {
			t.Fatalf("operation %d of %d: %s of %.20q: %v, want %v", i, len(ops), ops[i].kind, ops[i].key, got, due)
		}
	}
	if e.Len() != len(want) {
		t.Fatalf("Len %d, want %d", e.Len(), len(want))
	}
}

// testRandom applies random batches, and finally reads every key.
func testRandom(t *testing.T, kinds []kvs.Kind, open func() kvs.Engine) {
	random := kvstest.NewRandom(t)
	e, want := open(), reference{}
	for done := 0; done < 20_000; {
		ops := make([]op, 1+random.IntN(300))
		for i := range ops {
			ops[i] = randomOp(random, kinds)
		}
		check(t, e, want, ops...)
		done += len(ops)
	}
	for key := range want {
		check(t, e, want, get(key))
	}
}
