package history

import (
	"bytes"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"kvlab/metrics"
)

// The builders of histories. The clients' worker 0 writes.

func put(client int, version uint32, call, back int64) op {
	return op{Client: client, Wrote: metrics.MakeWriteID(client, 0, version), CallNs: call, ReturnNs: back}
}

func get(v metrics.WriteID, call, back int64) op { return op{Read: &v, CallNs: call, ReturnNs: back} }

func modify(v metrics.WriteID, client int, version uint32, call, back int64) op {
	o := put(client, version, call, back)
	o.Read = &v
	return o
}

func valueOf(client int, version uint32) metrics.WriteID {
	return metrics.MakeWriteID(client, 0, version)
}

func TestVerify(t *testing.T) {
	spans := []metrics.WorkerSpan{
		{Client: 0, First: 10, Last: 19, BegunNs: 100, EndedNs: 200},
		{Client: 1, First: 10, Last: 19, BegunNs: 100, EndedNs: 200},
	}
	tests := []struct {
		name string
		ops  []op
		want string // in Why; "" for OK
	}{
		{"nothing", nil, ""},
		{"in order", []op{put(0, 11, 110, 120), get(valueOf(0, 11), 121, 130)}, ""},
		{"stale", []op{put(0, 11, 110, 120), put(1, 11, 121, 130), get(valueOf(0, 11), 131, 140)}, "each there after the other"},
		{"stale, but beside the second put", []op{put(0, 11, 110, 120), put(1, 11, 121, 140), get(valueOf(0, 11), 131, 139)}, ""},
		{"back and forth", []op{put(0, 11, 110, 190), put(1, 11, 110, 190), get(valueOf(0, 11), 111, 112), get(valueOf(1, 11), 113, 114), get(valueOf(0, 11), 115, 116)}, "each there after the other"},
		{"before it was written", []op{get(valueOf(0, 11), 111, 112), put(0, 11, 113, 114)}, "read before it was written"},
		{"never written", []op{get(valueOf(0, 11), 111, 112)}, "0.0#11 was read, which was not written"},
		{"written before the slice", []op{get(valueOf(0, 9), 150, 160)}, ""},
		{"written before the slice, and gone", []op{put(1, 11, 101, 110), get(valueOf(0, 9), 150, 160)}, "each there after the other"},
		{"written after the slice", []op{get(valueOf(0, 20), 190, 210)}, ""},
		{"read before it can have been written", []op{get(valueOf(0, 20), 190, 199)}, "read before it was written"},
		{"a stranger's", []op{put(0, 11, 101, 110), get(valueOf(7, 1), 150, 160), get(valueOf(7, 2), 161, 170)}, ""},
		{"a stranger's, and back again", []op{get(valueOf(7, 1), 150, 160), get(valueOf(7, 2), 161, 170), get(valueOf(7, 1), 171, 180)}, "each there after the other"},
		{"missing", []op{get(metrics.NoWrite, 150, 160), put(0, 11, 155, 170), get(valueOf(0, 11), 171, 180)}, ""},
		{"lost", []op{put(0, 11, 101, 110), get(metrics.NoWrite, 150, 160)}, "each there after the other"},
		{"outcome unknown, seen late", []op{put(0, 11, 101, metrics.Never), put(1, 11, 102, 103), get(valueOf(1, 11), 104, 105), get(valueOf(0, 11), 190, 195)}, ""},
		{"outcome unknown, never seen", []op{put(0, 11, 101, metrics.Never), put(1, 11, 102, 103), get(valueOf(1, 11), 190, 195)}, ""},
		{"modified in order", []op{put(0, 11, 101, 190), modify(valueOf(0, 11), 1, 11, 101, 190), modify(valueOf(1, 11), 0, 12, 101, 190), get(valueOf(1, 11), 150, 155)}, ""},
		{"modified twice", []op{put(0, 11, 101, 190), modify(valueOf(0, 11), 1, 11, 101, 190), modify(valueOf(0, 11), 0, 12, 101, 190)}, "two read-modify-writes replaced 0.0#11"},
		{"there after it was modified", []op{put(0, 11, 101, 190), modify(valueOf(0, 11), 1, 11, 101, 190), get(valueOf(1, 11), 120, 130), get(valueOf(0, 11), 131, 140)}, "which replaced it"},
		{"put between a modification", []op{put(0, 11, 101, 110), put(1, 11, 111, 120), modify(valueOf(0, 11), 1, 12, 121, 130)}, "each there after the other"},
		{"modified in a circle", []op{modify(valueOf(0, 11), 1, 11, 101, 190), modify(valueOf(1, 11), 0, 11, 101, 190)}, "each read what another of them wrote"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := Verify(metrics.History{Key: "k", Ops: test.ops, Spans: spans})
			if (r.Outcome == OK) != (test.want == "") || r.Outcome == Unknown || !strings.Contains(r.Why, test.want) {
				t.Fatalf("%s: %q, want %q", r.Outcome, r.Why, test.want)
			}
			if r.Outcome == OK {
				return
			}
			var page bytes.Buffer
			if err := draw(&page, r.Part); err != nil || !bytes.Contains(page.Bytes(), []byte("<html")) {
				t.Errorf("a picture of %d bytes, error %v", page.Len(), err)
			}
		})
	}
}

// Two writes of one value are no fault of the store, and nothing can be said then.
func TestVerifyWrittenTwice(t *testing.T) {
	r := Verify(metrics.History{Key: "k", Ops: []op{put(0, 11, 101, 110), put(0, 11, 120, 130)}})
	if r.Outcome != Unknown || !strings.Contains(r.Why, "0.0#11 was written twice") {
		t.Errorf("%s: %q", r.Outcome, r.Why)
	}
}

// Sorting says of random histories what porcupine's search says.
func TestVerifyAgainstSearch(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	rounds := 3000
	if os.Getenv("KVLAB_LONG") == "1" {
		rounds = 300_000
	}
	found := make(map[Outcome]int)
	for range rounds {
		ops := randomHistory(random, false)
		want := judge(ops)
		found[want]++
		if got := Verify(metrics.History{Key: "k", Ops: ops}); got.Outcome != want {
			for _, o := range ops {
				t.Logf("%s [%d, %d]", describe(o), o.CallNs, o.ReturnNs)
			}
			t.Fatalf("%s %s, want %s", got.Outcome, got.Why, want)
		}
	}
	if found[OK] < rounds/10 || found[Illegal] < rounds/10 || found[Unknown] > 0 {
		t.Errorf("histories by outcome %v: one of them hardly occurs", found)
	}
}

// randomHistory gives some operations random intervals around an order that
// explains them, and then perhaps spoils a read or an interval. All writes are in it.
func randomHistory(random *rand.Rand, deletes bool) []op {
	var ops []op
	current := metrics.NoWrite
	var written []metrics.WriteID
	for i := range 3 + random.IntN(12) {
		o := op{Client: random.IntN(3)}
		at := int64(10 * i)
		o.CallNs, o.ReturnNs = at-random.Int64N(40), at+random.Int64N(40)
		if random.IntN(10) == 0 {
			o.ReturnNs = metrics.Never
		}
		kind := random.IntN(3)
		if deletes {
			kind = random.IntN(4)
		} else if current == metrics.NoWrite {
			kind = 0
		}
		if kind > 0 && (kind < 3 || current == metrics.NoWrite) {
			seen := current
			if random.IntN(12) == 0 && len(written) > 0 && kind < 3 {
				seen = written[random.IntN(len(written))]
			}
			if deletes && random.IntN(24) == 0 {
				seen = metrics.NoWrite
			}
			o.Read = &seen
		}
		switch kind {
		case 0, 2:
			current = metrics.MakeWriteID(o.Client, 0, uint32(i+1))
			o.Wrote = current
			written = append(written, current)
		case 3:
			o.Deleted, current = true, metrics.NoWrite
		}
		if random.IntN(30) == 0 {
			shift := random.Int64N(60)
			o.CallNs += shift
			o.ReturnNs = max(o.ReturnNs, o.CallNs)
		}
		ops = append(ops, o)
	}
	return ops
}

// A history with a thousand writes that all overlap, which a search would not
// come to the end of, is verified at once.
func TestVerifyCrowd(t *testing.T) {
	var ops []op
	for i := range 1000 {
		v := valueOf(i, 1)
		ops = append(ops, put(i, 1, 0, 1_000_000), get(v, int64(1000*i), int64(1000*i+1)), get(v, int64(1000*i+500), int64(1000*i+501)))
	}
	if r := Verify(metrics.History{Key: "k", Ops: ops}); r.Outcome != OK {
		t.Errorf("%s: %s", r.Outcome, r.Why)
	}
	ops = append(ops, get(valueOf(500, 1), 600_700, 600_710))
	r := Verify(metrics.History{Key: "k", Ops: ops})
	if r.Outcome != Illegal || len(r.Part) > 6 {
		t.Errorf("%s: %s, %d operations", r.Outcome, r.Why, len(r.Part))
	}
}
