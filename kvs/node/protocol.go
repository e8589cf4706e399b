// Package node runs a node's process: the launcher's protocol, facts about the
// machine, reports, and an orderly exit.
//
// The launcher starts kvsserver or kvsclient with the single flag -control, locally or
// through ssh, and owns its standard input and output. Each line is one JSON object: a
// Command to the node, or an Event from it. Nothing else is needed: no shared file
// system, no port but the store's own, no argument through a remote shell.
//
//	launcher                     server            client
//	clock, facts, dial   ------>  answered <-->  (before a run; see probe.go)
//	start(args, token)   ------>  listen
//	                     <------  ready(addr)
//	start(args, token)   ------------------------>  dial every server
//	                     <------------------------  connected
//	load(values)         ------------------------>  store and read back its records
//	                     <------------------------  loaded(round)
//	draw(batch, slices, secret) ----------------->  draw the first rounds
//	                     <------------------------  drawn
//	go(at)               ------------------------>  warm-up, window, drain
//	                     <------------------------  phase(warmup|window|drain)
//	                     <------------------------  warm(round): the warm-up is about to end
//	settle(extend, at, length) ------------------>  end it, or repeat it once
//	phase(...)           ------>  change phase
//	                     <------------------------  drained
//	                     <------  drained: has entered the drain
//	audit                ------------------------>  read the audited keys
//	                     <------------------------  record(audit), record(summary), done
//	stop                 ------>  record(summary)
//	                     <------  done
//
// A node sends log and record events at any time: an interval record each second, which
// is also its heartbeat, and with -linearizable its part of each slice that all clients
// record together. An error event is a node's last. A node exits at once when its standard
// input closes or its Lease expires.
package node

import (
	"time"

	"kvlab/kvs/certs"
	"kvlab/metrics"
)

// Search asks for the servers of a foreign store that runs.
type Search struct {
	Target   string `json:"target"` // as -target has it; it hides the password
	Password string `json:"password,omitempty"`
}

// Found are the servers of a foreign store, and the router of its keys; "" for any.
type Found struct {
	Servers []string `json:"servers"`
	Router  string   `json:"router,omitempty"`
}

// The commands a launcher sends.
const (
	Start  = "start"  // Args and Token; before the others
	Load   = "load"   // to clients
	Draw   = "draw"   // to clients, when all have loaded: draw the first rounds
	Go     = "go"     // to clients
	Phase  = "phase"  // to servers: the clients have entered Phase
	Stop   = "stop"   // to servers: report and exit
	Audit  = "audit"  // to clients, when all have drained: read the keys that the secret selects
	Settle = "settle" // to clients, in answer to Warm: when the window opens, and its length; Extend repeats the warm-up once

	// Package node handles these at any time; programs never see them.
	Beat = "beat" // renews the lease
	Dump = "dump" // log every goroutine's stack; the host of a foreign store in Go has the store print its own

	// These ask about the machine, each for an Answered event. Programs never see
	// them either.
	Clock = "clock" // what time is it?
	Facts = "facts" // what is this machine?
	Dial  = "dial"  // how far away are Peers?
)

// Command is one line from the launcher to a node.
type Command struct {
	Do     string             `json:"do"`
	Args   []string           `json:"args,omitempty"`  // the node's command line, without its name
	Token  string             `json:"token,omitempty"` // the run's secret; never in argv or the environment
	Trust  *certs.Credentials `json:"trust,omitempty"` // with Start: for -tls, as secret as Token
	Cores  string             `json:"cores,omitempty"` // with Start: the processors to run on, as ParseCores reads them
	GCS    float64            `json:"gc_s,omitempty"`  // with Start: seconds between two forced garbage collections; 0: none
	Phase  metrics.Phase      `json:"phase,omitempty"`
	Extend bool               `json:"extend,omitempty"`   // with Settle
	Clock  *ClockSync         `json:"epoch,omitempty"`    // with Start: the run's clock
	At     time.Time          `json:"at,omitzero"`        // in run time: with Go when the warm-up begins, with Settle when the window opens
	Length float64            `json:"length_s,omitempty"` // with Settle: of the window, in seconds; with Phase: so much of it at least
	Lease  *Lease             `json:"lease,omitempty"`    // with any command

	Question Question `json:"question,omitzero"` // with Facts and Dial

	Password string `json:"password,omitempty"` // with Start: of the foreign store, as secret as Token: Args hide it

	Contain []string `json:"contain,omitempty"` // with Start: the words in front of a foreign store's program that contain it

	Values string            `json:"values,omitempty"` // with Load: the key of the values, as value.ParseKey reads it; servers never get it
	Batch  uint64            `json:"batch,omitempty"`  // with Draw: replaces the default of -batch; 0: nothing does
	Secret uint64            `json:"secret,omitempty"` // with Draw: selects the audited keys; servers never get it
	Slices metrics.SlicePlan `json:"slices,omitzero"`  // with Draw: of clients with -linearizable, when there are several
}

// The events a node sends. A client's phase event reuses the word Phase.
const (
	Ready     = "ready"     // a server listens on Addr
	Connected = "connected" // a client has a connection to every server
	Loaded    = "loaded"    // a client's records are stored and read back
	Drawn     = "drawn"     // a client's first rounds are drawn
	Warm      = "warm"      // a client's warm-up is about to end, or without one its window is half over; it has reported and awaits Settle
	Drained   = "drained"   // no call of a client's workload is in flight; a server counts what follows as the drain's
	Done      = "done"      // the node has reported everything and will exit with status 0
	Log       = "log"       // Text is one line for the node's log file
	Output    = "output"    // Text is one line of the output of a foreign store's program, for its own file
	Report    = "record"    // Record is one line for the node's .jsonl file
	Answered  = "answered"  // Answer is the answer to the oldest open question
	Dumped    = "dumped"    // every goroutine's stack is in the log, or those of a foreign store in its output
	Profiled  = "profiled"  // with -profile, after the window: Profile is of the process, or of the foreign store; Text says why there is none
	Contained = "contained" // sent by the process that contains the node's, first of all: Process is itself; then, as by the host of a contained store, at its end: PeakBytes
	Error     = "error"     // Text says why the node failed; it will exit non-zero
)

// Event is one line from a node to the launcher.
type Event struct {
	Event  string          `json:"event"`
	Addr   string          `json:"addr,omitempty"`
	Phase  metrics.Phase   `json:"phase,omitempty"`
	RoundS float64         `json:"round_s,omitempty"` // with Warm: the longest recent round of a worker; with Loaded: an estimate by the load's speed, 0 if it says little
	Text   string          `json:"text,omitempty"`
	Usage  bool            `json:"usage,omitempty"` // with Error: the command line is wrong (exit status 2)
	Peer   string          `json:"peer,omitempty"`  // with Error: the node that caused it, if it is another one
	Lost   bool            `json:"lost,omitempty"`  // with Peer: it answers, but has lost its records
	Ended  bool            `json:"ended,omitempty"` // with Error: a signal or the end of its lease has ended the node
	Record *metrics.Record `json:"record,omitempty"`
	Answer *Answer         `json:"answer,omitempty"`

	Process   *metrics.ProcessID `json:"process,omitempty"`    // with Contained
	Profile   []byte             `json:"profile,omitempty"`    // as go tool pprof reads it
	PeakBytes uint64             `json:"peak_bytes,omitempty"` // with Contained: as metrics.RunNode has it
}
