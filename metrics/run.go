package metrics

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"kvlab/metrics/format"
	"kvlab/metrics/stats"
)

// Run is run.json: the description and the results of one run.
type Run struct {
	ID string `json:"id"` // the run folder's name
	Result
	Command       []string     `json:"command"` // the launcher's argv
	Version       string       `json:"version"` // kvlab's release, of the launcher
	GitCommit     string       `json:"git_commit"`
	Changed       []string     `json:"changed_files,omitempty"` // of the checkout, where GitCommit ends in -dirty
	ServerCommit  string       `json:"server_commit,omitempty"` // of the servers' program, where it is another one
	Seed          uint64       `json:"seed"`
	Choice        string       `json:"choice,omitempty"`    // selects the workers whose operations the verdict draws again, in hex; no node knew it
	Workload      Settings     `json:"workload"`            // the client flags of the classes work and shape, by flag name
	Lab           *Lab         `json:"lab,omitempty"`       // nil: the nodes were machines, or processes on this one
	Preflight     *Preflight   `json:"preflight,omitempty"` // nil when the run ended before it
	Nodes         []RunNode    `json:"nodes"`
	Together      string       `json:"together,omitempty"`      // ID of the run that was made at the same time on the same nodes; "" of one that was alone
	Symmetric     bool         `json:"symmetric,omitempty"`     // every machine both serves and loads: a separate class
	WindowStart   time.Time    `json:"window_start"`            // the intersection of all clients' windows, by the launcher's clock when the run began
	OverlapShare  float64      `json:"overlap_share"`           // intersection over the shortest window, 0 to 1
	Total         Counts       `json:"total"`                   // client counts, load to drain
	Applied       Counts       `json:"applied"`                 // server counts, load to drain; of a killed server as far as it reported them
	Contained     *Containment `json:"contained,omitempty"`     // of the servers' programs; nil: they had the rights of the user
	Restart       *Restart     `json:"restart,omitempty"`       // of a server in the window (--restart-at); nil without
	StrangerReads uint64       `json:"stranger_reads,omitzero"` // that servers executed and no client of the run sent; no part of Applied

	Beside map[string]uint64 `json:"beside,omitempty"` // harmless commands of others that a foreign store executed, by name

	// WorkersOpsPerS is the sum of the rates of all workers, each until its own last reply, of a run that
	// ends with its operations: the rate of the time when no worker had ended. It is 0 of another.
	WorkersOpsPerS float64 `json:"workers_ops_per_s,omitempty"`

	Offered *Offered `json:"offered,omitempty"` // of an open loop, all clients together; nil of a closed one
	Stages  []Stage  `json:"stages,omitempty"`  // of an open loop whose rate has stages, all clients together

	Unrecovered string `json:"unrecovered,omitempty"` // why the last of these has not recovered from a burst; "" if it has, or if that cannot be told

	Latency      map[string]Quantiles `json:"latency,omitempty"`      // merged over clients
	Transactions *TransactionCounts   `json:"transactions,omitempty"` // of all clients in their windows; nil without -txn
	Retries      *Retries             `json:"retries,omitempty"`      // of all nodes; nil when no connection was made again
	Usage        map[Role]Table       `json:"usage"`                  // clients and servers as groups
	Used         map[Role]Used        `json:"used,omitempty"`         // by servers, clients and the rest
	Checks       []CheckResult        `json:"checks,omitempty"`       // every check in its order; nil of a run that was not judged
	Skew         *Skew                `json:"skew,omitempty"`         // nil when the clients did not say what to expect

	Check    *JointCheck `json:"check,omitempty"`     // of all clients together; nil without -linearizable, or of one client
	Audit    *Audit      `json:"audit,omitempty"`     // nil of servers without a store, and of a run that ended before it
	ValueKey string      `json:"value_key,omitempty"` // what the values' check bytes depend on, in hex; no server knew it before the end

	// Asked are the final flags of each role, by name, as the launcher resolved them before
	// any process started, with a default of -batch that it lowered.
	Asked map[Role]Settings `json:"asked,omitempty"`

	Window *WindowLength       `json:"window,omitempty"`  // how it came to its length; nil of a run that ended before it
	Drift  *stats.Stationarity `json:"drift,omitempty"`   // of the clients' seconds in the window; nil of fewer than 4
	WarmUp *stats.Stationarity `json:"warm_up,omitempty"` // whether it ended with steady rates; nil when it is too short to be tested

	Ceiling    *Ceiling    `json:"ceiling,omitempty"`    // nil where none was measured
	Bottleneck *Bottleneck `json:"bottleneck,omitempty"` // what limits it, or what a ceiling; nil of other runs that are INVALID
}

// RunNode is one process of a run: a node in a role.
type RunNode struct {
	Name    string   `json:"name"` // no other of its role has it
	Role    Role     `json:"role"`
	Machine string   `json:"machine,omitempty"` // the node that it ran on, which may have several; "" where Name says it
	Address string   `json:"address"`           // data address; a server's with its port
	Config  *Config  `json:"config,omitempty"`
	Summary *Summary `json:"summary,omitempty"` // nil when the node never got that far

	// MedianOpsPerS is a server's median over its own seconds in the window, the
	// labs' figure; nil without one.
	MedianOpsPerS *float64 `json:"median_ops_per_s,omitempty"`

	Soak  *Soak  `json:"soak,omitempty"`  // what it held over the window; nil when the run was no soak
	Used  *Used  `json:"used,omitempty"`  // by its process, or the foreign store's that it is host of
	Heard *Heard `json:"heard,omitempty"` // nil of a node that did not come to the window

	Readings Readings `json:"readings,omitempty"` // from its start to its last report

	// PeakBytes is the most memory that the contained processes of a server had together, with
	// their files in memory, by their cgroup; 0 without one.
	PeakBytes uint64 `json:"peak_bytes,omitempty"`
}

// Foreign reports whether the node is the host of a foreign store.
func (n RunNode) Foreign() bool {
	return n.Role == Server && n.Config != nil && n.Config.Capabilities != nil && n.Config.Capabilities.Driver != ""
}

// Storeless reports whether the node is a server that keeps nothing.
func (n RunNode) Storeless() bool {
	return n.Role == Server && n.Config != nil && n.Config.Capabilities != nil && !n.Config.Capabilities.Store
}

// Unseen returns why a foreign store's process is not sampled; "" if it is.
func (n RunNode) Unseen() string {
	if !n.Foreign() {
		return ""
	}
	return n.Config.Capabilities.Unseen
}

// Elsewhere reports whether a foreign store runs on another machine than its host.
func (n RunNode) Elsewhere() bool { return n.Foreign() && n.Config.Capabilities.Elsewhere }

// Heard is what the launcher heard of a node's seconds in the window, and of a client's
// phases.
type Heard struct {
	WarmUpLengthS float64   `json:"warm_up_length_s,omitempty"` // of the intervals of the warm-up together
	WarmUpS       float64   `json:"warm_up_s"`                  // between the arrivals of its phase events, by the launcher's clock
	Start         time.Time `json:"start"`                      // when the first of its intervals of the window began, by the clock of Record.Time
	LengthS       float64   `json:"length_s"`                   // of these intervals together
	Ops           uint64    `json:"ops"`                        // in them
	Seconds       []Second  `json:"seconds,omitempty"`          // of a server: these intervals, in order, at most 1000
}

// Second is an interval of about a second.
type Second struct {
	LengthS float64 `json:"length_s"`
	Ops     uint64  `json:"ops"`
}

// MostSeconds bounds what run.json holds of a long window.
const MostSeconds = 1000

// Add adds the record of an interval.
func (h *Heard) Add(r Record) {
	switch r.Interval.Phase {
	case WarmUp:
		h.WarmUpLengthS += r.Interval.LengthS
	case Window:
		if h.Start.IsZero() {
			h.Start = r.Time.Add(-time.Duration(r.Interval.LengthS * float64(time.Second)))
		}
		h.LengthS += r.Interval.LengthS
		h.Ops += r.Interval.Counts.Ops()
		if r.Role == Server && len(h.Seconds) < MostSeconds {
			h.Seconds = append(h.Seconds, Second{r.Interval.LengthS, r.Interval.Counts.Ops()})
		}
	}
}

// SetWorkload sets Workload and Seed from the flags of the first client that has reported
// them.
func (r *Run) SetWorkload() {
	config := r.Config(Client)
	if config == nil {
		return
	}
	r.Seed, r.Workload = config.Flags.Seed(), make(Settings)
	for _, flag := range config.FlagsOf(WorkFlag, ShapeFlag) {
		r.Workload[flag] = config.Flags[flag]
	}
}

// Injected reports whether a server's speed was faulty on purpose.
func (r Run) Injected() bool {
	return slices.ContainsFunc(r.Nodes, func(n RunNode) bool { return n.Role == Server && n.Config != nil && n.Config.Flags.Inject() != "" })
}

// Encrypted reports whether calls were encrypted. Such runs are a separate class.
func (r Run) Encrypted() bool {
	return r.Workload.TLS()
}

// InRole returns the nodes of a role, in the run's order.
func (r Run) InRole(role Role) []RunNode {
	return slices.DeleteFunc(slices.Clone(r.Nodes), func(node RunNode) bool { return node.Role != role })
}

// Clients returns the run's clients.
func (r Run) Clients() []RunNode { return r.InRole(Client) }

// Servers returns the run's servers, in the order in which clients number them.
func (r Run) Servers() []RunNode { return r.InRole(Server) }

// Summaries returns the summaries of a role's nodes, without those that sent none.
func (r Run) Summaries(role Role) (all []*Summary) {
	for _, node := range r.InRole(role) {
		if node.Summary != nil {
			all = append(all, node.Summary)
		}
	}
	return all
}

// InWindow returns the sum of the clients' counts, each in its own window.
func (r Run) InWindow() (sum Counts) {
	for _, s := range r.Summaries(Client) {
		sum = sum.Add(s.InWindow)
	}
	return sum
}

// VerifiedBy returns what all clients verified with a server, by its number. A client
// knows a foreign server only by its address.
func (r Run) VerifiedBy(server int) (all Counts) {
	for _, client := range r.Summaries(Client) {
		if server < len(client.Peers) {
			all = all.Add(client.Peers[server].Counts)
		}
	}
	return all
}

// BytesPerOp returns what clients sent in batches and received in replies for an operation in the
// window, without the frames' headers; 0 unknown.
func (r Run) BytesPerOp() (sent, received float64) {
	var carried Bytes
	for _, s := range r.Summaries(Client) {
		carried = carried.Add(s.BytesInWindow)
	}
	ops := float64(max(1, r.InWindow().Ops()))
	return float64(carried.Sent) / ops, float64(carried.Received) / ops
}

// Config returns the configuration of the first node of a role that reported one; nil without one.
func (r Run) Config(role Role) *Config {
	for _, node := range r.InRole(role) {
		if node.Config != nil {
			return node.Config
		}
	}
	return nil
}

// Machines returns the number of nodes that the run's processes shared.
func (r Run) Machines() int {
	machines := make(map[string]bool)
	for i, node := range r.Nodes {
		machines[cmp.Or(node.Machine, fmt.Sprintf("of process %d", i))] = true
	}
	return len(machines)
}

// Count returns the number of nodes in a role.
func (r Run) Count(role Role) int { return len(r.InRole(role)) }

// Lab says that a run's nodes were no machines of their own, but hosts of a
// virtual lab: network namespaces on one machine, which share its cores and
// memory. Such a run's number is never a cluster's.
type Lab struct {
	Hosts        int    `json:"hosts"`
	LinkBitsPerS uint64 `json:"link_bits_per_s"` // of each host's data link, in each direction; 0: as fast as the machine
	CPUShares    bool   `json:"cpu_shares"`      // every host is due the same share of the cores
}

// String returns the lab in words, as the terminal and the report show it; "" for
// nil.
func (l *Lab) String() string {
	if l == nil {
		return ""
	}
	text := fmt.Sprintf("virtual lab, %d hosts on one machine, ", l.Hosts)
	if l.LinkBitsPerS == 0 {
		return text + "links not shaped"
	}
	return text + "links " + bitRate(l.LinkBitsPerS)
}

// LargestServer returns the largest resident set of a server in the window, or the largest peak of
// a contained one, in bytes; 0 where no server reported it.
func (r Run) LargestServer() (largest uint64) {
	for _, s := range r.Summaries(Server) {
		if s.Saturation != nil {
			largest = max(largest, s.Saturation.ProcessRSSBytes)
		}
	}
	for _, node := range r.Nodes {
		largest = max(largest, node.PeakBytes)
	}
	return largest
}

// Protocol returns what the clients spoke to a foreign store's servers that have no store, in words;
// "" in any other run.
func (r *Run) Protocol() string {
	if r == nil {
		return ""
	}
	if c := r.Config(Server); c != nil && c.Capabilities != nil {
		return c.Capabilities.Protocol
	}
	return ""
}

// CPUPerOp returns the processor time in nanoseconds per operation, in the window, of each
// role's processes, summed over the roles. It is 0 when a node did not report it. On a
// machine with other work it is steadier than operations per second, because it does
// not count the time of other processes.
func (r Run) CPUPerOp(roles ...Role) float64 {
	sum := 0.0
	for _, role := range roles {
		seconds, ops := 0.0, uint64(0)
		for _, node := range r.InRole(role) {
			if node.Summary == nil || node.Summary.Saturation == nil {
				return 0
			}
			p := node.Summary.Saturation
			seconds += p.ProcessCPUPercent / 100 * cmp.Or(p.LengthS, node.Summary.WindowLengthS)
			ops += node.Summary.InWindow.Ops()
		}
		if ops == 0 {
			return 0
		}
		sum += 1e9 * seconds / float64(ops)
	}
	return sum
}

// bitRate writes a rate in the unit that keeps it short: "1 Gb/s", "2.5 Mb/s".
func bitRate(bitsPerS uint64) string {
	if bitsPerS >= 1e9 {
		return fmt.Sprintf("%g Gb/s", float64(bitsPerS)/1e9)
	}
	return fmt.Sprintf("%g Mb/s", float64(bitsPerS)/1e6)
}

// Restart is what it cost that the launcher killed a server in the window and started it
// again on its store (--restart-at).
type Restart struct {
	Server        string   `json:"server"`                  // the server that was killed
	AtS           float64  `json:"at_s"`                    // when the kill was sent, in seconds after the common window's start
	ReadyS        float64  `json:"ready_s"`                 // from the kill until the second process served
	FirstReplyS   *float64 `json:"first_reply_s,omitempty"` // from the kill to the first reply of the second process to any client; nil without one
	RecoveredS    *float64 `json:"recovered_s,omitempty"`   // from the kill to the beginning of the first whole second of the window that ends after that reply and has RecoveredShare of BeforeOpsPerS, at least FirstReplyS; nil without one
	BeforeOpsPerS float64  `json:"before_ops_per_s"`        // median of the whole seconds of the window before the kill, all clients together
	UnknownOps    uint64   `json:"unknown_ops"`             // operations whose outcome is unknown: they had no answer when the server was killed
	Reported      Counts   `json:"reported"`                // operations that the killed process had applied at its last report
	Unreported    Counts   `json:"unreported"`              // operations that the clients verified, with any server, from that report until the second process served: the killed one applied at most as many of them
}

// RecoveredShare is the share of the throughput before a kill at which it has recovered.
const RecoveredShare = 0.9

// Of reports whether a server was killed; nil has none.
func (r *Restart) Of(server string) bool { return r != nil && r.Server == server }

// String says it in a line.
func (r *Restart) String() string {
	replied, recovered := "no reply after that", "not within the window"
	if r.FirstReplyS != nil {
		replied = fmt.Sprintf("its first reply after %.3f s", *r.FirstReplyS)
	}
	if r.RecoveredS != nil {
		recovered = fmt.Sprintf("after %.3f s", *r.RecoveredS)
	}
	return fmt.Sprintf("%s was killed %.1f s into the window and ready again after %.3f s, %s; back at %.0f %% of %s ops/s %s; %s of unknown outcome",
		r.Server, r.AtS, r.ReadyS, replied, 100*RecoveredShare, format.Count(r.BeforeOpsPerS), recovered, format.Plural(r.UnknownOps, "operation"))
}
