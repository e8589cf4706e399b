package history

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"kvlab/metrics"
)

func remove(client int, call, back int64) op {
	return op{Client: client, Deleted: true, CallNs: call, ReturnNs: back}
}

// known returns the spans of three clients that recorded all that they did.
func known() (spans []metrics.WorkerSpan) {
	for client := range 3 {
		spans = append(spans, metrics.WorkerSpan{Client: client, Last: 1 << 20, BegunNs: -1 << 40, EndedNs: 1 << 40})
	}
	return spans
}

func TestVerifyDeletes(t *testing.T) {
	none := metrics.NoWrite
	deletedNothing := get(none, 131, 140)
	deletedNothing.Deleted = true
	tests := []struct {
		name     string
		deleters int
		ops      []op
		want     string // in Why; "" for OK
	}{
		{"deleted", 3, []op{put(0, 1, 110, 120), remove(1, 121, 130), get(none, 131, 140)}, ""},
		{"deleted twice", 3, []op{put(0, 1, 110, 120), remove(1, 121, 130), deletedNothing}, ""},
		{"deleted and put again", 3, []op{put(0, 1, 110, 120), remove(1, 121, 130), get(none, 131, 140), put(0, 2, 141, 150), get(valueOf(0, 2), 151, 160)}, ""},
		{"absent, present, absent", 3, []op{get(none, 101, 102), put(0, 1, 110, 120), remove(1, 121, 130), get(none, 131, 140), put(0, 2, 141, 150), remove(1, 151, 160), get(none, 161, 170)}, ""},
		{"a delete undone", 3, []op{put(0, 1, 110, 120), remove(1, 121, 130), get(valueOf(0, 1), 131, 140)}, "each there after the other"},
		{"a delete undone, the value being older than the slice", 3, []op{get(valueOf(2, 1<<21), 1<<41, 1<<41+1), remove(1, 1<<41+2, 1<<41+3), get(valueOf(2, 1<<21), 1<<41+4, 1<<41+5)}, "each there after the other"},
		{"a read beside the delete", 3, []op{put(0, 1, 110, 120), remove(1, 121, 135), get(valueOf(0, 1), 131, 140)}, ""},
		{"absent between two reads of a value", 3, []op{put(0, 1, 110, 120), get(none, 121, 130), get(valueOf(0, 1), 131, 140)}, "no delete can have removed it"},
		{"lost", 3, []op{put(0, 1, 110, 120), get(none, 121, 130)}, "no delete can have removed it"},
		{"lost after the delete", 3, []op{put(0, 1, 100, 101), remove(1, 102, 103), put(0, 2, 110, 120), get(none, 121, 130)}, "nothing was there after 0.0#2"},
		{"lost by a modification's account", 3, []op{put(0, 1, 110, 120), modify(none, 1, 2, 121, 130)}, "no delete can have removed it"},
		{"lost, or another client deleted it", 4, []op{put(0, 1, 110, 120), get(none, 121, 130)}, ""},
		{"lost, or deleted by who got no answer", 3, []op{put(0, 1, 110, 120), get(none, 121, 130), remove(1, 105, metrics.Never)}, ""},
		{"deleted by who got no answer, but later", 3, []op{put(0, 1, 110, 120), get(none, 121, 130), remove(1, 131, metrics.Never)}, "no delete can have removed it"},
		{"modified after the delete", 3, []op{put(0, 1, 110, 120), remove(2, 121, 130), modify(none, 1, 2, 131, 140), get(valueOf(1, 2), 141, 150)}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := Verify(metrics.History{Key: "k", Ops: test.ops, Spans: known(), Deleters: test.deleters})
			if (r.Outcome == OK) != (test.want == "") || r.Outcome == Unknown || !strings.Contains(r.Why, test.want) {
				t.Errorf("%s: %q, want %q", r.Outcome, r.Why, test.want)
			}
		})
	}
}

// No random history with deletes that a search explains is called wrong, and of those that
// it does not explain two of three are found.
func TestVerifyDeletesAgainstSearch(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	rounds := 3000
	if os.Getenv("KVLAB_LONG") == "1" {
		rounds = 300_000
	}
	illegal, found := 0, 0
	for range rounds {
		ops := randomHistory(random, true)
		h := metrics.History{Key: "k", Ops: ops, Spans: known(), Deleters: 3}
		want, got := judge(ops), Verify(h)
		if got.Outcome == Unknown || got.Outcome == Illegal && want == OK {
			for _, o := range ops {
				t.Logf("%s [%d, %d]", describe(o), o.CallNs, o.ReturnNs)
			}
			t.Fatalf("%s %s, want %s", got.Outcome, got.Why, want)
		}
		if want == Illegal {
			if illegal++; got.Outcome == Illegal {
				found++
			}
		}
		if h.Deleters = 4; got.Outcome == OK && Verify(h).Outcome != OK {
			t.Error("a history that is right if all who delete are known is wrong if not")
		}
	}
	t.Logf("%d of %d illegal histories found", found, illegal)
	if illegal < rounds/15 || found < illegal*2/3 {
		t.Errorf("%d of %d illegal histories of %d were found", found, illegal, rounds)
	}
}
