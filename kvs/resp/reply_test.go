package resp_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"kvlab/internal/kvstest"
	"kvlab/kvs"
	"kvlab/kvs/resp"
)

const limit = 100

// replies are values as a server sends them.
var replies = []struct {
	text string
	want resp.Value
}{
	{"+OK\r\n", resp.Value{Type: '+', Text: []byte("OK")}},
	{"+\r\n", resp.Value{Type: '+', Text: []byte{}}},
	{"-ERR no\r\n", resp.Value{Type: '-', Text: []byte("ERR no")}},
	{":0\r\n", resp.Value{Type: ':'}},
	{":-12\r\n", resp.Value{Type: ':', N: -12}},
	{":123456789012345678\r\n", resp.Value{Type: ':', N: 123456789012345678}},
	{"$-1\r\n", resp.Value{Type: '$', N: -1}},
	{"$007\r\nabcdefg\r\n", resp.Value{Type: '$', N: 7, Text: []byte("abcdefg")}},
	{"$0\r\n\r\n", resp.Value{Type: '$', Text: []byte{}}},
	{"$4\r\n\r\n$1\r\n", resp.Value{Type: '$', N: 4, Text: []byte("\r\n$1")}},
	{"*2\r\n", resp.Value{Type: '*', N: 2}},
	{"*-1\r\n", resp.Value{Type: '*', N: -1}},
	{"$100\r\n" + strings.Repeat("x", limit) + "\r\n", resp.Value{Type: '$', N: limit, Text: []byte(strings.Repeat("x", limit))}},
}

// Every value is parsed whatever follows it, and no part of one is parsed, or an error.
func TestParse(t *testing.T) {
	for _, r := range replies {
		for n := range len(r.text) {
			if v, size, err := resp.Parse([]byte(r.text[:n]), limit); size != 0 || err != nil {
				t.Errorf("%.20q: %v, %d bytes, %v; want none yet", r.text[:n], v, size, err)
			}
		}
		for _, rest := range []string{"", "\r", "+", "$1\r\n", "x"} {
			v, size, err := resp.Parse([]byte(r.text+rest), limit)
			if err != nil || size != len(r.text) || v.Type != r.want.Type || v.N != r.want.N || !bytes.Equal(v.Text, r.want.Text) {
				t.Errorf("%.20q: %v, %d bytes, %v; want %v", r.text+rest, v, size, err, r.want)
			}
			if text, size := resp.ParseString([]byte(r.text+rest), limit); r.want.Type == resp.Bulk && r.want.N >= 0 && (size != len(r.text) || !bytes.Equal(text, r.want.Text)) {
				t.Errorf("%.20q: ParseString returns %q, %d", r.text+rest, text, size)
			}
			if v.Null() != (r.text == "$-1\r\n" || r.text == "*-1\r\n") {
				t.Errorf("%.20q is null: %t", r.text, v.Null())
			}
		}
	}
}

// What is no RESP, or over a limit, is an error.
func TestParseErrors(t *testing.T) {
	for _, text := range []string{
		"x", "\r\n", "_\r\n", "$\r\n", "$-\r\n", "$+1\r\n", "$1x", "$1\rx", "$1\nx", "$-2\r\n", "*-2\r\n", "$1\r\nabc", "$1\r\na\rx",
		"$101\r\n", "$999999999999999999\r\n", "$1234567890123456789", ":12345678901234567890\r\n", "+a\n", "-\n", "+" + strings.Repeat("x", resp.MaxLine),
	} {
		if v, size, err := resp.Parse([]byte(text), limit); !errors.Is(err, resp.ErrProtocol) || size != 0 {
			t.Errorf("%.30q: %v, %d bytes, %v; want an error", text, v, size, err)
		}
	}
}

// A reply's bytes are those of the value that is parsed, and parsing is the same in every part.
func FuzzParse(f *testing.F) {
	for _, r := range replies {
		f.Add([]byte(r.text))
	}
	f.Fuzz(func(t *testing.T, buf []byte) {
		v, size, err := resp.Parse(buf, limit)
		text, length := resp.ParseString(buf, limit)
		if isString := v.Type == resp.Bulk && !v.Null() && size > 0; isString != (length > 0) || isString && (length != size || !bytes.Equal(text, v.Text)) {
			t.Fatalf("%q: ParseString returns %q, %d; Parse %v, %d, %v", buf, text, length, v, size, err)
		}
		if size < 0 || size > len(buf) || size > 0 && err != nil || len(v.Text) > max(limit, resp.MaxLine) {
			t.Fatalf("%q: %v, %d bytes, %v", buf, v, size, err)
		}
		if size == 0 {
			return
		}
		for n := range size {
			if v, size, err := resp.Parse(buf[:n], limit); size != 0 || err != nil {
				t.Fatalf("the first %d bytes of %q: %v, %d bytes, %v", n, buf, v, size, err)
			}
		}
	})
}

// A command is its words, each with its length.
func TestAppend(t *testing.T) {
	random := kvstest.NewRandom(t)
	for _, op := range kvstest.RandomOps(random, 300, kvs.Scan) {
		words := map[kvs.Kind][]string{
			kvs.Get: {"GET", string(op.Key)}, kvs.Delete: {"DEL", string(op.Key)},
			kvs.Put: {"SET", string(op.Key), string(op.Value)}, kvs.Insert: {"SET", string(op.Key), string(op.Value)},
			kvs.ReadModifyWrite: {"SET", string(op.Key), string(op.Value), "GET"},
		}[op.Kind]
		want := fmt.Sprintf("x*%d\r\n", len(words))
		for _, word := range words {
			want += fmt.Sprintf("$%d\r\n%s\r\n", len(word), word)
		}
		if got := resp.AppendOp([]byte("x"), &op, ""); string(got) != want || !resp.Has(op.Kind) {
			t.Fatalf("a %s is %.60q, want %.60q", op.Kind, got, want)
		}
		if got := resp.AppendCommand([]byte("x"), words...); string(got) != want {
			t.Fatalf("%.20q is %.60q, want %.60q", words, got, want)
		}
		if words[0] == "SET" {
			words = append(words, "PX", "2500")
		}
		if got := resp.AppendOp(nil, &op, resp.Expiry(2500*time.Millisecond)); !bytes.Equal(got, resp.AppendCommand(nil, words...)) {
			t.Fatalf("a %s that expires is %.60q, want the words %.20q", op.Kind, got, words)
		}
	}
	for _, kind := range []kvs.Kind{kvs.Scan, kvs.ScanPart, kvs.Kinds} {
		if resp.Has(kind) {
			t.Errorf("a %s has a command", kind)
		}
	}
}
