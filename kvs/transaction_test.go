package kvs

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// randomParts returns a batch of transactions, and what it holds.
func randomParts(random *rand.Rand) (b Batch, h Head, parts []Part, ops []Op) {
	h = Head{random.Uint64() >> random.IntN(64), random.Uint64() >> random.IntN(64), random.Uint64() >> random.IntN(64)}
	b.Begin(h)
	for range random.IntN(6) {
		p := Part{Step: Step(random.IntN(int(steps))), Number: random.Uint64() >> random.IntN(64)}
		if p.Step >= Fence && p.Step <= SettleAbort {
			p.Owner = random.Uint64()
		}
		if p.Step == Prepare {
			for range random.IntN(4) {
				p.Parties = append(p.Parties, uint16(random.IntN(1<<16)))
			}
		}
		if p.Step <= Prepare {
			p.Ops = 1 + random.IntN(4)
		}
		b.Part(&p)
		for range p.Ops {
			op := Op{Kind: []Kind{Get, Put, ReadModifyWrite, Insert, Delete}[random.IntN(5)], Key: bytes.Repeat([]byte{'k'}, 1+random.IntN(MaxKeyLen))}
			switch {
			case op.Kind.Carries():
				op.Value = make([]byte, random.IntN(200))
				b.Append(op.Kind, op.Key, op.Value)
			case op.Kind == Get:
				b.Get(op.Key)
			default:
				b.Delete(op.Key)
			}
			ops = append(ops, op)
		}
		parts = append(parts, p)
	}
	return b, h, parts, ops
}

// read reads a batch of transactions; it copies the parts.
func read(b *Batch) (h Head, parts []Part, ops []Op, err error) {
	h, cursor := b.Parts()
	var p Part
	var some []Op
	for {
		var ok bool
		if some, ok, err = cursor.Next(&p, some); !ok {
			return h, parts, ops, err
		}
		q := p
		q.Parties = slices.Clone(p.Parties)
		parts, ops = append(parts, q), append(ops, some...)
	}
}

// Transactions are read as they were written, and what is not whole is refused.
func TestParts(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		b, h, parts, ops := randomParts(random)
		if !b.Transactional() || b.Len() != len(parts)+len(ops) {
			t.Fatalf("a batch of %d entries, transactional %t; want %d", b.Len(), b.Transactional(), len(parts)+len(ops))
		}
		gotHead, gotParts, gotOps, err := read(&b)
		for i := range gotParts {
			if len(gotParts[i].Parties) == 0 {
				gotParts[i].Parties = nil
			}
		}
		if err != nil || gotHead != h || !reflect.DeepEqual(gotParts, parts) || len(gotOps) != len(ops) {
			t.Fatalf("%+v %+v, %v; want %+v %+v", gotHead, gotParts, err, h, parts)
		}
		for i, op := range ops {
			if got := gotOps[i]; got.Kind != op.Kind || !bytes.Equal(got.Key, op.Key) || !bytes.Equal(got.Value, op.Value) {
				t.Fatalf("operation %d: %+v, want %+v", i, got, op)
			}
		}
		body := slices.Clone(b.Frame()[Headroom:])
		var damaged Batch
		cut := random.IntN(len(body))
		copy(damaged.Body(cut, b.Len()), body)
		if _, _, _, err := read(&damaged); !errors.Is(err, ErrMalformed) && b.Len() > 0 {
			t.Fatalf("%d of %d bytes: %v", cut, len(body), err)
		}
		flipped := damaged.Body(len(body), b.Len())
		copy(flipped, body)
		flipped[random.IntN(len(body))] ^= 1 << random.IntN(8)
		if _, _, _, err := read(&damaged); err != nil && !errors.Is(err, ErrMalformed) {
			t.Fatalf("a flipped bit: %v", err)
		}
	}
}

// What no part may hold.
func TestBadParts(t *testing.T) {
	for name, fill := range map[string]func(b *Batch){
		"an unknown step":           func(b *Batch) { b.Part(&Part{Step: steps}) },
		"a run without operations":  func(b *Batch) { b.Part(&Part{Step: Run}) },
		"more operations than come": func(b *Batch) { b.Part(&Part{Step: Run, Ops: 2}); b.Get([]byte("k")) },
		"fewer":                     func(b *Batch) { b.Part(&Part{Step: Run, Ops: 1}); b.Get([]byte("k")); b.Get([]byte("k")) },
		"a scan":                    func(b *Batch) { b.Part(&Part{Step: Run, Ops: 1}); b.Scan(Scan, []byte("k"), 1) },
		"too many parties": func(b *Batch) {
			b.Part(&Part{Step: Prepare, Ops: 1, Parties: make([]uint16, MaxParties+1)})
			b.Get([]byte("k"))
		},
	} {
		var b Batch
		b.Begin(Head{})
		fill(&b)
		if _, _, _, err := read(&b); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var reply Reply
	reply.Reset()
	reply.Note([]byte{byte(statuses)})
	results := reply.Results()
	if _, err := results.NextAnswer(); !errors.Is(err, ErrMalformed) {
		t.Errorf("an unknown status: %v", err)
	}
	if _, err := results.NextAnswer(); !errors.Is(err, ErrMalformed) {
		t.Errorf("no answer: %v", err)
	}
}
