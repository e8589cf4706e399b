package metrics

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// SlicePlan is when all clients of a run record at the same time, and how much
// of it each gives to the launcher: Count slices, each Every after the one
// before, the first as the warm-up begins.
type SlicePlan struct {
	EveryNs int64 `json:"every_ns"`
	Count   int   `json:"count"`
	Ops     int   `json:"ops"` // the most of a client's slice
}

// Every is the time from one slice to the next.
func (p SlicePlan) Every() time.Duration { return time.Duration(p.EveryNs) }

// Slice is one client's part of a slice that all clients have recorded. Its
// times are the clock's that it names.
type Slice struct {
	Number  int    `json:"number"` // from 1
	Client  int    `json:"client"`
	Clock   string `json:"clock"`    // the clock's ID
	ErrorNs int64  `json:"error_ns"` // how far the times are from the clock at most
	Ops     int    `json:"ops"`
	Packed  []byte `json:"packed"` // its histories as JSON, compressed by DEFLATE
}

// maxUnpacked bounds the memory that a slice takes when it is unpacked.
const maxUnpacked = 64 << 20

// Pack sets the slice's histories, one for each key.
func (s *Slice) Pack(histories []History) error {
	for _, h := range histories {
		s.Ops += len(h.Ops)
	}
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.BestSpeed)
	if err == nil {
		err = json.NewEncoder(w).Encode(histories)
	}
	if err == nil {
		err = w.Close()
	}
	s.Packed = packed.Bytes()
	return err
}

// Histories unpacks the slice's histories.
func (s Slice) Histories() (histories []History, err error) {
	text, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(s.Packed)), maxUnpacked))
	if err == nil {
		err = json.Unmarshal(text, &histories)
	}
	if err != nil {
		return nil, fmt.Errorf("unpack a slice: %w", err)
	}
	return histories, nil
}
