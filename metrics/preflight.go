package metrics

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Preflight describes a run's machines before anything was started on them, and
// lists what can spoil a result.
type Preflight struct {
	Started  time.Time `json:"started"`
	LengthS  float64   `json:"length_s"`
	Machines []Machine `json:"machines"`
	RTTs     []RTT     `json:"rtts,omitempty"` // over the data network, of the pairs that were measured
	Findings []Finding `json:"findings"`       // everything that is not as it should be
}

// Failures returns the findings that forbid a run.
func (p Preflight) Failures() []Finding {
	return slices.DeleteFunc(slices.Clone(p.Findings), func(f Finding) bool { return f.Grade != Fail })
}

// Failed reports whether a finding forbids a run. A nil Preflight was not carried
// out and found nothing.
func (p *Preflight) Failed() bool { return p != nil && len(p.Failures()) > 0 }

// SlowestLink returns the rate in bits per second of the slowest data link, and 0
// unless there are several machines and each link's rate is known.
func (p *Preflight) SlowestLink() uint64 {
	if p == nil || len(p.Machines) < 2 {
		return 0
	}
	slowest := uint64(math.MaxUint64)
	for _, m := range p.Machines {
		if m.Facts == nil {
			return 0
		}
		slowest = min(slowest, m.Facts.Data.BitsPerS)
	}
	return slowest
}

// ClockOffset returns how far the monotonic clock of a node's machine was ahead of the
// launcher's before the run: the middle of its bounds; 0 where it is not known.
func (p *Preflight) ClockOffset(node string) time.Duration {
	if m := p.machine(node); m != nil && m.ClockBefore != nil {
		bounds := m.ClockBefore.Monotonic
		return time.Duration(bounds.LeastNs + (bounds.MostNs-bounds.LeastNs)/2)
	}
	return 0
}

// StepText lists the machines whose wall clocks were set during the run; "" for
// none.
func (p *Preflight) StepText() string {
	if p == nil {
		return ""
	}
	var set []string
	for _, m := range p.Machines {
		switch step := m.ClockStepS; {
		case step > 0:
			set = append(set, fmt.Sprintf("of %s forward by %.3f s", m.Name(), step))
		case step < 0:
			set = append(set, fmt.Sprintf("of %s back by %.3f s", m.Name(), -step))
		}
	}
	if len(set) == 0 {
		return ""
	}
	return "wall clocks were set during the run: " + strings.Join(set, ", ") + "; nothing is measured by them"
}

// ClockOffsetBounds bounds how far the monotonic clock of a node's machine was ahead
// of the launcher's during the run; false where it was not measured before and
// after it.
func (p *Preflight) ClockOffsetBounds(node string) (ClockOffsetBounds, bool) {
	if m := p.machine(node); m != nil && m.ClockBefore != nil && m.ClockAfter != nil {
		return m.ClockBefore.Monotonic.between(m.ClockAfter.Monotonic), true
	}
	return ClockOffsetBounds{}, false
}

// machine returns a node's machine, or nil.
func (p *Preflight) machine(node string) *Machine {
	if p == nil {
		return nil
	}
	i := slices.IndexFunc(p.Machines, func(m Machine) bool { return slices.Contains(m.Nodes, node) })
	if i < 0 {
		return nil
	}
	return &p.Machines[i]
}

// Machine is one machine of a run. Several nodes may be on it.
type Machine struct {
	Nodes       []string     `json:"nodes"`
	Roles       []Role       `json:"roles"`   // of Nodes, one each
	Address     string       `json:"address"` // of its first node, on the data network
	Facts       *Facts       `json:"facts,omitempty"`
	ClockBefore *ClockOffset `json:"clock_before,omitempty"`
	ClockAfter  *ClockOffset `json:"clock_after,omitempty"`  // nil when the run did not come to its end
	ClockStepS  float64      `json:"clock_step_s,omitempty"` // by how much its wall clock was set forward in between; 0: not at all
}

// Name returns the name of the machine's first node.
func (m Machine) Name() string { return m.Nodes[0] }

// Grade says how bad a finding is.
type Grade string

// The grades of findings. Facts without one are as they should be.
const (
	Warn Grade = "warn" // the result may suffer
	Fail Grade = "fail" // no run may start
)

// Finding is one fact that is not as it should be.
type Finding struct {
	Node  string `json:"node"` // "" when it is the launcher's machine
	Role  Role   `json:"role,omitempty"`
	Fact  string `json:"fact"` // the fact's short name
	Grade Grade  `json:"grade"`
	Text  string `json:"text"`           // what is wrong
	Type  string `json:"type,omitempty"` // what to type; "" when there is no such thing
}

// Leftover is the fact of processes of other runs, which are under way or have left them.
const Leftover = "leftover"

// Facts is what a machine has found out about itself. A number that it could
// not find out is 0, a word "".
type Facts struct {
	Host           Host          `json:"host"`
	Architecture   string        `json:"architecture"`              // uname(2)'s machine
	User           string        `json:"user"`                      // that nodes run as
	Governors      []string      `json:"governors"`                 // of the cores' frequencies, each once; none on most virtual machines
	Data           Link          `json:"data"`                      // the interface that holds the data address
	Control        Link          `json:"control"`                   // the interface of the control network
	Others         []string      `json:"others,omitempty"`          // addresses on neither the control network's interface nor loopback
	ControlGuessed bool          `json:"control_guessed,omitempty"` // Control is the default route's: the testbed names none
	Ports          []Port        `json:"ports"`                     // those that servers are to listen on
	OpenFilesLimit uint64        `json:"open_files_limit"`          // RLIMIT_NOFILE's hard limit, to which Go programs raise theirs
	Folder         string        `json:"folder"`                    // of the programs
	FileSystem     string        `json:"file_system"`               // that Folder is on
	FreeBytes      uint64        `json:"free_bytes"`                // of that file system, for this user
	Processes      []Process     `json:"processes,omitempty"`       // kvlab's own that ran already
	Settings       []HostSetting `json:"settings,omitempty"`

	// Traits are properties on which the machine's speed depends and that no run sets, such as
	// "smt" and "mitigations", by name; Absent where the machine does not show it.
	Traits map[string]string `json:"traits,omitempty"`
}

// Absent is a fact that a machine does not show. That does not mean that it is off.
const Absent = "absent"

// Link is one network interface.
type Link struct {
	Name     string `json:"name"`
	BitsPerS uint64 `json:"bits_per_s"` // 0: it does not tell, or is no hardware
	MTUBytes int    `json:"mtu_bytes"`
}

// Port is an address that a server is to listen on.
type Port struct {
	Address string    `json:"address"`          // host:port
	Error   string    `json:"error,omitempty"`  // why one cannot listen on it; "" when one can
	Owners  []Process `json:"owners,omitempty"` // who listens there
}

// Process is a process that ran when a machine was asked.
type Process struct {
	PID      int       `json:"pid"`                // 0: not visible to the user that asked
	Name     string    `json:"name,omitempty"`     // of its program
	User     string    `json:"user"`               // its name, or number when it has none
	Started  time.Time `json:"started,omitzero"`   // by the machine's own clock
	Orphaned bool      `json:"orphaned,omitempty"` // its parent has ended
	Stopped  bool      `json:"stopped,omitempty"`  // by a signal
}

// ClockOffset is how far a node's clock is ahead of the launcher's, from an
// exchange of four timestamps (RFC 5905, section 8). The true offset is at most
// BoundS away from OffsetS, whatever way the two messages took.
type ClockOffset struct {
	OffsetS   float64           `json:"offset_s"`
	BoundS    float64           `json:"bound_s"`
	Monotonic ClockOffsetBounds `json:"monotonic"` // of CLOCK_MONOTONIC, which is never set

	// Zero is what the node's wall clock says of the moment when its CLOCK_MONOTONIC
	// was 0. Both run at the same rate (adjtimex(2)), so that only a step of the wall
	// clock moves it.
	Zero time.Time `json:"monotonic_zero,omitzero"`
}

// RTT is the round-trip time between two nodes, by the kernel's own measure of
// a TCP handshake; the least of several.
type RTT struct {
	From string  `json:"from"`
	To   string  `json:"to"`
	US   float64 `json:"us"`              // microseconds
	Err  string  `json:"error,omitempty"` // why there was no connection
}

// ClockOffsetBounds bounds how far one clock is ahead of another.
type ClockOffsetBounds struct {
	LeastNs int64 `json:"least_ns"`
	MostNs  int64 `json:"most_ns"`
}

// between bounds the offset from one measurement to another, for clocks that drift apart
// in one direction.
func (a ClockOffsetBounds) between(b ClockOffsetBounds) ClockOffsetBounds {
	return ClockOffsetBounds{LeastNs: min(a.LeastNs, b.LeastNs), MostNs: max(a.MostNs, b.MostNs)}
}

// Both combines two measurements of the same moment.
func (a ClockOffsetBounds) Both(b ClockOffsetBounds) ClockOffsetBounds {
	return ClockOffsetBounds{LeastNs: max(a.LeastNs, b.LeastNs), MostNs: min(a.MostNs, b.MostNs)}
}

// HostSetting is a setting of a machine on which a run's figures may depend.
type HostSetting struct {
	Name   string `json:"name"`   // as sysctl(8) writes it, or descriptors, rings, thp or governor
	Value  string `json:"value"`  // "" where there is no such setting
	Want   string `json:"want"`   // the recommended value, which Value meets where they are equal; "" where Value is
	Source string `json:"source"` // who recommends it
	Setter Setter `json:"setter"` // who can set it
}

// Setter says who can set a setting of a machine.
type Setter string

// The setters.
const (
	SetInNamespace Setter = "namespace" // root, for the network namespace that it is in
	SetOnHost      Setter = "host"      // root on the host itself: the setting is every container's
	SetByProcess   Setter = "process"   // a process of root for itself, or the limits of a login
	SetByNobody    Setter = "read-only" // nobody where the node runs
	SetAbsent      Setter = "absent"    // nobody: there is no such setting
)

// Meets reports whether a setting has the recommended value, or does not exist.
func (s HostSetting) Meets() bool { return s.Value == s.Want }
