package serial

import (
	"fmt"

	"kvlab/metrics"
)

// History holds all attempts that touched some keys, by all recorded workers.
type History struct {
	Keys     []string             `json:"keys"`
	Attempts []Attempt            `json:"attempts"`
	Spans    []metrics.WorkerSpan `json:"spans"` // of all who recorded; of others' writes nothing is known
}

// Committed returns the number of committed transactions.
func (h *History) Committed() (n int) {
	for i := range h.Attempts {
		if h.Attempts[i].Outcome == Committed {
			n++
		}
	}
	return n
}

// Outcome is the outcome of an attempt, as the store told it.
type Outcome uint8

// The outcomes.
const (
	Committed Outcome = iota
	Aborted
	Unknown // the store may have committed it, and may still do so
)

var outcomes = [...]string{"committed", "aborted", "unknown"}

// String returns the outcome as a word.
func (o Outcome) String() string { return outcomes[o] }

// Attempt is one attempt of a transaction. No two attempts write the same value: each stamps
// its values anew.
type Attempt struct {
	Client  uint16  `json:"client"`
	Worker  uint16  `json:"worker"`
	Number  uint32  `json:"number"`            // of the transaction, among its worker's
	Try     uint16  `json:"attempt,omitempty"` // from 0
	Outcome Outcome `json:"outcome,omitempty"`

	CallNs   int64 `json:"call_ns"`   // before its first operation was sent
	ReturnNs int64 `json:"return_ns"` // after the store told the outcome; ignored unless committed
	Ops      []Op  `json:"ops"`       // in the transaction's order
}

// Op is one operation of an attempt. A read-modify-write reads and writes.
type Op struct {
	Key   uint32          `json:"key"`             // its number in Keys
	Reads bool            `json:"reads,omitempty"` // it read, and what it read is known
	Read  metrics.WriteID `json:"read,omitempty"`  // NoWrite when the key was not there
	Wrote metrics.WriteID `json:"wrote,omitempty"` // NoWrite of a read

	// Version is what the store tells of the key's order; 0 if it tells nothing. A later write
	// of the key has a greater version. The version of a read is not less than that of the
	// write it saw, and less than that of the next write.
	Version uint64 `json:"version,omitempty"`
}

// Anomaly names a fault.
type Anomaly string

// The anomalies: those of the tables, and those of the cycles.
const (
	AbortedRead       Anomaly = "aborted read (G1a)"
	IntermediateRead  Anomaly = "intermediate read (G1b)"
	ValueOfNobody     Anomaly = "value of nobody"
	OwnWriteUnseen    Anomaly = "own write unseen"
	NonRepeatableRead Anomaly = "non-repeatable read"
	LostUpdate        Anomaly = "lost update"
	ValueBack         Anomaly = "value back after its successor"
	PartialCommit     Anomaly = "partial commit"
	WrongVersion      Anomaly = "wrong version"

	DirtyWrite   Anomaly = "dirty write (G0)"
	CircularFlow Anomaly = "circular information flow (G1c)"
	ReadSkew     Anomaly = "read skew (G-single)"
	WriteSkew    Anomaly = "write skew (G2)"
	Stale        Anomaly = "stale"
)

// Fault is why a history is not strictly serializable.
type Fault struct {
	Anomaly Anomaly   `json:"anomaly"`
	Why     string    `json:"why"`  // names the transactions T1, T2, ... of Part
	Part    []Attempt `json:"part"` // the transactions that contradict each other
	History History   `json:"history"`
}

// Load reads a file that history.Save wrote.
func Load(path string) (*Fault, error) {
	f := new(Fault)
	err := metrics.ReadJSON(path, f)
	if err == nil && len(f.History.Attempts) == 0 {
		err = fmt.Errorf("%s: a history without transactions: want a history-NODE.json of a run with -txn", path)
	}
	return f, err
}
