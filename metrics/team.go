package metrics

import "kvlab/metrics/stats"

// HotKeys is how many keys a Witness counts one by one: the numbers 0 to HotKeys-1, the most
// popular ones of the course's generator.
const HotKeys = 1024

// Witness is what a server that speaks a course's form saw of a team's own client, from its
// first call to its last. A key is a decimal number. Operations by kind and second are in the
// server's intervals.
type Witness struct {
	Form  string      `json:"form"`            // the preset and the settings of the calls
	First int64       `json:"first_ns"`        // arrival of the first call, in nanoseconds since 1970 by the machine's clock; 0 without calls
	Last  int64       `json:"last_ns"`         // arrival of the last one
	Gets  uint64      `json:"gets"`            // executed
	Puts  uint64      `json:"puts"`            // likewise
	Hits  uint64      `json:"hits"`            // gets that found a value
	Slots stats.Slots `json:"slots"`           // operations by the arrival of their calls
	Calls uint64      `json:"calls"`           // that carried operations
	Sizes []Size      `json:"sizes,omitempty"` // calls by their number of operations, in octaves, without empty ones

	Connections uint64  `json:"connections"` // that carried a call
	ConnRate    float64 `json:"conn_rate"`   // operations per second: each connection's over the time from its first call to its last, or over half of the server's if that is longer, added up
	Least       uint64  `json:"least"`       // operations of the connection with the fewest
	Most        uint64  `json:"most"`        // and of the one with the most

	InFlight      uint64  `json:"in_flight"`      // calls that arrived and were not answered, on one connection, at most
	InFlightMean  float64 `json:"in_flight_mean"` // likewise, on average over the calls
	InFlightAll   uint64  `json:"in_flight_all"`  // on all connections, at most
	Overtakable   uint64  `json:"overtakable"`    // calls that arrived while the connection's call before was in flight, of which one writes a key below 64 that the other has
	LonePuts      uint64  `json:"lone_puts"`      // calls of one put alone
	FlushedByPut  uint64  `json:"flushed_by_put"` // other calls, with one put, which is last, or with none and a lone put as the connection's next call
	Unanswered    uint64  `json:"unanswered"`     // calls whose client closed the connection before it had their reply, at least
	UnansweredOps uint64  `json:"unanswered_ops"` // their operations, which were executed
	Left          uint64  `json:"left"`           // connections with such calls
	Repeats       uint64  `json:"repeats"`        // calls of RepeatOps or more operations that are those of an earlier call, in their order

	HotGets  []uint64 `json:"hot_gets,omitempty"` // by key, of HotKeys; nil without calls
	HotPuts  []uint64 `json:"hot_puts,omitempty"` // likewise
	Octaves  []uint64 `json:"octaves,omitempty"`  // operations on keys from HotKeys<<i to (HotKeys<<(i+1))-1
	Highest  uint64   `json:"highest"`            // the highest number of a key
	Strange  uint64   `json:"strange"`            // operations on keys that are no decimal numbers
	Stranger string   `json:"stranger,omitempty"` // the first such key
	Distinct uint64   `json:"distinct"`           // keys below 2^20 that had an operation
	ColdGets uint64   `json:"cold_gets"`          // keys of ColdKey or more that one call of 17 gets
	ColdBoth uint64   `json:"cold_both"`          // of them, those that this call or the connection's next one also puts
}

// RepeatOps is how many operations a call has at least that can be a repeat: two draws from the
// course's law are equal with 0.7 %, 16 in a row with 10^-34.
const RepeatOps = 16

// ColdKey is the least key of Witness.ColdGets: the course's law gives such a key 1 operation
// in 60,000 at most.
const ColdKey = 4096

// Size counts the calls of Least to Most operations, the least and most that there were.
type Size struct {
	Least  int    `json:"least"`
	Most   int    `json:"most"`
	Calls  uint64 `json:"calls"`
	AtMost uint64 `json:"at_most"` // those of Most operations
}

// Ops returns the operations that were executed.
func (w *Witness) Ops() uint64 { return w.Gets + w.Puts }

// Claimed is what a team's own program says of itself, in lines of its output. Nobody has verified
// it. A client claims the rate of its run, and a server the rates of its seconds.
type Claimed struct {
	OpsPerS float64 `json:"ops_per_s"`                  // a client's result; the mean of a server's seconds
	Ops     uint64  `json:"ops,omitempty"`              // of the whole run, if the program tells; of a server, what its seconds add up to
	Line    string  `json:"line,omitempty"`             // the line with OpsPerS; of a server, its last one; where no line has a rate, the last of the output
	Result  string  `json:"result,omitempty"`           // the regular expression of the program's file that finds the line; "" is the course's lines
	Lines   int     `json:"lines"`                      // how many lines have a rate; 0: nothing is claimed
	Median  float64 `json:"median_ops_per_s,omitempty"` // of a server's seconds
	Most    uint64  `json:"most,omitempty"`             // of a server: its operations at most, where each line may have come a line late

	// Of a server with transactions, the means of its seconds. One that tells no operations claims
	// its commits as such.
	CommitsPerS float64 `json:"commits_per_s,omitempty"`
	AbortsPerS  float64 `json:"aborts_per_s,omitempty"`

	Program string  `json:"program"`                 // the name in its file
	Commit  string  `json:"git_commit,omitempty"`    // of the program, as Store.Commit
	SHA256  string  `json:"binary_sha256,omitempty"` // of the program; "" of one that no process was seen of
	RanS    float64 `json:"ran_s,omitempty"`         // of a client: from the program's start to its end
	CPUS    float64 `json:"cpu_s,omitempty"`         // of a client: the program's processor time, with that of the processes it waited for

	After float64 `json:"after_ops_per_s,omitempty"` // of a server: by its first line of a time wholly after the last client's end

	// Of a client, what the kernel says of the connections between its machine and the servers that
	// ended in its time; nil where it does not tell.
	Carried *Carried `json:"carried,omitempty"`
}

// IsClaimed reports whether the run's servers are a team's own, as its clients are: nobody has
// verified what they did.
func (r Run) IsClaimed() bool { return r.hosts(Client) && r.hosts(Server) }

// OutputFile returns the name of the file, in a run's folder, of what the program prints that a
// node of a role starts.
func OutputFile(role Role, node string) string {
	if role == Client {
		return "team-" + node + ".log"
	}
	return "store-" + node + ".log"
}

// HostsClient reports whether the run's clients are a team's own.
func (r Run) HostsClient() bool { return r.hosts(Client) }

// hosts reports whether the nodes of a role start a team's own program.
func (r Run) hosts(role Role) bool {
	config := r.Config(role)
	return config != nil && config.Capabilities != nil && config.Capabilities.Driver == ClaimsDriver
}

// ClaimsDriver is the driver of a team's own programs, which say what they do.
const ClaimsDriver = "claims"

// Carried is what closed connections have carried, by their own machine's kernel.
type Carried struct {
	Connections uint64 `json:"connections"`
	Bytes              // acknowledged by the peer, and received
	Segments    uint64 `json:"data_segments"` // received, with data in them
	Unread      uint64 `json:"unread"`        // bytes received that the program had not read, without the one that may be a FIN
	Unsent      uint64 `json:"unsent"`        // bytes written that the peer had not acknowledged, likewise
}
