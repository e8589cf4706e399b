package service_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"kvlab/internal/kvstest"
	"kvlab/kvs"
	"kvlab/kvs/engine"
	"kvlab/kvs/service"
)

// openVersions opens a connection that takes compact batches.
func openVersions(svc *service.Service) *service.Conn {
	c := svc.Open("peer")
	c.Versions = true
	return c
}

// callCompact makes a call of operations with held versions.
func callCompact(t *testing.T, c *service.Conn, ops []kvs.Op, held []kvs.Version) []kvstest.VersionResult {
	t.Helper()
	var batch kvs.Batch
	var reply kvs.Reply
	for i := range ops {
		batch.AppendCompact(&ops[i], held[i])
	}
	if err := c.BatchPutGet(&batch, &reply); err != nil {
		t.Fatal(err)
	}
	results, err := kvstest.DecodeVersions(&reply, ops, held)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// Compact batches of any number of chunks have the results and the counts of plain ones. A
// client that holds what it has read finds all of it unchanged.
func TestCompactBatches(t *testing.T) {
	random := kvstest.NewRandom(t)
	plain, compact := service.New(engine.NewMutex()), service.New(engine.NewSyncMap())
	near, far := plain.Open("peer"), openVersions(compact)
	for _, n := range []int{0, 1, 255, 256, 257, 512, 1000} {
		ops := kvstest.RandomOps(random, n, kvs.Scan)
		for i := range ops {
			ops[i].Key = fmt.Append(nil, random.IntN(100))
		}
		held := make([]kvs.Version, n)
		for _, step := range []string{"all kinds", "nothing held", "held"} {
			var batch kvs.Batch
			var reply kvs.Reply
			kvstest.Fill(&batch, ops)
			if err := near.BatchPutGet(&batch, &reply); err != nil {
				t.Fatal(err)
			}
			want, _ := kvstest.DecodeReply(&reply)
			for i, r := range callCompact(t, far, ops, held) {
				if r.Unchanged != (held[i] != 0) || !r.Unchanged && (r.Read != want[i].Read || string(r.Value) != string(want[i].Value)) {
					t.Fatalf("%s: operation %d of %d, %s held %d: %+v, want %+v", step, i, n, ops[i].Kind, held[i], r, want[i])
				}
				if ops[i].Kind == kvs.Get && step == "nothing held" {
					held[i] = r.Version
				}
			}
			for i := range ops {
				ops[i].Kind, ops[i].Value = kvs.Get, nil
			}
		}
	}
	if got, want := compact.Counts()["peer"], plain.Counts()["peer"]; got != want {
		t.Errorf("counts %+v, of plain batches %+v", got, want)
	}
}

// The keys of a sample are those of the batch, whose numbers are text for one chunk only.
func TestCompactSample(t *testing.T) {
	svc := service.New(engine.NewSyncMap())
	c := openVersions(svc)
	var batch kvs.Batch
	var reply kvs.Reply
	for i := range 5000 {
		batch.AppendCompact(&kvs.Op{Kind: kvs.Put, Key: fmt.Append(nil, 123456+i/2500), Value: []byte("v")}, 0)
	}
	if err := c.BatchPutGet(&batch, &reply); err != nil {
		t.Fatal(err)
	}
	sampled := uint64(0)
	cells := svc.Sample().Busiest(10)
	for _, cell := range cells {
		sampled += cell.Ops
	}
	if len(cells) != 2 || sampled < 5000/32 {
		t.Errorf("%d operations of %d cells are sampled, want the two keys': %+v", sampled, len(cells), cells)
	}
}

// A compact batch that cannot be applied is an error, and the connection goes on. What was
// applied before is counted.
func TestCompactErrors(t *testing.T) {
	svc := service.New(&spy{Engine: engine.NewSyncMap()})
	c := openVersions(svc)
	get, put := kvs.Op{Kind: kvs.Get, Key: []byte("1")}, kvs.Op{Kind: kvs.Put, Key: []byte("1"), Value: make([]byte, kvs.MaxValueLen)}
	missing, boom := kvs.Op{Kind: kvs.Get, Key: []byte("2")}, kvs.Op{Kind: kvs.Get, Key: []byte("boom")}
	repeat := func(n int, op kvs.Op) func(*kvs.Batch) {
		return func(b *kvs.Batch) {
			for range n {
				b.AppendCompact(&op, 0)
			}
		}
	}
	tests := []struct {
		name    string
		fill    func(*kvs.Batch)
		want    string
		applied uint64
	}{
		{"right", repeat(1, put), "", 1},
		{"malformed", func(b *kvs.Batch) {
			repeat(300, missing)(b)
			body := b.Frame()[kvs.Headroom:]
			*b = *kvstest.Received(append(body, 7), 301)
		}, "malformed batch", 300},
		{"too large", repeat(kvs.MaxBody/kvs.MaxValueLen+1, get), "the reply is too large", kvs.MaxBody/kvs.MaxValueLen + 1},
		{"a panic", func(b *kvs.Batch) { repeat(256, missing)(b); repeat(1, boom)(b) }, "out of order", 256},
		{"right again", repeat(257, missing), "", 257},
	}
	for _, test := range tests {
		before := svc.Counts()["peer"]
		var batch kvs.Batch
		var reply kvs.Reply
		test.fill(&batch)
		err := c.BatchPutGet(&batch, &reply)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: error %.200v, want %q", test.name, err, test.want)
		}
		if errors.Is(err, kvs.ErrMalformed) != strings.HasPrefix(test.want, "malformed") {
			t.Errorf("%s: error %v wraps ErrMalformed, or does not", test.name, err)
		}
		after := svc.Counts()["peer"]
		applied := after.Gets + after.Puts - before.Gets - before.Puts
		if applied != test.applied {
			t.Errorf("%s: %d operations are counted, want %d", test.name, applied, test.applied)
		}
		reply.Free()
	}
}

// A compact call that comes again is answered as it was, though another client has written
// since: the digest is that of the versions that it carries.
func TestCompactAnswersAreRemembered(t *testing.T) {
	svc := service.New(engine.NewSyncMap())
	session, other := resume(t, svc, aSession(1)), openVersions(svc)
	session.Versions = true
	key := []byte("7")
	put, get := kvs.Op{Kind: kvs.Put, Key: key, Value: []byte("value")}, []kvs.Op{{Kind: kvs.Get, Key: key}}
	held := []kvs.Version{callCompact(t, other, []kvs.Op{put}, make([]kvs.Version, 1))[0].Version}
	var batch kvs.Batch
	batch.AppendCompact(&get[0], held[0])
	for _, first := range []bool{true, false} {
		var reply kvs.Reply
		if err := session.Answer(0, &batch, &reply); err != nil {
			t.Fatal(err)
		}
		if results, err := kvstest.DecodeVersions(&reply, get, held); err != nil || !results[0].Unchanged {
			t.Errorf("first %t: %+v, %v", first, results, err)
		}
		reply.Free()
		callCompact(t, other, []kvs.Op{put}, make([]kvs.Version, 1))
	}
	var reply kvs.Reply
	if err := session.Answer(1, &batch, &reply); err != nil {
		t.Fatal(err)
	}
	if results, err := kvstest.DecodeVersions(&reply, get, held); err != nil || results[0].Unchanged {
		t.Errorf("the next call: %+v, %v", results, err)
	}
}
