package kvs_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"kvlab/internal/kvstest"
	"kvlab/kvs"
)

func TestVersionNext(t *testing.T) {
	v := kvs.Version(math.MaxUint32 - 2)
	for _, want := range []kvs.Version{math.MaxUint32 - 1, math.MaxUint32, 0, 0} {
		if got := v.Next(); got != want {
			t.Errorf("version %d, want %d", got, want)
		}
	}
}

// outcome is what an engine finds for an operation: the key's value before it, and the
// versions of that and of the written one.
type outcome struct {
	value   []byte
	ok      bool
	was, is kvs.Version
}

// outcomes returns n operations, what a client holds of their keys and what an engine
// finds. Values repeat.
func outcomes(random *rand.Rand, n int) (ops []kvs.Op, held []kvs.Version, found []outcome) {
	ops, held = compactOps(random, n)
	found = make([]outcome, n)
	for i := range found {
		o := outcome{ok: random.IntN(5) > 0, was: kvs.Version(random.Uint32()), is: kvs.Version(random.Uint32() >> random.IntN(33))}
		if o.value = bytes.Repeat([]byte{byte(random.IntN(8))}, random.IntN(200)); random.IntN(3) == 0 {
			o.was = kvs.Version(random.IntN(3)) // 0 too, which no client holds
		}
		if found[i] = o; ops[i].Kind.Reads() && random.IntN(2) == 0 {
			held[i] = o.was
		}
	}
	return ops, held, found
}

// answerBoth writes the same results as an engine does, chunk by chunk, into a plain reply
// and into one with versions.
func answerBoth(plain, versioned *kvs.Reply, ops []kvs.Op, held []kvs.Version, found []outcome, dedup bool) {
	const chunk = 7
	plain.Reset()
	versioned.Reset()
	if dedup {
		versioned.Dedup(len(ops))
		defer versioned.EndDedup()
	}
	versioned.AddVersions()
	defer versioned.EndVersions()
	for i, o := range found {
		if i%chunk == 0 {
			versioned.Hold(held[i:min(i+chunk, len(held))])
		}
		switch op := ops[i]; {
		case op.Kind == kvs.Get && o.ok:
			plain.Found(o.value)
			versioned.FoundVersion(op.Key, o.value, o.was)
		case op.Kind == kvs.Get:
			plain.Missing()
			versioned.Missing()
		default:
			plain.Answer(op.Kind, o.value, o.ok)
			versioned.AnswerVersion(op.Kind, op.Key, o.value, o.ok, o.was, o.is)
		}
	}
}

// A reply with versions has the results of the plain one, but a value that the client
// holds, and the versions of what it does not.
func TestVersionedReply(t *testing.T) {
	random := kvstest.NewRandom(t)
	for round := range 30 {
		dedup := round%2 == 1
		ops, held, found := outcomes(random, round*10)
		var plain, versioned kvs.Reply
		answerBoth(&plain, &versioned, ops, held, found, dedup)
		if versioned.Hits != plain.Hits || versioned.Misses != plain.Misses || versioned.Versioned() {
			t.Fatalf("%d hits, %d misses; want %d, %d", versioned.Hits, versioned.Misses, plain.Hits, plain.Misses)
		}
		want, err := kvstest.DecodeReply(&plain)
		if err != nil {
			t.Fatal(err)
		}
		body := versioned.Frame()[kvs.Headroom:]
		got, err := kvstest.DecodeVersions(receivedReply(body, versioned.Len(), dedup), ops, held)
		if err != nil {
			t.Fatal(err)
		}
		for i, o := range found {
			if err := checkVersion(ops[i], held[i], o, got[i], want[i], dedup); err != nil {
				t.Fatalf("result %d, %s, held %d, found %+v: %v", i, ops[i].Kind, held[i], o, err)
			}
		}
	}
}

func checkVersion(op kvs.Op, held kvs.Version, o outcome, got kvstest.VersionResult, want kvs.Result, dedup bool) error {
	if due := op.Kind.Reads() && o.ok && o.was != 0 && o.was == held; got.Unchanged != due {
		return fmt.Errorf("unchanged %t, want %t", got.Unchanged, due)
	}
	if !got.Unchanged && (got.Found != want.Found || got.Read != want.Read || !bytes.Equal(got.Value, want.Value)) {
		return fmt.Errorf("%+v, in a plain reply %+v", got.Result, want)
	}
	version := kvs.Version(0)
	switch {
	case op.Kind.Writes():
		version = o.is
	case op.Kind == kvs.Get && got.Found:
		version = o.was
	}
	if got.Version != version && !(dedup && op.Kind == kvs.Get && got.Version == 0) { // a reference has none
		return fmt.Errorf("version %d, want %d", got.Version, version)
	}
	return nil
}

// The first of equal values is sent in full, and has its version, with Dedup too.
func TestVersionedReferences(t *testing.T) {
	value := bytes.Repeat([]byte("v"), 100)
	ops := make([]kvs.Op, 3)
	found := make([]outcome, len(ops))
	for i := range ops {
		ops[i] = kvs.Op{Kind: kvs.Get, Key: []byte{'k', byte(i)}}
		found[i] = outcome{value: value, ok: true, was: kvs.Version(10 + i)}
	}
	held := []kvs.Version{10, 0, 0} // the reply lacks the first value
	var plain, reply kvs.Reply
	answerBoth(&plain, &reply, ops, held, found, true)
	got, err := kvstest.DecodeVersions(&reply, ops, held)
	if err != nil {
		t.Fatal(err)
	}
	if !got[0].Unchanged || got[1].Version != 11 || got[2].Version != 0 || !bytes.Equal(got[2].Value, value) {
		t.Errorf("results %+v", got)
	}
	if want := 8 + 1 + 2 + 100 + 1 + 1; reply.Size() != want {
		t.Errorf("%d bytes, want %d", reply.Size(), want)
	}
}

// The digest tells any other set of keys and versions from that which the client sent.
func TestVersionedDigest(t *testing.T) {
	random := kvstest.NewRandom(t)
	ops, held, found := outcomes(random, 300)
	var plain, reply kvs.Reply
	answerBoth(&plain, &reply, ops, held, found, false)
	right, err := kvstest.DecodeVersions(&reply, ops, held)
	if err != nil {
		t.Fatal(err)
	}
	unchanged := 0
	for i, r := range right {
		if !r.Unchanged {
			continue
		}
		unchanged++
		held[i]++
		if _, err := kvstest.DecodeVersions(&reply, ops, held); !errors.Is(err, kvstest.ErrDigest) {
			t.Errorf("another version: error %v", err)
		}
		held[i]--
		key := ops[i].Key
		ops[i].Key = append(bytes.Clone(key), 'x')
		if _, err := kvstest.DecodeVersions(&reply, ops, held); !errors.Is(err, kvstest.ErrDigest) {
			t.Errorf("another key: error %v", err)
		}
		ops[i].Key = key
	}
	if unchanged < 20 {
		t.Errorf("%d values are unchanged", unchanged)
	}
}

// Each byte of a key and each bit of a version changes the digest, and so does an exchange
// of bytes.
func TestDigest(t *testing.T) {
	random := kvstest.NewRandom(t)
	seen := map[uint64]string{}
	see := func(key []byte, version kvs.Version) {
		id := fmt.Sprintf("%q version %d", key, version)
		d := kvs.Digest(key, version)
		if other, ok := seen[d]; ok && other != id {
			t.Fatalf("%s has the digest of %s", id, other)
		}
		seen[d] = id
	}
	for size := 1; size <= 40; size++ {
		digits := make([]byte, size)
		for i := range digits {
			digits[i] = byte('0' + random.IntN(10))
		}
		for _, key := range [][]byte{digits, kvstest.RandomBytes(random, size), make([]byte, size), bytes.Repeat([]byte{0xff}, size)} {
			see(key, 1)
			for bit := range 32 {
				see(key, 1^1<<bit)
			}
			for i := range key {
				for _, flip := range []byte{1, 2, 0x80} {
					key[i] ^= flip
					see(key, 1)
					key[i] ^= flip
				}
				j := random.IntN(size)
				key[i], key[j] = key[j], key[i]
				see(key, 1)
				key[i], key[j] = key[j], key[i]
			}
		}
	}
}

// A truncated reply is malformed, wherever it ends.
func TestTruncatedVersions(t *testing.T) {
	ops, held, found := outcomes(kvstest.NewRandom(t), 40)
	var plain, reply kvs.Reply
	answerBoth(&plain, &reply, ops, held, found, false)
	body := reply.Frame()[kvs.Headroom:]
	for cut := range body {
		if _, err := kvstest.DecodeVersions(receivedReply(body[:cut], len(ops), false), ops, held); !errors.Is(err, kvs.ErrMalformed) && !errors.Is(err, kvstest.ErrDigest) {
			t.Fatalf("cut to %d of %d bytes: error %v", cut, len(body), err)
		}
	}
	for _, more := range [][]byte{{0}, {1}, {2, 0}} {
		long := append(bytes.Clone(body), more...)
		if _, err := kvstest.DecodeVersions(receivedReply(long, len(ops), false), ops, held); !errors.Is(err, kvs.ErrMalformed) {
			t.Errorf("with %v behind its end: error %v", more, err)
		}
	}
	tooLarge := append(make([]byte, 8), 1, 0xff, 0xff, 0xff, 0xff, 0x1f)
	if _, err := kvstest.DecodeVersions(receivedReply(tooLarge, 1, false), []kvs.Op{{Kind: kvs.Put}}, nil); !errors.Is(err, kvs.ErrMalformed) {
		t.Errorf("a version beyond 32 bits: error %v", err)
	}
}

// Values that do not fit are missing, and say so; the results are counted.
func TestVersionedExcess(t *testing.T) {
	large := make([]byte, kvs.MaxValueLen)
	const n = kvs.MaxBody/kvs.MaxValueLen + 3
	var reply kvs.Reply
	reply.Reset()
	reply.AddVersions()
	reply.Hold(make([]kvs.Version, n))
	for i := range n {
		if i%2 == 0 {
			reply.FoundVersion([]byte("k"), large, 1)
		} else {
			reply.AnswerVersion(kvs.ReadModifyWrite, []byte("k"), large, true, 1, 2)
		}
	}
	reply.EndVersions()
	if !reply.Excess || reply.Len() != n || reply.Hits != n || reply.Size() > kvs.MaxBody {
		t.Errorf("%d bytes, %d results, %d hits, excess %t", reply.Size(), reply.Len(), reply.Hits, reply.Excess)
	}
}

// FuzzVersions: no body makes the reader of a reply with versions panic.
func FuzzVersions(f *testing.F) {
	random := kvstest.NewRandom(f)
	for n := range 4 {
		ops, held, found := outcomes(random, n)
		var plain, reply kvs.Reply
		answerBoth(&plain, &reply, ops, held, found, n == 3)
		var kinds []byte
		for _, op := range ops {
			kinds = append(kinds, byte(op.Kind))
		}
		f.Add(reply.Frame()[kvs.Headroom:], kinds, n == 3)
	}
	f.Fuzz(func(t *testing.T, body, kinds []byte, dedup bool) {
		ops := make([]kvs.Op, len(kinds))
		for i, k := range kinds {
			ops[i].Kind = kvs.Kind(k % kvs.Kinds)
		}
		_, err := kvstest.DecodeVersions(receivedReply(body, len(ops), dedup), ops, make([]kvs.Version, len(ops)))
		if err != nil && !errors.Is(err, kvs.ErrMalformed) && !errors.Is(err, kvstest.ErrDigest) {
			t.Fatalf("error %v does not wrap ErrMalformed", err)
		}
	})
}
