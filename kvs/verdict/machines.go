package verdict

import (
	"fmt"
	"slices"
	"strings"

	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/metrics/stats"
)

// machineLoad is the load of one machine of a run.
type machineLoad struct {
	nodes    []metrics.RunNode // on it, servers first
	cores    float64
	cpu      float64                  // per cent of all cores
	process  map[metrics.Role]float64 // per cent of all cores, of the run's processes
	network  float64                  // per cent of all cores: interrupts
	runnable float64
	unseen   bool // a store's process on it is not sampled
}

// machinesOf groups a run's nodes by machine, in the order of the first nodes. Nodes
// that did not report are left out. The hosts of a virtual lab are one machine with
// several links.
func machinesOf(run metrics.Run) []*machineLoad {
	var machines []*machineLoad
	known := make(map[string]*machineLoad)
	for _, node := range run.Nodes {
		if node.Config == nil || node.Summary == nil {
			continue
		}
		host := node.Config.Host
		name := host.Hostname
		if run.Lab != nil {
			name = "lab"
		}
		m := known[name]
		if m == nil {
			m = &machineLoad{cores: float64(max(host.Cores, 1)), process: make(map[metrics.Role]float64)}
			known[name], machines = m, append(machines, m)
		}
		m.nodes = append(m.nodes, node)
		m.unseen = m.unseen || unseen(node) != "" && !elsewhere(node)
		m.cpu = max(m.cpu, node.Summary.Usage.CPUPercent.Avg)
		if p := node.Summary.Saturation; p != nil {
			m.process[node.Role] += p.ProcessCPUPercent / m.cores
			m.network = max(m.network, p.InterruptPercent)
			m.runnable = max(m.runnable, p.Runnable)
		}
	}
	return machines
}

// shared reports whether servers and clients run on the same cores.
func (m *machineLoad) shared() bool {
	return slices.ContainsFunc(m.nodes, func(a metrics.RunNode) bool {
		return slices.ContainsFunc(m.nodes, func(b metrics.RunNode) bool {
			return a.Role != b.Role && a.Config.Cores == b.Config.Cores && !elsewhere(a) && !elsewhere(b)
		})
	})
}

func (m *machineLoad) name() string { return m.nodes[0].Name }

// split says how the work on the machine is divided.
func (m *machineLoad) split() string {
	if m.unseen {
		return fmt.Sprintf("clients %.0f %%, network %.0f %%, the store's process is not seen", m.process[metrics.Client], m.network)
	}
	return fmt.Sprintf("servers %.0f %%, clients %.0f %%, network %.0f %%", m.process[metrics.Server], m.process[metrics.Client], m.network)
}

// OtherWork returns the most that any machine of a run spent on what is not the run's, in per
// cent of its processors, and the name of a node on it. It is the witness of a disturbance:
// it says nothing of the result.
func OtherWork(run metrics.Run) (percent float64, node string) {
	for _, m := range machinesOf(run) {
		if m.other() > percent {
			percent, node = m.other(), m.name()
		}
	}
	return percent, node
}

// other returns the work on the machine that is not the run's, in percent of all its cores,
// including time that the hypervisor gave to other guests. Network interrupts count as
// the run's. It is 0 where the work of the store is not known.
func (m *machineLoad) other() float64 {
	if m.unseen {
		return 0
	}
	return max(0, m.cpu-m.network-m.process[metrics.Server]-m.process[metrics.Client])
}

// waits reports whether the run's processes use less of the machine than one thread would that
// always wants a processor: so at times none of them wants one, and its calls wait for something
// else. The kernel gives threads of like weight equal shares (sched(7)).
func (m *machineLoad) waits() bool {
	return !m.unseen && m.cpu-m.other() < 100/max(m.runnable, m.cores)
}

// grows reports whether the slope is above a share and significant.
func grows(g metrics.Growth, share float64) bool {
	return g.Share > share && g.TrendP <= stats.MinTrendP
}

// The limits of a soak. They are this project's: a leak exceeds them in a long run, a
// heap at rest does not.
const (
	maxHeldGrowth     = 0.02 // of the median, over the time judged
	maxRSSGrowth      = 0.1  // likewise
	maxGoroutineShare = 0.05 // rise, of the most
	maxGoroutines     = 8    // likewise, where that share is fewer
	maxOpenFiles      = 4    // rise
	minCollections    = 5    // of garbage, as often is it known what is live
)

// soakFault says what grew during the soak; "" for nothing. Held memory grows when its
// slope over the time judged is above 2 % of the median and the Mann-Kendall test finds
// a trend at the level of 1 %: a slope alone may be noise, and a trend alone is found
// in any process that is observed long enough. The resident set includes garbage,
// fragmentation and pages that the runtime keeps, so it may grow by 10 %. Descriptors
// may rise by 4, and goroutines by 8 or 5 %.
//
// Of a foreign store's process only the resident set and the descriptors are known.
func soakFault(s metrics.Soak, foreign bool) string {
	switch {
	case s.Samples < metrics.MinSoakSamples:
		return fmt.Sprintf("%d samples, fewer than %d: the window is too short", s.Samples, metrics.MinSoakSamples)
	case foreign:
	case s.Collections < minCollections:
		return fmt.Sprintf("%d collections of garbage, fewer than %d: what is held is not known", s.Collections, minCollections)
	case grows(s.Held, maxHeldGrowth):
		return fmt.Sprintf("memory grows in %.0f s: held %s", s.LengthS, s.Held)
	}
	switch {
	case grows(s.RSS, maxRSSGrowth):
		return fmt.Sprintf("memory grows in %.0f s: resident %s", s.LengthS, s.RSS)
	case s.OpenFiles.Rise > maxOpenFiles:
		return fmt.Sprintf("open descriptors rise by %d, from %d to %d", s.OpenFiles.Rise, s.OpenFiles.Min, s.OpenFiles.Max)
	case s.Goroutines.Rise > max(maxGoroutines, int(maxGoroutineShare*float64(s.Goroutines.Max))):
		return fmt.Sprintf("goroutines rise by %d, from %d to %d", s.Goroutines.Rise, s.Goroutines.Min, s.Goroutines.Max)
	}
	return ""
}

// heapGrowth is how much Go's heap grows beside what lives in it, before it is collected
// (GOGC 100, package runtime).
const heapGrowth = 2

// memoryGrowth says of each foreign store's process whose memory grew in the window how much:
// by more than a heap may, with the calls under way and what was inserted in it.
func memoryGrowth(run metrics.Run) (grown []string) {
	added := 0.0 // bytes
	for _, s := range run.Summaries(metrics.Client) {
		b, c := s.BytesInWindow, s.InWindow
		added += portion(float64(b.Sent+b.Received), float64(c.Calls)) * float64(run.Workload.Workers()*run.Workload.InFlight())
		added += portion(float64(b.Sent), float64(writes(c))) * float64(c.Inserts)
	}
	for _, node := range run.Servers() {
		if node.Summary == nil || node.Summary.Saturation == nil || !foreign(node) {
			continue
		}
		p := node.Summary.Saturation
		if float64(p.ProcessRSSBytes) > heapGrowth*(float64(p.OpeningRSSBytes)+added) && p.OpeningRSSBytes > 0 {
			grown = append(grown, fmt.Sprintf("the store's memory on %s grew from %s to %s in the window", node.Name, format.Bytes(p.OpeningRSSBytes), format.Bytes(p.ProcessRSSBytes)))
		}
	}
	return grown
}

// checkSoak: in a soak, no process grew.
func checkSoak(run *judged) finding {
	var evidence []string
	for _, node := range run.Nodes {
		if node.Soak == nil {
			continue
		}
		if fault := soakFault(*node.Soak, foreign(node)); fault != "" {
			return failed(node.Name, "%s in the soak: %s", node.Role, fault)
		}
		evidence = append(evidence, fmt.Sprintf("%s of %s held %s", node.Role, node.Name, node.Soak.Held))
	}
	if evidence == nil {
		return inapplicable("no -soak")
	}
	return passed("%s", strings.Join(evidence, "; "))
}
