package metrics

// Saturation says how busy a node's machine and process were in the window.
// Percentages of processors are of time.
type Saturation struct {
	ProcessCPUPercent  float64 `json:"process_cpu_percent"`      // 100 is one core busy
	OwnCoresPercent    float64 `json:"own_cores_cpu_percent"`    // busy share of the cores that the process may run on, by any process
	BusiestCorePercent float64 `json:"busiest_core_cpu_percent"` // of all
	InterruptPercent   float64 `json:"interrupt_cpu_percent"`    // of all cores together: the kernel's work for devices and the network
	StolenPercent      float64 `json:"stolen_cpu_percent"`       // of all cores together: another guest of the hypervisor had them
	Runnable           float64 `json:"runnable"`                 // tasks that ran or waited for a core, the mean of the samples
	GCPercent          float64 `json:"gc_percent"`               // of the time in which the process ran: collecting garbage (runtime/metrics, /cpu/classes)
	Segments           uint64  `json:"tcp_segments"`             // that the machine sent, with something new in them
	Retransmits        uint64  `json:"tcp_retransmits"`          // that it sent again
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
	HeldBytes  uint64  `json:"held_bytes"` // RSSBytes without what may be garbage, and what the runtime keeps for objects to come
}
