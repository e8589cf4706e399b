package metrics

import (
	"bytes"
	"cmp"
	"compress/flate"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"
)

// Audit is the result of the final audit: after the drain, the clients read a sample of
// keys, and each value must be one that the acknowledged writes allow.
type Audit struct {
	Secret   string `json:"secret"`          // what selected the keys, in hex; no server knew it before the end
	Each     int    `json:"each"`            // the most keys of each range of popularity ranks
	Keys     int    `json:"keys"`            // in the sample; of inserted records those of acknowledged inserts
	Written  int    `json:"written"`         // of them, those with an acknowledged write of the workload
	Spots    int    `json:"spots"`           // reads of some of them among the operations of the window
	Failures int    `json:"failures"`        // of the keys and the spots, those that were not read or whose value cannot be
	First    string `json:"first,omitempty"` // the first of these in words
}

// Fault says in words what the audit found wrong; "" when all is right.
func (a Audit) Fault() string {
	if a.Failures == 0 {
		return ""
	}
	return fmt.Sprintf("the audit found %d of %d reads wrong: %s", a.Failures, a.Keys+a.Spots, a.First)
}

// Text sums the audit up in a line.
func (a Audit) Text() string {
	return fmt.Sprintf("audited %d keys after the run, %d of them written in it, and %d in the window: %d wrong", a.Keys, a.Written, a.Spots, a.Failures)
}

// ReplayRest is the most keys of its part of a trace that a worker reads after the drain, those
// that the trace loads first, and of these the most popular ones.
const ReplayRest = 4096

// ExpirySlack is how much before or after its time to live a key may expire: memcached counts whole
// seconds, by a clock that goes by seconds (doc/protocol.txt).
const ExpirySlack = time.Second

// AuditEach returns the most keys of each range of popularity ranks that an audit reads: 8,500 of
// 10^6 records in all. With -linearizable, for mistakes that few keys show, it is 115,000.
func AuditEach(linearizable bool) int {
	if linearizable {
		return 16 << 10
	}
	return 768
}

// AuditRecord is one client's part of the audit. Its times count ticks of TickNs since
// OriginNs of the clock. A write was sent no earlier than its first tick and acknowledged
// no later than its second one.
type AuditRecord struct {
	Client   int      `json:"client"`
	Each     int      `json:"each"`      // the most keys of each range of popularity ranks
	Clock    string   `json:"clock"`     // the clock's ID
	ErrorNs  int64    `json:"error_ns"`  // how far the times are from the clock at most
	OriginNs int64    `json:"origin_ns"` // on the clock
	TickNs   int64    `json:"tick_ns"`
	Loaded   []uint32 `json:"loaded"`  // each worker's last version of the load
	LoadNs   [2]int64 `json:"load_ns"` // when it began to store the records and when it had, on the clock
	ReadNs   [2]int64 `json:"read_ns"` // likewise when it read the sample
	Checks   uint64   `json:"checks"`  // sum of the check bytes of the values that were found
	Packed   []byte   `json:"packed"`  // AuditKeys as JSON, compressed by DEFLATE
}

// AuditKeys are a client's last acknowledged writes of the sample's keys, without those
// that a later write of the same client surely replaced, and the values that it read. A
// key is given by its number in the sample, in which inserted records follow the loaded
// ones.
type AuditKeys struct {
	AuditWrites

	Lost []LostWrite `json:"lost,omitempty"` // writes of these keys whose outcome is unknown

	First int       `json:"first"` // number of the first key that was read
	Found []WriteID `json:"found"` // in it and the following ones; NoWrite where it is missing

	Spots  []Spot      `json:"spots"`  // reads of some of these keys in the window
	Before AuditWrites `json:"before"` // of their keys, what each worker knew when the spots began
}

// AuditWrites are acknowledged writes of audited keys. Element i of each is of write i.
// Version 0 is a Delete.
type AuditWrites struct {
	Keys     []int32  `json:"keys"`
	Workers  []uint16 `json:"workers"`
	Versions []uint32 `json:"versions"`
	Sent     []uint32 `json:"sent"`  // ticks
	Acked    []uint32 `json:"acked"` // ticks
}

// Spot is a read of an audited key among the operations of the window.
type Spot struct {
	Key    int32   `json:"key"`
	Worker uint16  `json:"worker"`
	Sent   uint32  `json:"sent"`  // ticks, no later than it was
	Came   uint32  `json:"came"`  // ticks, no earlier than its reply
	Found  WriteID `json:"found"` // NoWrite if the key was missing
}

// LostWrite is a write, or of version 0 a Delete, of one of the sample's keys. The store has
// it, has a later one, or never had it: it is not applied after Learned.
type LostWrite struct {
	Key     int32  `json:"key"`
	Worker  uint16 `json:"worker"`
	Version uint32 `json:"version"`
	Sent    uint32 `json:"sent"`    // ticks, no later than it was
	Learned uint32 `json:"learned"` // ticks, no earlier than its worker learned that its outcome is unknown
}

// Pack sets the record's keys.
func (r *AuditRecord) Pack(keys AuditKeys) (err error) {
	r.Packed, err = deflate(keys)
	return err
}

// Keys unpacks the record's keys. It checks that the columns are equally long.
func (r AuditRecord) Keys() (keys AuditKeys, err error) {
	if err := inflate(r.Packed, &keys); err != nil {
		return keys, fmt.Errorf("unpack an audit: %w", err)
	}
	for _, w := range []AuditWrites{keys.AuditWrites, keys.Before} {
		for _, n := range []int{len(w.Workers), len(w.Versions), len(w.Sent), len(w.Acked)} {
			if n != len(w.Keys) {
				return keys, fmt.Errorf("unpack an audit: %d keys and %d of another column", len(w.Keys), n)
			}
		}
	}
	return keys, nil
}

// deflaters are writers whose tables, some hundred KiB each, are used again.
var deflaters = sync.Pool{New: func() any {
	w, _ := flate.NewWriter(io.Discard, flate.BestSpeed) // no error for a level that exists
	return w
}}

// deflate returns a value as JSON, compressed by DEFLATE.
func deflate(v any) ([]byte, error) {
	var packed bytes.Buffer
	w := deflaters.Get().(*flate.Writer)
	w.Reset(&packed)
	err := cmp.Or(json.NewEncoder(w).Encode(v), w.Close())
	w.Reset(io.Discard)
	deflaters.Put(w)
	return packed.Bytes(), err
}

// maxUnpacked bounds the memory that a packed value takes when it is unpacked.
const maxUnpacked = 64 << 20

// inflate reads what deflate wrote.
func inflate(packed []byte, into any) error {
	text, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), maxUnpacked))
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}
