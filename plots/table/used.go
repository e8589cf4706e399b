package table

import (
	"fmt"

	"kvlab/metrics"
	"kvlab/metrics/format"
)

// UsedColumns are the columns of what processes used in the window. Cores are processors that
// were busy with them, MB are 10^6 bytes; a peak is of a second.
var UsedColumns = []string{"cores", "peak", "machine", "resident MB", "peak", "in MB/s", "peak", "out MB/s", "peak"}

// UsedCells returns the cells of UsedColumns. What is not known is "-".
func UsedCells(u *metrics.Used) (cells []string) {
	if u == nil {
		u = new(metrics.Used)
	}
	add := func(v metrics.AvgPeak, unit float64, digits int) {
		for _, value := range []float64{v.Avg, v.Peak} {
			text := "-"
			if v.Peak > 0 {
				text = fmt.Sprintf("%.*f", digits, value/unit)
			}
			cells = append(cells, text)
		}
	}
	add(u.Cores, 1, 2)
	if cells = append(cells, "-"); u.Cores.Peak > 0 {
		cells[2] = fmt.Sprintf("%.1f %%", u.MachinePercent)
	}
	add(u.MemoryBytes, 1e6, 0)
	add(u.RxBytesPerS, 1e6, 1)
	add(u.TxBytesPerS, 1e6, 1)
	return cells
}

// UsedByRole returns a run's table by role: the servers, the clients, and the rest of their
// machines. The first column names the role. It has no row of a run that recorded nothing.
func UsedByRole(run metrics.Run) (columns []string, rows [][]string) {
	for _, role := range []metrics.Role{metrics.Server, metrics.Client, metrics.Rest} {
		if used, ok := run.Used[role]; ok {
			name := "the rest"
			if role != metrics.Rest {
				name = format.Plural(run.Count(role), string(role))
			}
			rows = append(rows, append([]string{name}, UsedCells(&used)...))
		}
	}
	return append([]string{"role"}, UsedColumns...), rows
}

// UsedNotes say what the figures of a run's table by role are not.
func UsedNotes(run metrics.Run) (notes []string) {
	server := run.Used[metrics.Server]
	if server.Unseen != "" {
		notes = append(notes, "the store's process is not sampled: "+server.Unseen)
	}
	if server.Payload && server.RxBytesPerS.Peak+server.TxBytesPerS.Peak > 0 {
		notes = append(notes, "in and out: what the calls carried, without headers, since servers and clients share an interface")
	}
	return notes
}
