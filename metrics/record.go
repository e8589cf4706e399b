// Package metrics holds what happened: the records a node reports, the
// recorders and samplers that make them, and their reader.
//
// A run flows through the package in four steps:
//
//  1. A worker gives each call's latency to its Recorder.
//  2. Once a second a node turns recorders and counters into an Interval, and a
//     Sampler turns /proc into a Usage.
//  3. At its end a node reports a Summary.
//  4. Each of these is one Record, a line of JSON. ReadRecords reads the lines back. The
//     launcher computes a Run from them.
package metrics

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"time"
)

// Role is a node's side of the connection: server or client.
type Role string

// The two roles of a node.
const (
	Server Role = "server"
	Client Role = "client"
)

// Rest stands for what a run's machines did beside its nodes' processes, in Run.Used. No node has it.
const Rest Role = "rest"

// Rival returns the role of the programs of extra/rivals, by which a plan keeps their digests.
func (r Role) Rival() Role { return "rivals " + r }

// Phase is a stretch of a trial. Only what happens in the window is a result.
type Phase string

// The phases of a trial, in their order.
const (
	Idle   Phase = "idle"   // started, no operation yet
	Load   Phase = "load"   // records are stored and read back
	WarmUp Phase = "warmup" // the workload runs, unmeasured
	Window Phase = "window" // the workload runs, measured
	Drain  Phase = "drain"  // calls that were in flight at the window's end complete
	Done   Phase = "done"   // no operation any more
)

// Record is one line of a node's .jsonl file. Exactly one of the pointers is
// set. Time is when the record was made. It is the launcher's wall clock at the run's
// start, plus the time since then by the node's monotonic clock. So all nodes use one
// clock, however their own are set.
type Record struct {
	Node      string       `json:"node"`
	Role      Role         `json:"role"`
	Time      time.Time    `json:"time"`
	Config    *Config      `json:"config,omitempty"`
	Interval  *Interval    `json:"interval,omitempty"`
	Usage     *Usage       `json:"usage,omitempty"`
	Histogram *Histogram   `json:"histogram,omitempty"`
	Summary   *Summary     `json:"summary,omitempty"`
	Violation *Violation   `json:"violation,omitempty"` // of a client with -linearizable, at most one
	Slice     *Slice       `json:"slice,omitempty"`     // of a client with -linearizable; for the launcher alone, in no file
	Audit     *AuditRecord `json:"audit,omitempty"`     // of a client
	Arrival   *Arrival     `json:"arrival,omitempty"`   // by the launcher
}

// ErrCutShort is the error of a file that ends in the middle of a record, as an aborted
// run leaves it. ReadRecords wraps it with file and line, after all whole records.
var ErrCutShort = errors.New("record cut short at the end of the file")

// WriteRecord writes a record as a line of JSON, in one call of w.Write, so that an abort
// leaves whole lines and at most one cut short. It returns an error and writes nothing if
// the record does not have exactly one of the pointers, or has a number that JSON cannot
// hold (NaN).
func WriteRecord(w io.Writer, r Record) error {
	err := r.validate()
	if err == nil {
		err = json.NewEncoder(w).Encode(r)
	}
	if err != nil {
		return fmt.Errorf("write a record of %s: %w", r.Node, err)
	}
	return nil
}

// ReadRecords yields the records that WriteRecord wrote. It ends with the file, or with an
// error that names file and line. name is the file's name. It refuses a file of another
// Schema.
func ReadRecords(name string, in io.Reader) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		text := json.NewDecoder(in)
		for line := 1; ; line++ {
			var r Record
			err := text.Decode(&r)
			switch {
			case err == io.EOF:
				return
			case err == nil && r.Config != nil && r.Config.Schema != Schema:
				yield(r, fmt.Errorf("%s:%d: %w", name, line, CheckSchema("it", r.Config.Schema)))
				return
			case err == nil:
				err = r.validate()
			case errors.Is(err, io.ErrUnexpectedEOF):
				err = ErrCutShort
			default:
				err = fmt.Errorf("not a record: %w", err)
			}
			if err != nil {
				yield(r, fmt.Errorf("%s:%d: %w", name, line, err))
				return
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}

// validate checks what every reader relies on.
func (r Record) validate() error {
	set := 0
	for _, isSet := range []bool{r.Config != nil, r.Interval != nil, r.Usage != nil, r.Histogram != nil, r.Summary != nil, r.Violation != nil, r.Slice != nil, r.Audit != nil, r.Arrival != nil} {
		if isSet {
			set++
		}
	}
	switch {
	case r.Node == "":
		return errors.New("record without a node name")
	case r.Role != Server && r.Role != Client:
		return fmt.Errorf("record of %s has role %q, want %q or %q", r.Node, r.Role, Server, Client)
	case set != 1:
		return fmt.Errorf("record of %s has %d of config, interval, usage, histogram and summary, want one", r.Node, set)
	}
	return nil
}

// Interval is what one node did in about one second.
type Interval struct {
	Phase   Phase   `json:"phase"`    // at the interval's end
	StartS  float64 `json:"start_s"`  // monotonic seconds since the node started
	LengthS float64 `json:"length_s"` // monotonic seconds
	Counts  Counts  `json:"counts"`
}

// OpsPerS returns the interval's rate in operations per second; 0 for an empty one.
func (i Interval) OpsPerS() float64 { return PerSecond(float64(i.Counts.Ops()), i.LengthS) }

// Lines returns the interval as a node's log shows it, each second, in the form that
// the labs' report-tput.py reads: every line with "ops/s" in it is a sample, its
// second word the rate. No other line of a log may hold that word.
//
// The two parts add up to the whole: what leaves the store as it was, gets and scans, and
// all others. A read-modify-write counts once in ops/s, and shows under put/s.
func (i Interval) Lines() string {
	rate := func(n uint64) float64 { return PerSecond(float64(n), i.LengthS) }
	reads := i.Counts.Gets + i.Counts.Scans
	return fmt.Sprintf("get/s %0.2f\nput/s %0.2f\nops/s %0.2f\n\n", rate(reads), rate(i.Counts.Ops()-reads), i.OpsPerS())
}

// The names of the latency histograms. WaitLatency and the three parts of
// CallLatency, added up for one operation, are its OpLatency.
const (
	CallLatency   = "call"   // from a call's send to its reply
	OpLatency     = "op"     // from the moment an operation was due (closed loop: its round begun) to its reply; a kind's is named as in KindNames
	WaitLatency   = "wait"   // from the moment an operation was due to its call's send
	QueueLatency  = "queue"  // from a call's send until it was written to the connection
	WireLatency   = "wire"   // what the other parts leave of a call: the network, and both kernels' queues
	ServerLatency = "server" // from the moment the server had read a call to the moment its reply was made
	Lateness      = "late"   // from the moment an operation was due to that at which the generator, which slept, woke up
)

// Reading is what a node answers when the launcher asks for its clocks and counts during a
// run. The node read all of it between Asked and Answered.
type Reading struct {
	Asked    time.Time `json:"asked"`               // by the launcher's clock when the run began, advanced by its monotonic clock
	Answered time.Time `json:"answered"`            // likewise
	Node     time.Time `json:"node"`                // the node's clock of Record.Time
	WindowNs int64     `json:"window_ns,omitempty"` // the clock by which a client measures its window; 0 of a server
	Ops      uint64    `json:"ops"`                 // of the node so far, read within TookNs after Node
	TookNs   int64     `json:"took_ns"`

	// CPUNs is the processor time of Process, which the node samples, as the kernel told the
	// launcher between Asked and Answered; nil of a process on another machine.
	Process ProcessID `json:"process,omitzero"`
	CPUNs   *int64    `json:"cpu_ns,omitempty"`
}

// Readings are a node's, in order.
type Readings []Reading

// Ops bounds the operations between two times of the node's clock of Record.Time, each known
// to errorS seconds: 0 and MaxFloat64 where no readings are outside of them.
func (all Readings) Ops(from, to time.Time, errorS float64) (least, most float64) {
	return all.grown(from, to, errorS, func(r Reading) (begun, ended time.Time, total float64, ok bool) {
		return r.Node, r.Node.Add(time.Duration(r.TookNs)), float64(r.Ops), true
	})
}

// CPU bounds the seconds of processor time likewise, for a process on the launcher's machine.
func (all Readings) CPU(from, to time.Time, errorS float64) (least, most float64) {
	return all.grown(from, to, errorS, func(r Reading) (begun, ended time.Time, total float64, ok bool) {
		if r.CPUNs == nil {
			return begun, ended, 0, false
		}
		return r.Asked, r.Answered, float64(*r.CPUNs) / 1e9, true
	})
}

// grown bounds how far a total grows between two times. Each reading of it was taken at some
// moment from begun to ended.
func (all Readings) grown(from, to time.Time, errorS float64, of func(Reading) (begun, ended time.Time, total float64, ok bool)) (least, most float64) {
	slack := time.Duration(errorS * float64(time.Second))
	before, after := math.Inf(-1), math.Inf(1) // the totals of the readings next to the times, outside
	first, last := math.Inf(1), math.Inf(-1)   // inside
	for _, r := range all {
		begun, ended, total, ok := of(r)
		if !ok {
			continue
		}
		if !ended.After(from.Add(-slack)) {
			before = max(before, total)
		}
		if !begun.Before(to.Add(slack)) {
			after = min(after, total)
		}
		if !begun.Before(from.Add(slack)) && !ended.After(to.Add(-slack)) {
			first, last = min(first, total), max(last, total)
		}
	}
	return max(0, last-first), min(math.MaxFloat64, after-before)
}

// Arrival is what the launcher heard of a node, or did with it, at the record's time. The
// launcher adds it to the node's file.
type Arrival struct {
	Event string `json:"event"` // the phase that a client entered, or one of the following

	// Of Tested, the seconds of the warm-up whose rates the launcher tested: from From up to,
	// but without, To. Of Read, how many earlier readings the launcher keeps.
	From    int      `json:"from,omitempty"`
	To      int      `json:"to,omitempty"`
	Reading *Reading `json:"reading,omitempty"` // of Read

	Window *WindowLength `json:"window,omitempty"` // of Told
}

// The events of an Arrival that are no phases.
const (
	Tested   = "tested"   // in the file of the first client
	Read     = "read"     // the node has answered with a Reading
	Told     = "told"     // to a client: the window's length
	Killed   = "killed"   // the launcher killed the server's process
	Ready    = "ready"    // the process in its place served
	Finished = "finished" // every process of the run has left after its work
)
