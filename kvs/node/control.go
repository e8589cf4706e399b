// Package node is a node's process under a launcher: one protocol, facts about
// its machine, its report, and its end.
//
// The launcher starts kvsserver or kvsclient with the single flag -control,
// here or through ssh, and owns its standard input and output. Each line on
// either is one JSON object: a Command towards the node, an Event from it.
// Nothing else travels: no shared file system, no port but the store's own, no
// argument through a remote shell.
//
//	launcher                     server            client
//	clock, facts, dial   ------>  answered <-->  (before a run; see probe.go)
//	start(args, token)   ------>  listen
//	                     <------  ready(addr)
//	start(args, token)   ------------------------>  dial every server
//	                     <------------------------  connected
//	load                 ------------------------>  store and read back its records
//	                     <------------------------  loaded
//	go(at, slices)       ------------------------>  warm-up, window, drain
//	                     <------------------------  phase(warmup|window|drain)
//	                     <------------------------  warm: the warm-up is about to end
//	settle(extend, at)   ------------------------>  let it, or warm up as long once more
//	phase(...)           ------>  note it
//	                     <------------------------  record(summary), done
//	stop                 ------>  record(summary)
//	                     <------  done
//
// Between these both sides send log and record events at any time; a node
// sends an interval record each second, which is also its heartbeat, and with
// -linearizable its part of each slice that all clients record together. An error
// event is a node's last. A node whose controller is gone leaves at once: when
// its standard input closes, and when its Lease runs out.
package node

import (
	"time"

	"kvlab/kvs/certs"
	"kvlab/metrics"
)

// The commands a launcher sends.
const (
	Start  = "start"  // Args and Token; before the others
	Load   = "load"   // to clients
	Go     = "go"     // to clients
	Phase  = "phase"  // to servers: the clients have entered Phase
	Stop   = "stop"   // to servers: report and leave
	Settle = "settle" // to clients, in answer to Warm: Extend says whether the warm-up lasts as long once more

	// These may come at any time, and programs never see them.
	Beat = "beat" // the launcher is there
	Dump = "dump" // log every goroutine's stack

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
	GCS    float64            `json:"gc_s,omitempty"`  // with Start: collect garbage whenever so many seconds have passed; 0: when it is worth it
	Phase  metrics.Phase      `json:"phase,omitempty"`
	Extend bool               `json:"extend,omitempty"` // with Settle
	Epoch  *Epoch             `json:"epoch,omitempty"`  // with Start: what the node dates by
	At     time.Time          `json:"at,omitzero"`      // a date: with Go when the warm-up begins, with Settle when the window opens
	Lease  *Lease             `json:"lease,omitempty"`  // with any command: from now on

	Question *Question `json:"question,omitempty"` // with Facts and Dial

	Slices metrics.SlicePlan `json:"slices,omitzero"` // with Go: of clients with -linearizable, when there are several
}

// The events a node sends. A client's phase event reuses the word Phase.
const (
	Ready     = "ready"     // a server listens on Addr
	Connected = "connected" // a client has a connection to every server
	Loaded    = "loaded"    // a client's records are stored and read back
	Warm      = "warm"      // a client's warm-up is about to end; what it did until now is reported, and it awaits Settle
	Done      = "done"      // the node has reported everything and will exit with status 0
	Log       = "log"       // Text is one line for the node's log file
	Report    = "record"    // Record is one line for the node's .jsonl file
	Answered  = "answered"  // Answer is the answer to the oldest open question
	Dumped    = "dumped"    // every goroutine's stack is in the log
	Error     = "error"     // Text says why the node gives up; it will exit non-zero
)

// Event is one line from a node to the launcher.
type Event struct {
	Event  string          `json:"event"`
	Addr   string          `json:"addr,omitempty"`
	Phase  metrics.Phase   `json:"phase,omitempty"`
	Text   string          `json:"text,omitempty"`
	Usage  bool            `json:"usage,omitempty"` // with Error: the command line is at fault (exit status 2)
	Peer   string          `json:"peer,omitempty"`  // with Error: the node that it lies with, when that is another
	Lost   bool            `json:"lost,omitempty"`  // with Peer: that one answers, and has lost what it held
	Record *metrics.Record `json:"record,omitempty"`
	Answer *Answer         `json:"answer,omitempty"`
}
