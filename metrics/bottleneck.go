package metrics

import (
	"strings"

	"kvlab/metrics/format"
)

// BottleneckKind names what limits a run's throughput.
type BottleneckKind string

// The kinds, in the order of the rules: the first rule that holds decides.
const (
	LimitOffered     BottleneckKind = "offered rate"    // an open loop, which the store keeps up with
	LimitLink        BottleneckKind = "network link"    // a node's link carries what it can
	LimitHottest     BottleneckKind = "hottest server"  // one server is busy while the others wait for it
	LimitOther       BottleneckKind = "other work"      // processes that are not the run's
	LimitGC          BottleneckKind = "garbage"         // collecting it
	LimitServerCPU   BottleneckKind = "server CPU"      // the processors of the servers
	LimitClientCPU   BottleneckKind = "client CPU"      // the processors of the clients
	LimitShared      BottleneckKind = "shared machine"  // processors that servers and clients share
	LimitRetransmits BottleneckKind = "retransmits"     // segments that are lost
	LimitConcurrency BottleneckKind = "too little load" // nothing is busy: too few operations are under way
	LimitLatency     BottleneckKind = "latency"         // of a foreign store's calls, for which nothing on a processor is the cause
	LimitUnknown     BottleneckKind = "cannot tell"     // nothing is at its limit, and the processors are not idle
)

// Bottleneck is what limits a run, and where.
type Bottleneck struct {
	Kind     BottleneckKind    `json:"limit"`
	Node     string            `json:"node,omitempty"`   // "" where it is not one node
	Why      string            `json:"why"`              // the figures that decided
	Advice   string            `json:"advice,omitempty"` // what to change, where a flag of the client is the limit
	Sentence string            `json:"sentence"`         // for people: the limit, why, the advice and the other figures
	Figures  BottleneckFigures `json:"figures"`
}

// Cause is what limits the run, and why.
func (b Bottleneck) Cause() string {
	what := string(b.Kind)
	if b.Kind == LimitUnknown {
		what = "cannot tell what limits the rate"
	}
	return strings.Join(format.NonEmpty(what, b.Why), ": ")
}

// BottleneckFigures are the figures behind a Bottleneck. Percentages of processors
// are of those that the process may run on. Unknown figures are 0.
type BottleneckFigures struct {
	ServerCPUPercent float64 `json:"server_cpu_percent"` // of the busiest server
	ServerCPUNode    string  `json:"server_cpu_node"`
	ClientCPUPercent float64 `json:"client_cpu_percent"` // of the busiest client
	ClientCPUNode    string  `json:"client_cpu_node"`
	OtherCPUPercent  float64 `json:"other_cpu_percent"` // most that any machine spent on what is not the run's, of all its processors
	OtherCPUNode     string  `json:"other_cpu_node,omitempty"`
	Runnable         float64 `json:"runnable"`     // tasks that ran or waited for a processor, for each of them, where most did
	LinkPercent      float64 `json:"link_percent"` // of what the fullest link carries in one direction
	LinkNode         string  `json:"link_node,omitempty"`
	HottestServer    float64 `json:"hottest_server"` // its operations over the mean server's
	HottestNode      string  `json:"hottest_node,omitempty"`
	GCPercent        float64 `json:"gc_percent"` // of a process's processor time that collects garbage, the most
	GCNode           string  `json:"gc_node,omitempty"`
	LostPercent      float64 `json:"lost_percent"` // segments sent again, of all sent, the most
	LostNode         string  `json:"lost_node,omitempty"`
	InFlight         float64 `json:"in_flight"`    // calls under way, the mean (Little's law)
	OpMicros         float64 `json:"op_us"`        // mean time of an operation, from the moment it was due
	WaitShare        float64 `json:"wait_share"`   // of OpMicros: before the call was sent
	QueueShare       float64 `json:"queue_share"`  // until it was written
	WireShare        float64 `json:"wire_share"`   // on the network and in both kernels
	ServerShare      float64 `json:"server_share"` // in the server
}
