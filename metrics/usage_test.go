package metrics

import (
	"strings"
	"testing"
)

func TestTableText(t *testing.T) {
	table := Table{
		DataInterface: "eno1d1",
		CPUPercent:    AvgPeak{74.254, 92.1},
		MemoryBytes:   AvgPeak{1.5 * (1 << 30), 2 << 30},
		RxBytesPerS:   AvgPeak{515e6, 1163.75e6},
		TxBytesPerS:   AvgPeak{1e6, 2.5e6},
	}
	const want = `=== SERVER FINAL HARDWARE METRICS ===
CPU Usage:
  - Average: 74.25 %
  - Peak:    92.10 %
Memory Usage:
  - Average: 1.50 GiB
  - Peak:    2.00 GiB
Network RX (eno1d1):
  - Average: 4.12 Gb/s
  - Peak:    9.31 Gb/s
Network TX (eno1d1):
  - Average: 0.01 Gb/s
  - Peak:    0.02 Gb/s
`
	got := table.Text("SERVER")
	if got != want {
		t.Errorf("text\n%s\nwant\n%s", got, want)
	}
	if strings.Contains(got, "ops/s") {
		t.Error("the labs' report-tput.py would take a line for a sample")
	}
}

func TestGroupTable(t *testing.T) {
	all := func(avg, peak float64) Table {
		a := AvgPeak{avg, peak}
		return Table{"", a, a, a, a}
	}
	named := func(name string, t Table) Table { t.DataInterface = name; return t }
	for _, tt := range []struct {
		name  string
		nodes []Table
		want  Table
	}{
		{"none", nil, Table{}},
		{"one", []Table{named("lo", all(3, 4))}, named("lo", all(3, 4))},
		{"three", []Table{named("eth0", all(10, 50)), named("eth1", all(20, 90)), named("eth0", all(60, 70))}, named("eth0,eth1", all(30, 90))},
	} {
		if got := GroupTable(tt.nodes); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}
