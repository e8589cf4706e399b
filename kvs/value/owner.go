package value

import (
	"encoding/binary"
	"fmt"

	"kvlab/metrics"
	"kvlab/workload"
)

// Owner is a worker that replays its part of a trace. No other worker writes its keys, but
// when they are loaded: it knows exactly what it must find.
type Owner struct {
	workload.Place
	Records uint64 // that are loaded
	Loaded  uint32 // the version of its last write of the load
}

// Check checks what is found under a key: a value if it is there. A Delete has no value and
// gives nil.
func (o *Owner) Check(value []byte, there bool, want workload.Found) error {
	wrote := metrics.MakeWriteID(o.Node, o.Worker, 0) + metrics.WriteID(o.Loaded+want.Write)
	switch {
	case there && want.Size == 0:
		return fmt.Errorf("the key is there, and must be absent")
	case !there && want.Size > 0:
		return fmt.Errorf("the key is absent, want %d bytes of %s", want.Size, wrote)
	case value == nil:
		return nil
	case len(value) != int(want.Size):
		return fmt.Errorf("a value of %d bytes, want %d of %s", len(value), want.Size, wrote)
	}
	found := metrics.WriteID(binary.LittleEndian.Uint64(value[8:]))
	if want.Write > 0 && found != wrote || want.Write == 0 && !o.loaded(found) {
		return fmt.Errorf("the value of %s, want %s: only this worker writes the key", found, wrote)
	}
	return nil
}

// loaded reports whether a write may be one of the load.
func (o *Owner) loaded(by metrics.WriteID) bool {
	if by.Client() >= o.Nodes || by.Worker() >= o.Workers {
		return false
	}
	place := o.Place
	place.Node, place.Worker = by.Client(), by.Worker()
	first, last := place.Part(o.Records)
	return uint64(by.Version()) <= last-first
}
