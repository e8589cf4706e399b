package metrics

import (
	"fmt"
	"strings"

	"kvlab/metrics/format"
)

// minHeadroom is the headroom below which the clients and the network dominate a
// result. The value is this project's: above it, if one of two stores takes half as
// much time, their results still differ by a fifth.
const minHeadroom = 1.5

// leastUsable is the headroom below which a ceiling is none. Two short runs of one
// configuration differ by as much as that.
const leastUsable = 0.95

// Ceiling is the throughput of a run's clients and network with a store that costs
// nothing. It is measured before the run, the same way on the same nodes.
type Ceiling struct {
	// NullOpsPerS is the rate of the same clients, in a closed loop, against
	// servers without a store; 0 when it was not measured.
	NullOpsPerS float64 `json:"null_ops_per_s,omitempty"`
	// InprocOpsPerS is the rate of all clients together when each has the run's
	// engine in its own process and no network; 0 when it was not measured.
	InprocOpsPerS float64 `json:"inproc_ops_per_s,omitempty"`

	// WireOpsPerS is the rate at which the frames of such calls come and go when
	// neither side makes or reads them; 0 when it was not measured.
	WireOpsPerS float64 `json:"wire_ops_per_s,omitempty"`

	// Protocol is what the clients spoke to the servers without a store, in words, where it is a
	// foreign store's; "" of kvlab's own.
	Protocol string `json:"protocol,omitempty"`

	// From has the folders of the runs that measured these rates, relative to the run's own,
	// by the name of a trial's folder for such a run. Trials of one sweep share them.
	From map[string]string `json:"from,omitempty"`

	Headroom    float64 `json:"headroom,omitempty"`   // NullOpsPerS over the run's result; 0 when there is none
	ClientBound bool    `json:"client_bound"`         // Headroom is below 1.5, and no link is full
	NotUsable   bool    `json:"not_usable,omitempty"` // NullOpsPerS is clearly below the result: it is no ceiling
	Tried       bool    `json:"tried,omitempty"`      // no flag leaves it out
	Note        string  `json:"note,omitempty"`       // what was not measured and why, in words
}

// Over returns the ceiling with the headroom over a result. linkIsFull says that a link
// limits the run: it limits the ceiling alike, so that little headroom is no fault of the
// clients.
func (c Ceiling) Over(opsPerS float64, linkIsFull bool) *Ceiling {
	c.Headroom, c.ClientBound, c.NotUsable = 0, false, false
	if c.NullOpsPerS <= 0 || opsPerS <= 0 {
		return &c
	}
	c.Headroom = c.NullOpsPerS / opsPerS
	switch {
	case linkIsFull:
	case c.Headroom < leastUsable:
		c.Headroom, c.NotUsable = 0, true
	default:
		c.ClientBound = c.Headroom < minHeadroom
	}
	return &c
}

// nullName names what answered in place of a store.
func (c *Ceiling) nullName() string {
	if c.Protocol != "" {
		return "null store"
	}
	return "null engine"
}

// Share says how the result compares with that without a store: as a share of what a foreign
// store's protocol allows, or as a factor. It is "" without headroom.
func (c *Ceiling) Share() string {
	switch {
	case c == nil || c.Headroom <= 0:
		return ""
	case c.Protocol != "":
		return fmt.Sprintf("%.0f %% of what %s allows", 100/c.Headroom, c.Protocol)
	}
	return fmt.Sprintf("%.2fx as fast without a store", c.Headroom)
}

// String returns the ceiling's line on the terminal: "3.10x as fast without a store (null
// engine 14.2M ops/s, in process 22M ops/s)", with CLIENT-BOUND before it where it is too
// low, or why there is none; "" for nil.
func (c *Ceiling) String() string {
	if c == nil {
		return ""
	}
	var measured []string
	for _, ceiling := range []struct {
		name    string
		opsPerS float64
	}{{c.nullName(), c.NullOpsPerS}, {"in process", c.InprocOpsPerS}, {"wire", c.WireOpsPerS}} {
		if ceiling.opsPerS > 0 {
			measured = append(measured, fmt.Sprintf("%s %s ops/s", ceiling.name, format.Count(ceiling.opsPerS)))
		}
	}
	text := "ceiling not measured"
	switch {
	case c.NotUsable:
		text = "ceiling not usable: it is below the result"
	case c.Headroom > 0:
		text = c.Share()
	}
	if c.ClientBound {
		text = "CLIENT-BOUND: " + text
	}
	if len(measured) > 0 {
		text += " (" + strings.Join(measured, ", ") + ")"
	}
	if c.Note != "" {
		text += ": " + c.Note
	}
	return text
}

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
	LimitConcurrency BottleneckKind = "too little load" // nothing is busy: too few operations are in flight
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

// Cause returns what limits the run, and why.
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
	InFlight         float64 `json:"in_flight"`    // calls in flight, the mean (Little's law)
	OpMicros         float64 `json:"op_us"`        // mean time of an operation, from the moment it was due
	WaitShare        float64 `json:"wait_share"`   // of OpMicros: before the call was sent
	QueueShare       float64 `json:"queue_share"`  // until it was written
	WireShare        float64 `json:"wire_share"`   // on the network and in both kernels
	ServerShare      float64 `json:"server_share"` // in the server
}
