package enginetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"kvlab/kvs"
)

// conformance are the cases that random operations seldom meet. The first ones find a new
// engine.
var conformance = []struct {
	name string
	ops  []op
}{
	{"nothing", nil},
	{"nothing there", []op{get("k"), remove("k"), get("k")}},
	{"scan of nothing", []op{scan("k", 1), put("k", "v"), scan("k\x00", 10), remove("k"), scan("k", 10)}},
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
	{"delete", []op{
		remove("k"), put("k", "1"), put("l", "2"), remove("k"), get("k"), remove("k"), get("l"), insert("k", "3"), get("k"),
		remove("l"), modify("l", "4"), modify("l", "5"), remove("l"), put("l", ""), remove("l"), get("l"), remove("k"), get("k"),
	}},
	{"keys come and go", comeAndGo()},
	{"scan", []op{
		put("b", "2"), put("a", "1"), put("c", ""), put("aa", "11"), put("\xff", "last"), put("\x00", "first"), put(longKey, longValue),
		scan("\x00", 100), scan("a", 1), scan("a", 2), scan("a\x00", 2), scan("b", 3), scan("bb", kvs.MaxScan), scan("\xff", 1), scan("\xff\x00", 1),
		modify("b", "22"), remove("a"), scan("a", 3), insert("a", "111"), scan("a", 3), {kvs.ScanPart, "a", scan("", 3).value},
	}},
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

// comeAndGo stores and deletes far more keys than there are at a time, and some of them
// again.
func comeAndGo() (ops []op) {
	for i := range 600 {
		ops = append(ops, insert(fmt.Sprint(i), fmt.Sprint("value ", i)))
		if i >= 10 {
			ops = append(ops, remove(fmt.Sprint(i-10)), get(fmt.Sprint(i-10)), get(fmt.Sprint(i-9)))
		}
		if i%7 == 0 {
			ops = append(ops, put(fmt.Sprint(i/2), "again"), remove(fmt.Sprint(i/2)))
		}
	}
	return ops
}

// testConformance applies each case's operations one by one to an engine, and in one batch to
// another. Each case deletes its keys in the end: opening an engine takes longer than a case.
func testConformance(t *testing.T, kinds []kvs.Kind, open func() kvs.Engine) {
	alone, together := open(), open()
	for _, row := range conformance {
		if slices.ContainsFunc(row.ops, func(o op) bool { return !slices.Contains(kinds, o.kind) }) {
			continue
		}
		if !t.Run(row.name, func(t *testing.T) {
			want := reference{}
			for _, o := range row.ops {
				check(t, alone, want, o)
			}
			for _, key := range slices.Collect(maps.Keys(want)) {
				check(t, alone, want, remove(key))
			}
			check(t, together, want, row.ops...)
			var rest []op
			for key := range want {
				rest = append(rest, remove(key))
			}
			check(t, together, want, rest...)
		}) {
			return
		}
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
