package enginetest

import (
	"fmt"
	"strings"
	"testing"

	"kvlab/kvs"
)

// step is one operation and its expected result.
type step struct {
	op
	want outcome
}

var conformance = []struct {
	name  string
	steps []step
	len   int // keys at the end
}{
	{"nothing", nil, 0},
	{"missing", []step{{get("k"), missing}, {get("k"), missing}}, 0},
	{"put and get", []step{{put("k", "v"), stored}, {get("k"), found("v")}, {get("k"), found("v")}}, 1},
	{"overwrite", []step{
		{put("k", "v"), stored}, {put("k", "longer than before"), stored}, {get("k"), found("longer than before")},
		{put("k", "w"), stored}, {get("k"), found("w")},
	}, 1},
	{"empty value", []step{
		{put("k", ""), stored}, {get("k"), found("")}, {put("k", "v"), stored}, {put("k", ""), stored}, {get("k"), found("")},
	}, 1},
	{"read-modify-write of a missing key", []step{{modify("k", "v"), missing}, {get("k"), found("v")}}, 1},
	{"read-modify-write", []step{
		{put("k", "1"), stored}, {modify("k", "22"), found("1")}, {modify("k", ""), found("22")},
		{modify("k", "4"), found("")}, {get("k"), found("4")},
	}, 1},
	{"a miss changes nothing", []step{{get("a"), missing}, {put("b", "v"), stored}, {get("a"), missing}, {get("b"), found("v")}}, 1},
	{"longest key", []step{
		{put(longKey, "v"), stored}, {get(longKey), found("v")}, {get(longKey[:kvs.MaxKeyLen-1]), missing},
		{get(longKey[1:] + "x"), missing},
	}, 1},
	{"longest value", []step{
		{put("k", longValue), stored}, {get("k"), found(longValue)}, {modify("k", "v"), found(longValue)},
		{modify("k", longValue), found("v")},
	}, 1},
	{"keys that begin alike", []step{
		{put("a", "1"), stored}, {put("aa", "2"), stored}, {put("aaa", "3"), stored}, {get("aaaa"), missing},
		{get("a"), found("1")}, {get("aa"), found("2")}, {get("aaa"), found("3")},
	}, 3},
	// Some engines store key and value side by side.
	{"key and value exchange bytes", []step{
		{put("ab", "c"), stored}, {put("a", "bc"), stored}, {put("abc", ""), stored},
		{get("ab"), found("c")}, {get("a"), found("bc")}, {get("abc"), found("")},
	}, 3},
	{"any byte", []step{
		{put("\x00", "zero"), stored}, {put("\x00\x00", "two"), stored}, {put("\xff", "\x00\xff"), stored}, {put("k\x00", "k0"), stored},
		{get("\x00"), found("zero")}, {get("\x00\x00"), found("two")}, {get("\xff"), found("\x00\xff")}, {get("k\x00"), found("k0")},
		{get("k"), missing}, {get("\xff\x00"), missing},
	}, 4},
	{"many gets in a row", manyGets(), 1},
}

var (
	longKey   = strings.Repeat("k", kvs.MaxKeyLen)
	longValue = strings.Repeat("0123456789abcdef", kvs.MaxValueLen/16)
)

// manyGets has more consecutive Gets than an engine looks up together.
func manyGets() []step {
	steps := []step{{put("7", "seven"), stored}}
	for i := range 100 {
		want := missing
		if i == 7 {
			want = found("seven")
		}
		steps = append(steps, step{get(fmt.Sprint(i)), want})
	}
	return append(steps, step{put("7", "again"), stored}, step{get("7"), found("again")})
}

// testConformance runs each row twice: with an Apply for each operation, and with one for
// all.
func testConformance(t *testing.T, open func() kvs.Engine) {
	for _, row := range conformance {
		t.Run(row.name, func(t *testing.T) {
			alone, together := open(), open()
			var ops []op
			for i, s := range row.steps {
				ops = append(ops, s.op)
				checkOutcome(t, "alone", i, s, apply(t, alone, s.op)[0])
			}
			for i, got := range apply(t, together, ops...) {
				checkOutcome(t, "together", i, row.steps[i], got)
			}
			if alone.Len() != row.len || together.Len() != row.len {
				t.Errorf("Len %d alone and %d together, want %d", alone.Len(), together.Len(), row.len)
			}
		})
	}
}

func checkOutcome(t *testing.T, how string, i int, s step, got outcome) {
	t.Helper()
	if got != s.want {
		t.Errorf("%s, operation %d: %s of %.20q: %v, want %v", how, i, s.kind, s.key, got, s.want)
	}
}

// testBorrowed tests that a reply and the engine share no memory.
func testBorrowed(t *testing.T, open func() kvs.Engine) {
	e := open()
	apply(t, e, put("k", "before"))
	var reply kvs.Reply
	reply.Reset()
	e.Apply([]kvs.Op{{Kind: kvs.Get, Key: []byte("k")}}, &reply)
	apply(t, e, put("k", "behind"))
	results := reply.Results()
	r, err := results.Next()
	if err != nil || string(r.Value) != "before" {
		t.Errorf("a reply changed to %q, error %v", r.Value, err)
	}
	copy(r.Value, "scrawl")
	if got := apply(t, e, get("k"))[0]; got != found("behind") {
		t.Errorf("after a write into a reply: %v", got)
	}
}
