package wire

import (
	"bufio"
	"bytes"
	"encoding/gob"
	"io"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"kvlab/kvs"
)

// decodeGob reads batches in pieces until the stream ends.
func decodeGob(in io.Reader) (batches [][]gobOp, err error) {
	m := newGobMessages(in, DefaultLimits())
	for some := (gobBatch{}); ; {
		var all []gobOp
		err := m.elements(&some, func() error {
			all = append(all, some.Ops...)
			clear(some.Ops)
			some.Ops = some.Ops[:0]
			return nil
		})
		if err != nil {
			return batches, err
		}
		batches = append(batches, all)
	}
}

// decodeGobWhole is decodeGob as encoding/gob does it, for at most n batches.
func decodeGobWhole(in io.Reader, n int) (batches [][]gobOp, err error) {
	for dec := gob.NewDecoder(in); len(batches) < n; {
		var one gobBatch
		if err := dec.Decode(&one); err != nil {
			return batches, err
		}
		batches = append(batches, one.Ops)
	}
	return batches, nil
}

func sameOps(a, b [][]gobOp) bool {
	return slices.EqualFunc(a, b, func(a, b []gobOp) bool { return slices.Equal(a, b) })
}

// texts of up to longest bytes, of which many are short and some are empty.
func randomText(random *rand.Rand, longest int) string {
	return strings.Repeat(string(rune('a'+random.IntN(26))), random.IntN(1+random.IntN(1+longest)))
}

// Batches that are decoded in pieces are those that gob decodes whole: of our own
// type, and of a stranger's, with its fields in another order and among others.
func TestGobPieces(t *testing.T) {
	type operation struct {
		Weight float64
		Kind   uint8
		Tag    []byte
		Value  string
		Turn   complex128
		Key    string
		Dirty  bool
	}
	type batch struct {
		Version int
		Note    string
		Ops     []operation
		Tail    uint64
	}
	random := newRandom(t)
	var own, strange bytes.Buffer
	ownEnc, strangeEnc := gob.NewEncoder(&own), gob.NewEncoder(&strange)
	sizes := []struct{ ops, longest int }{
		{0, 0}, {1, 10}, {2, kvs.MaxValueLen}, {gobElements - 1, 0}, {gobElements, 0}, {gobElements + 1, 30}, {0, 0}, {3 * gobElements, 2},
		{700, 1000}, {5, kvs.MaxValueLen}, {100, gobPiece},
	}
	for _, size := range sizes {
		one := gobBatch{Ops: make([]gobOp, size.ops)}
		other := batch{Note: randomText(random, 1<<17), Ops: make([]operation, size.ops), Tail: random.Uint64() >> random.IntN(64)}
		for i := range one.Ops {
			op := gobOp{Key: randomText(random, 40), Value: randomText(random, size.longest), Kind: uint8(random.IntN(3))}
			one.Ops[i] = op
			other.Ops[i] = operation{
				Kind: op.Kind, Value: op.Value, Key: op.Key,
				Weight: random.Float64(), Tag: []byte(randomText(random, 10)), Turn: complex(0, random.Float64()), Dirty: i%2 == 0,
			}
		}
		if err := ownEnc.Encode(one); err != nil {
			t.Fatal(err)
		}
		if err := strangeEnc.Encode(other); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string][]byte{"own": own.Bytes(), "strange": strange.Bytes()} {
		want, err := decodeGobWhole(bytes.NewReader(text), len(sizes))
		if err != nil {
			t.Fatal(err)
		}
		got, err := decodeGob(iotest.HalfReader(bytes.NewReader(text)))
		if err != io.EOF || !sameOps(got, want) {
			t.Errorf("%s: %d batches (%v), want those that gob decodes, and io.EOF", name, len(got), err)
		}
	}
}

// A reply is one gob value, in however many pieces it was made.
func TestGobReplyIsGob(t *testing.T) {
	random := newRandom(t)
	results := newGobResults()
	var text bytes.Buffer
	out := bufio.NewWriter(&text)
	var want [][]gobResult
	for _, size := range []struct{ results, longest int }{
		{3 * gobElements, 20}, {0, 0}, {1, 10}, {gobElements, 0}, {gobElements + 1, 0}, {7, kvs.MaxValueLen}, {2000, 2000},
	} {
		var reply kvs.Reply
		var all []gobResult
		reply.Reset()
		for range size.results {
			switch random.IntN(3) {
			case 0:
				value := randomText(random, size.longest)
				reply.Found([]byte(value))
				all = append(all, gobResult{Value: value, Found: true, Read: true})
			case 1:
				reply.Missing()
				all = append(all, gobResult{Read: true})
			default:
				reply.Stored()
				all = append(all, gobResult{})
			}
		}
		want = append(want, all)
		if err := results.write(out, &reply); err != nil {
			t.Fatal(err)
		}
	}
	out.Flush()
	dec := gob.NewDecoder(&text)
	for i, all := range want {
		var got gobReply
		if err := dec.Decode(&got); err != nil || !slices.Equal(got.Results, all) {
			t.Fatalf("reply %d: %d results (%v), want %d, the same", i, len(got.Results), err, len(all))
		}
	}
	if text.Len() > 0 {
		t.Errorf("%d bytes behind the last reply", text.Len())
	}
}

// Numbers are gob's own.
func TestGobNumbers(t *testing.T) {
	for shift := range 64 {
		for _, number := range []uint64{1 << shift, 1<<shift - 1, 1<<shift + 1<<shift/2} {
			var text bytes.Buffer
			if err := gob.NewEncoder(&text).Encode(number); err != nil {
				t.Fatal(err)
			}
			want := text.Bytes()[3:] // behind the length, the type and the zero of what is no struct
			if got := appendGobUint(nil, number); !bytes.Equal(got, want) {
				t.Errorf("%d is written %x, want %x", number, got, want)
			}
			for cut := range want {
				if _, n := gobUint(want[:cut]); n != 0 {
					t.Errorf("%x is a number of %d bytes", want[:cut], n)
				}
			}
			if got, n := gobUint(append(want, 1)); got != number || n != len(want) {
				t.Errorf("%x is read as %d, of %d bytes", want, got, n)
			}
		}
	}
}

// What a batch may not be, in words.
func TestGobElementsRefused(t *testing.T) {
	type key struct{ Key string }
	type nested struct{ Inner key }
	tests := []struct {
		value any
		want  string
	}{
		{17, "which is no struct"},
		{struct{ Ops []nested }{[]nested{{key{"k"}}}}, "in place of a number"},
		{struct{ Ops map[string]int }{map[string]int{"k": 1}}, "in place of a number"},
		{struct{ First, Ops []key }{[]key{{"a"}}, []key{{"b"}}}, "in place of a number"},
		{struct{ Ops []key }{[]key{{strings.Repeat("k", maxGobElement+1)}}}, "a text of"},
		{struct{ Ops []string }{[]string{"k"}}, "in place of a number"},
		{struct{ Ops []struct{ Key int } }{[]struct{ Key int }{{7}}}, "wrong type"},
	}
	for _, test := range tests {
		var text bytes.Buffer
		if err := gob.NewEncoder(&text).Encode(test.value); err != nil {
			t.Fatal(err)
		}
		if _, err := decodeGob(&text); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: error %.200v, want %q", reflect.TypeOf(test.value), err, test.want)
		}
	}
}
