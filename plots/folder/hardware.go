package folder

import (
	"fmt"
	"slices"

	"kvlab/metrics"
)

// Machine is the hardware and the program of one node, or of several that are alike.
type Machine struct {
	metrics.Host        // without what differs between machines that are alike
	Binary       string // the digest of the node's program
	Nodes        []string
}

// Hardware lists the machines of the nodes.
func Hardware(nodes []metrics.RunNode) []Machine {
	var all []Machine
	for _, node := range nodes {
		if node.Config == nil {
			continue
		}
		host, binary := node.Config.Host, node.Config.Binary
		host.Hostname, host.MemoryAvailableBytes = "", 0
		i := slices.IndexFunc(all, func(m Machine) bool { return m.Host == host && m.Binary == binary })
		if i < 0 {
			i = len(all)
			all = append(all, Machine{Host: host, Binary: binary})
		}
		all[i].Nodes = append(all[i].Nodes, fmt.Sprintf("%s (%s)", node.Name, node.Config.Host.Hostname))
	}
	return all
}

// Memory returns the size of the machine's memory, for people.
func (m Machine) Memory() string {
	return fmt.Sprintf("%.1f GiB", float64(m.MemoryTotalBytes)/(1<<30))
}
