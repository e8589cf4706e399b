package metrics

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"
)

// What was packed comes out again, through JSON too.
func TestSliceRoundTrip(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	const client, number = 3, 17
	for range 200 {
		var want []History
		for range random.IntN(4) {
			want = append(want, randomSlice(random, client, number))
		}
		text, err := json.Marshal(pack(t, Slice{Number: number, Client: client, Clock: "boot", ErrorNs: 40}, want...))
		if err != nil {
			t.Fatal(err)
		}
		var s Slice
		if err := json.Unmarshal(text, &s); err != nil {
			t.Fatal(err)
		}
		got, err := s.Histories()
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("unpacked %+v, %v, want %+v", got, err, want)
		}
		if s.Number != number || s.Client != client || s.Clock != "boot" || s.ErrorNs != 40 {
			t.Errorf("slice %d of client %d, clock %q within %d ns", s.Number, s.Client, s.Clock, s.ErrorNs)
		}
	}
}

// pack fills a slice with histories.
func pack(t testing.TB, s Slice, histories ...History) Slice {
	t.Helper()
	if err := s.Pack(histories); err != nil {
		t.Fatal(err)
	}
	return s
}

// randomSlice returns one client's history of a key, with the extremes of each number.
func randomSlice(random *rand.Rand, client, number int) History {
	h := History{Key: string(make([]byte, random.IntN(3))), Slice: number}
	ns := func() int64 {
		return []int64{0, Never, random.Int64(), -random.Int64N(100), 1e15 + random.Int64N(1000)}[random.IntN(5)]
	}
	version := func() uint32 { return []uint32{1, 1<<32 - 1, random.Uint32()}[random.IntN(3)] }
	for range random.IntN(5) {
		h.Spans = append(h.Spans, WorkerSpan{Client: client, Worker: random.IntN(1 << 16), First: version(), Last: version(), BegunNs: ns(), EndedNs: ns()})
	}
	for range random.IntN(20) {
		o := HistoryOp{Client: client, Worker: random.IntN(1 << 16), CallNs: ns(), ReturnNs: ns()}
		if random.IntN(2) == 0 {
			o.Wrote = MakeWriteID(client, o.Worker, version())
		}
		if random.IntN(2) == 0 {
			o.Read = new([]WriteID{NoWrite, MakeWriteID(1<<16-1, 1<<16-1, version()), MakeWriteID(0, 0, 1)}[random.IntN(3)])
		}
		h.Ops = append(h.Ops, o)
	}
	return h
}

// What is damaged is an error, and does not panic.
func FuzzSlice(f *testing.F) {
	random := rand.New(rand.NewPCG(1, 1))
	for range 5 {
		f.Add(pack(f, Slice{}, randomSlice(random, 0, 1), randomSlice(random, 0, 1)).Packed)
	}
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, packed []byte) {
		histories, err := Slice{Packed: packed}.Histories()
		if err != nil {
			if histories != nil {
				t.Errorf("%d histories, error %v", len(histories), err)
			}
			return
		}
		if again, err := pack(t, Slice{}, histories...).Histories(); err != nil || !reflect.DeepEqual(again, histories) {
			t.Errorf("%+v, %v, want %+v", again, err, histories)
		}
	})
}

func TestSliceCutShort(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 2))
	whole := pack(t, Slice{}, randomSlice(random, 0, 1)).Packed
	for n := range len(whole) {
		if got, err := (Slice{Packed: whole[:n]}).Histories(); err == nil {
			t.Errorf("%d of %d bytes are taken for %+v", n, len(whole), got)
		}
	}
}
