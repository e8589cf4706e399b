package metrics

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Saturation says how busy a node's machine and process were in the window.
// Percentages of processors are of time.
type Saturation struct {
	Start              time.Time `json:"start,omitzero"` // of the time that it is of, by the clock of Record.Time
	LengthS            float64   `json:"length_s,omitempty"`
	ProcessCPUPercent  float64   `json:"process_cpu_percent"`         // 100 is one core busy
	OwnCoresPercent    float64   `json:"own_cores_cpu_percent"`       // busy share of the cores that the process may run on, by any process
	ThrottledPercent   float64   `json:"throttled_percent,omitempty"` // of the periods of 0.1 s or so of the process's cgroup: its quota of processor time ran out; 0 without one
	BusiestCorePercent float64   `json:"busiest_core_cpu_percent"`    // of all
	InterruptPercent   float64   `json:"interrupt_cpu_percent"`       // of all cores together: the kernel's work for devices and the network
	StolenPercent      float64   `json:"stolen_cpu_percent"`          // of all cores together: another guest of the hypervisor had them
	Runnable           float64   `json:"runnable"`                    // tasks that ran or waited for a core, the mean of the samples
	GCPercent          float64   `json:"gc_percent"`                  // of the time in which the process ran: collecting garbage (runtime/metrics, /cpu/classes)
	ProcessRSSBytes    uint64    `json:"process_rss_bytes,omitempty"` // the process's resident set, the largest sample
	OpeningRSSBytes    uint64    `json:"opening_rss_bytes,omitempty"` // likewise, when the time began
	Segments           uint64    `json:"tcp_segments"`                // that the machine sent, with something new in them
	Retransmits        uint64    `json:"tcp_retransmits"`             // that it sent again
}

// Usage is what one node's machine and process used in about one second.
type Usage struct {
	Phase               Phase            `json:"phase"`
	StartS              float64          `json:"start_s"`
	LengthS             float64          `json:"length_s"`
	CPUPercent          float64          `json:"cpu_percent"`      // of all cores together, 0 to 100
	CorePercent         []float64        `json:"core_cpu_percent"` // of each core, 0 to 100
	MemoryUsedBytes     uint64           `json:"memory_used_bytes"`
	MemoryTotalBytes    uint64           `json:"memory_total_bytes"`
	Interfaces          []InterfaceUsage `json:"interfaces"`
	DataInterface       string           `json:"data_interface"`  // the one that carries the run's traffic
	TCPRetransmits      uint64           `json:"tcp_retransmits"` // segments in this interval
	ContextSwitchesPerS float64          `json:"context_switches_per_s"`
	Process             ProcessUsage     `json:"process"`
}

// Data returns the usage of the interface that carries the run's traffic, and
// false when it was not sampled.
func (u Usage) Data() (InterfaceUsage, bool) {
	for _, i := range u.Interfaces {
		if i.Name == u.DataInterface {
			return i, true
		}
	}
	return InterfaceUsage{}, false
}

// InterfaceUsage is one network interface's traffic in an interval.
type InterfaceUsage struct {
	Name          string  `json:"name"`
	RxBytesPerS   float64 `json:"rx_bytes_per_s"`
	TxBytesPerS   float64 `json:"tx_bytes_per_s"`
	RxPacketsPerS float64 `json:"rx_packets_per_s"`
	TxPacketsPerS float64 `json:"tx_packets_per_s"`
}

// ProcessUsage is the node process's own share of Usage.
type ProcessUsage struct {
	CPUPercent float64 `json:"cpu_percent"` // 100 is one core busy
	RSSBytes   uint64  `json:"rss_bytes"`
	Goroutines int     `json:"goroutines"`
	OpenFiles  int     `json:"open_files"` // descriptors, those of connections among them
	GCCycles   uint32  `json:"gc_cycles"`  // in this interval
	GCPauseS   float64 `json:"gc_pause_s"` // stop-the-world seconds in this interval
	HeapBytes  uint64  `json:"heap_bytes"` // live and not yet swept objects
	LiveBytes  uint64  `json:"live_bytes"` // of them, what the last collection found in use
	HeldBytes  uint64  `json:"held_bytes"` // RSSBytes without garbage and without the runtime's spare memory
}

// Text returns the table as the seed printed it, under a title such as "SERVER".
// CPU is in percent of all cores, memory in GiB (2^30 bytes), network in Gb/s
// (10^9 bits per second).
func (t Table) Text(title string) string {
	const gib, gigabit = 1 << 30, 1e9 / 8
	via := ""
	if t.DataInterface != "" {
		via = " (" + t.DataInterface + ")"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "=== %s FINAL HARDWARE METRICS ===\n", title)
	for _, row := range []struct {
		name, unit string
		value      AvgPeak
		per        float64
	}{
		{"CPU Usage", "%", t.CPUPercent, 1},
		{"Memory Usage", "GiB", t.MemoryBytes, gib},
		{"Network RX" + via, "Gb/s", t.RxBytesPerS, gigabit},
		{"Network TX" + via, "Gb/s", t.TxBytesPerS, gigabit},
	} {
		fmt.Fprintf(&b, "%s:\n", row.name)
		fmt.Fprintf(&b, "  - Average: %.2f %s\n", row.value.Avg/row.per, row.unit)
		fmt.Fprintf(&b, "  - Peak:    %.2f %s\n", row.value.Peak/row.per, row.unit)
	}
	return b.String()
}

// Table is the seed's table of hardware metrics: average and peak over the
// window.
type Table struct {
	DataInterface string  `json:"data_interface"`
	CPUPercent    AvgPeak `json:"cpu_percent"`
	MemoryBytes   AvgPeak `json:"memory_bytes"`
	RxBytesPerS   AvgPeak `json:"rx_bytes_per_s"`
	TxBytesPerS   AvgPeak `json:"tx_bytes_per_s"`
}

// GroupTable returns the table of a group of nodes. Averages are means over the nodes, not sums,
// so that groups of different sizes compare. Peaks are those of the highest node.
// DataInterface lists the different names. An empty group has the zero Table.
func GroupTable(nodes []Table) Table {
	var group Table
	var names []string
	for _, t := range nodes {
		if !slices.Contains(names, t.DataInterface) {
			names = append(names, t.DataInterface)
		}
		group.CPUPercent.join(t.CPUPercent, len(nodes))
		group.MemoryBytes.join(t.MemoryBytes, len(nodes))
		group.RxBytesPerS.join(t.RxBytesPerS, len(nodes))
		group.TxBytesPerS.join(t.TxBytesPerS, len(nodes))
	}
	group.DataInterface = strings.Join(names, ",")
	return group
}

// join adds one of n nodes to a group.
func (a *AvgPeak) join(node AvgPeak, n int) {
	a.Avg += node.Avg / float64(n)
	a.Peak = max(a.Peak, node.Peak)
}

// Used is what a process, the processes of a role together, or the rest of the machines used in the
// window. The average is exact by the window's two ends; the peak is of a second, in which the
// processes' use is added up.
type Used struct {
	Cores          AvgPeak `json:"cores"`                   // processors busy with them
	MachinePercent float64 `json:"machine_percent"`         // the average of Cores, as a share of the processors of their machines
	MemoryBytes    AvgPeak `json:"memory_bytes"`            // resident; of the rest, what is in use on the machines beside that
	RxBytesPerS    AvgPeak `json:"rx_bytes_per_s,omitzero"` // of the data interfaces; of the rest, 0
	TxBytesPerS    AvgPeak `json:"tx_bytes_per_s,omitzero"`
	Payload        bool    `json:"payload,omitempty"` // these two are what the calls carried, without headers: others use the interfaces, too
	Unseen         string  `json:"unseen,omitempty"`  // why processors and memory are not known
}

// AvgPeak is an average over a window and the highest sample in it.
type AvgPeak struct {
	Avg  float64 `json:"avg"`
	Peak float64 `json:"peak"`
}

// Soak is how much a node's process held over a window. The first tenth of the window is
// left out, because buffers still grow in it.
type Soak struct {
	Samples     int     `json:"samples"`     // about one a second
	LengthS     float64 `json:"length_s"`    // the time that they cover
	Held        Growth  `json:"held"`        // the resident set without garbage, see ProcessUsage
	RSS         Growth  `json:"rss"`         // the resident set
	Collections int     `json:"collections"` // of garbage
	Goroutines  Level   `json:"goroutines"`
	OpenFiles   Level   `json:"open_files"`
}

// Level is a number that should stay constant. It may be higher for an instant, as when a
// timer of every connection fires.
type Level struct {
	Range
	Rise int `json:"rise"` // the largest increase of the minimum of a tenth of the time over that of an earlier tenth
}

// Growth is the trend of an amount of memory over time.
type Growth struct {
	MedianBytes float64 `json:"median_bytes"`
	BytesPerH   float64 `json:"bytes_per_h"` // the Theil-Sen slope; below 0 when it shrinks
	Share       float64 `json:"share"`       // the slope times the sampled time, as a share of MedianBytes
	TrendP      float64 `json:"trend_p"`     // of the Mann-Kendall test
}

func (g Growth) String() string {
	return fmt.Sprintf("%.1f MB, %+.1f MB/h (%+.2f %%, trend p %.2g)", g.MedianBytes/1e6, g.BytesPerH/1e6, 100*g.Share, g.TrendP)
}

func (l Level) String() string { return fmt.Sprintf("%d to %d (rise %d)", l.Min, l.Max, l.Rise) }

// String says what was found, for people.
func (s Soak) String() string {
	if s.LengthS == 0 {
		return fmt.Sprintf("%d samples are too few: the window is too short", s.Samples)
	}
	if s.Goroutines.Max == 0 { // a foreign store's process
		return fmt.Sprintf("resident %s; descriptors %s; %.0f s", s.RSS, s.OpenFiles, s.LengthS)
	}
	return fmt.Sprintf("held %s; resident %s; goroutines %s; descriptors %s; %.0f s, %d collections",
		s.Held, s.RSS, s.Goroutines, s.OpenFiles, s.LengthS, s.Collections)
}

// Range is the lowest and the highest of some numbers.
type Range struct {
	Min int `json:"min"`
	Max int `json:"max"`
}

// MinSoakSamples is the smallest number of samples that a soak is judged by.
const MinSoakSamples = 12

// Join widens the range by another.
func (r *Range) Join(s Range) { r.Min, r.Max = min(r.Min, s.Min), max(r.Max, s.Max) }
