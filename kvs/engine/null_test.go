package engine

import (
	"strings"
	"testing"

	"kvlab/kvs"
)

// Null answers every read with a value of the length that was written last,
// whatever key was asked for, and every reply decodes.
func TestNull(t *testing.T) {
	if _, err := Open("null", Options{}); err != nil {
		t.Fatal(err)
	}
	value := []byte("value")
	steps := []struct {
		op   kvs.Op
		want string // "-" missing, "+" stored, else the value
	}{
		{kvs.Op{Kind: kvs.Get, Key: []byte("a")}, "-"},
		{kvs.Op{Kind: kvs.ReadModifyWrite, Key: []byte("a"), Value: value}, "-"},
		{kvs.Op{Kind: kvs.Get, Key: []byte("never stored")}, "value"},
		{kvs.Op{Kind: kvs.Put, Key: []byte("b"), Value: []byte("other")}, "+"},
		{kvs.Op{Kind: kvs.Get, Key: []byte("b")}, "value"}, // right in size, not in content
		{kvs.Op{Kind: kvs.Put, Key: []byte("b"), Value: []byte("longer value")}, "+"},
		{kvs.Op{Kind: kvs.Delete, Key: []byte("b")}, "+"},
		{kvs.Op{Kind: kvs.Scan, Key: []byte("b"), Value: []byte{2}}, "\x01b\x0clonger value\x01b\x0clonger value"},
		{kvs.Op{Kind: kvs.ReadModifyWrite, Key: []byte("a"), Value: []byte("longer still....")}, "longer value"},
		{kvs.Op{Kind: kvs.Get, Key: []byte("b")}, "longer still...."},
		{kvs.Op{Kind: kvs.Put, Key: []byte("b")}, "+"},
		{kvs.Op{Kind: kvs.Get, Key: []byte("b")}, ""},
	}
	for cut := range steps { // one Apply, and any two
		e := NewNull()
		var reply kvs.Reply
		reply.Reset()
		var ops []kvs.Op
		for _, step := range steps {
			op := step.op
			op.Value = []byte(string(op.Value)) // borrowed: scribbled over below
			ops = append(ops, op)
		}
		e.Apply(ops[:cut], &reply)
		for i := range ops[:cut] {
			copy(ops[i].Value, strings.Repeat("!", len(ops[i].Value)))
		}
		e.Apply(ops[cut:], &reply)
		results := reply.Results()
		for i, step := range steps {
			r, err := results.Next()
			if err != nil {
				t.Fatal(err)
			}
			got := string(r.Value)
			switch {
			case !r.Read:
				got = "+"
			case !r.Found:
				got = "-"
			}
			if got != step.want {
				t.Errorf("cut at %d: operation %d, %s: %q, want %q", cut, i, step.op.Kind, got, step.want)
			}
		}
		if err := results.End(); err != nil || e.Len() != 0 {
			t.Errorf("cut at %d: end %v, %d keys", cut, err, e.Len())
		}
	}
}
