package serial

import (
	"io"
	"reflect"
	"testing"

	"kvlab/kvs/history"
	"kvlab/metrics"
)

// The keys a and b, and their first values.
const keyA, keyB = 0, 1

// txn returns a committed transaction of a worker; its writes count from 1.
func txn(worker int, call, back int64, ops ...Op) Attempt {
	return Attempt{Worker: uint16(worker), Number: 7, CallNs: call, ReturnNs: back, Ops: ops}
}

func get(key uint32, read metrics.WriteID) Op { return Op{Key: key, Reads: true, Read: read} }

func put(key uint32, worker int, version uint32) Op {
	return Op{Key: key, Wrote: metrics.MakeWriteID(0, worker, version)}
}

func wrote(worker int, version uint32) metrics.WriteID {
	return metrics.MakeWriteID(0, worker, version)
}

// at gives operations versions.
func at(a Attempt, versions ...uint64) Attempt {
	for i, v := range versions {
		a.Ops[i].Version = v
	}
	return a
}

// Each anomaly has its own name, and the transactions that show it.
func TestWords(t *testing.T) {
	const none = metrics.NoWrite
	tests := []struct {
		anomaly  Anomaly
		why      string
		attempts []Attempt
	}{
		{DirtyWrite, "T2 replaced the a that T1 wrote; T1 replaced the b that T2 wrote", []Attempt{
			at(txn(0, 1, 9, put(keyA, 0, 1), put(keyB, 0, 2)), 1, 2), at(txn(1, 1, 9, put(keyA, 1, 1), put(keyB, 1, 2)), 2, 1)}},
		{CircularFlow, "T2 read the a that T1 wrote; T1 read the b that T2 wrote", []Attempt{
			txn(0, 1, 9, get(keyA, none), put(keyA, 0, 1), get(keyB, wrote(1, 1))), txn(1, 1, 9, get(keyB, none), put(keyB, 1, 1), get(keyA, wrote(0, 1)))}},
		{ReadSkew, "T2 replaced the a that T1 read; T1 read the b that T2 wrote", []Attempt{
			txn(0, 1, 9, get(keyA, none), get(keyB, wrote(1, 2))), txn(1, 1, 9, get(keyA, none), put(keyA, 1, 1), get(keyB, none), put(keyB, 1, 2))}},
		{WriteSkew, "T2 replaced the b that T1 read; T1 replaced the a that T2 read", []Attempt{
			txn(0, 1, 9, get(keyA, none), get(keyB, none), put(keyA, 0, 1)), txn(1, 1, 9, get(keyA, none), get(keyB, none), put(keyB, 1, 1))}},
		{Stale, "T2 replaced the a that T1 read; T2 had returned before T1 was called", []Attempt{
			txn(0, 5, 9, get(keyA, none)), txn(1, 1, 4, get(keyA, none), put(keyA, 1, 1))}},
		{LostUpdate, "T1 and T2 both read a as none and replaced it", []Attempt{
			txn(0, 1, 9, get(keyA, none), put(keyA, 0, 1)), txn(1, 1, 9, get(keyA, none), put(keyA, 1, 1))}},
		{PartialCommit, "another transaction saw a write of T1, but nobody saw that of b as 0.0#2, and T2 did not", []Attempt{
			txn(0, 1, 2, get(keyA, none), put(keyA, 0, 1), get(keyB, none), put(keyB, 0, 2)), txn(1, 3, 4, get(keyA, wrote(0, 1))), txn(2, 5, 6, get(keyB, none))}},
		{ValueBack, "T1 read a as 0.0#1 after T2 had replaced it", []Attempt{
			at(txn(0, 1, 2, put(keyA, 0, 1)), 1), at(txn(1, 1, 9, put(keyA, 1, 1)), 2), at(txn(2, 1, 9, get(keyA, wrote(0, 1))), 3)}},
	}
	for _, test := range tests {
		t.Run(string(test.anomaly), func(t *testing.T) {
			h := History{Keys: []string{"a", "b"}, Attempts: test.attempts, Spans: []metrics.WorkerSpan{{Last: 9}, {Worker: 1, Last: 9}, {Worker: 2, Last: 9}}}
			f := Check(&h)
			if f == nil || f.Anomaly != test.anomaly {
				t.Fatalf("%+v", f)
			}
			if want := string(test.anomaly) + ": " + test.why + ". T1 is transaction 7 of worker "; len(f.Why) < len(want) || f.Why[:len(want)] != want {
				t.Errorf("%s\nwant %s", f.Why, want)
			}
			dir := t.TempDir()
			if err := history.Save(io.Discard, dir, "client0", *f.Violation()); err != nil {
				t.Fatal(err)
			}
			if again, err := Load(dir + "/history-client0.json"); err != nil || !reflect.DeepEqual(again, f) {
				t.Errorf("read back: %+v, %v", again, err)
			}
		})
	}
}
