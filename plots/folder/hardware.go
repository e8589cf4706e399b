package folder

import (
	"fmt"

	"kvlab/metrics"
)

// Hardware lists the nodes' machines. Machines that are alike share a row.
func Hardware(nodes []metrics.RunNode) []hardwareRow {
	var rows []hardwareRow
	place := map[metrics.Host]map[string]int{}
	for _, node := range nodes {
		if node.Config == nil {
			continue
		}
		kind := node.Config.Host
		kind.Hostname, kind.MemoryAvailableBytes = "", 0
		if place[kind] == nil {
			place[kind] = map[string]int{}
		}
		i, seen := place[kind][node.Config.Binary]
		if !seen {
			i = len(rows)
			place[kind][node.Config.Binary] = i
			rows = append(rows, hardwareRow{Host: kind, Binary: node.Config.Binary,
				Memory: fmt.Sprintf("%.1f GiB", float64(kind.MemoryTotalBytes)/(1<<30))})
		}
		rows[i].Nodes = append(rows[i].Nodes, fmt.Sprintf("%s (%s)", node.Name, node.Config.Host.Hostname))
	}
	return rows
}

// hardwareRow is the machine of one node or several alike.
type hardwareRow struct {
	Nodes  []string
	Memory string
	metrics.Host
	Binary string
}
