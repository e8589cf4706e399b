package enginetest

import (
	"fmt"
	"strings"
	"testing"

	"kvlab/kvs"
)

// conformance are the cases that random operations seldom meet.
var conformance = []struct {
	name string
	ops  []op
}{
	{"nothing", nil},
	{"read-modify-write", []op{get("k"), modify("k", "1"), get("k"), modify("k", "22"), modify("k", ""), modify("k", "4"), get("k")}},
	{"empty value", []op{put("k", ""), get("k"), put("k", "v"), put("k", ""), get("k")}},
	{"longest key", []op{put(longKey, "v"), get(longKey), get(longKey[:kvs.MaxKeyLen-1]), get(longKey[1:] + "x")}},
	{"longest value", []op{put("k", longValue), get("k"), modify("k", "v"), modify("k", longValue), get("k")}},
	{"keys that begin alike", []op{put("a", "1"), put("aa", "2"), put("aaa", "3"), get("aaaa"), get("a"), get("aa"), get("aaa")}},
	{"key and value exchange bytes", []op{put("ab", "c"), put("a", "bc"), put("abc", ""), get("ab"), get("a"), get("abc")}},
	{"any byte", []op{
		put("\x00", "zero"), put("\x00\x00", "two"), put("\xff", "\x00\xff"), put("k\x00", "k0"),
		get("\x00"), get("\x00\x00"), get("\xff"), get("k\x00"), get("k"), get("\xff\x00"),
	}},
	{"many gets in a row", manyGets()},
}

var (
	longKey   = strings.Repeat("k", kvs.MaxKeyLen)
	longValue = strings.Repeat("0123456789abcdef", kvs.MaxValueLen/16)
)

// manyGets has more consecutive Gets than an engine looks up together.
func manyGets() []op {
	ops := []op{put("7", "seven")}
	for i := range 100 {
		ops = append(ops, get(fmt.Sprint(i)))
	}
	return append(ops, put("7", "again"), get("7"))
}

// testConformance applies each case's operations one by one, and in one batch.
func testConformance(t *testing.T, open func() kvs.Engine) {
	for _, row := range conformance {
		t.Run(row.name, func(t *testing.T) {
			alone, want := open(), reference{}
			for _, o := range row.ops {
				check(t, alone, want, o)
			}
			check(t, open(), reference{}, row.ops...)
		})
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
