package bottleneck

import (
	"fmt"
	"slices"

	"kvlab/metrics"
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
		m.unseen = m.unseen || node.Unseen() != "" && !node.Elsewhere()
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
			return a.Role != b.Role && a.Config.Cores == b.Config.Cores && !a.Elsewhere() && !b.Elsewhere()
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
