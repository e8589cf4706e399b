package tune

import (
	"testing"

	"kvlab/metrics"
)

func TestShow(t *testing.T) {
	own := metrics.HostSetting{Name: "net.core.somaxconn", Value: "4096", Want: "65535", Setter: metrics.SetInNamespace, Source: "X"}
	other, none := own, metrics.HostSetting{Name: "governor", Setter: metrics.SetAbsent, Source: "Y"}
	other.Value = "65535"
	huge := metrics.HostSetting{Name: "thp", Value: "madvise", Want: "always", Setter: metrics.SetOnHost, Source: "Z"}
	fixed := metrics.HostSetting{Name: "vm.swappiness", Value: "60", Want: "10", Setter: metrics.SetByNobody, Source: "Z"}
	rings := metrics.HostSetting{Name: "rings eth1", Value: "rx 1 tx 1", Want: "rx 8 tx 4", Setter: metrics.SetInNamespace, Source: "Z"}
	var p metrics.Preflight
	for i, s := range []metrics.HostSetting{own, other, own} {
		p.Machines = append(p.Machines, metrics.Machine{
			Nodes: []string{string(rune('a' + i))}, Facts: &metrics.Facts{Settings: []metrics.HostSetting{s, none, huge, fixed, rings}},
		})
	}
	want := `setting             value      recommended  set by     source  nodes
net.core.somaxconn  4096       65535        namespace  X       a,c
net.core.somaxconn  65535      as it is     namespace  X       b
governor            -          -            absent     Y       all
thp                 madvise    always       host       Z       all
vm.swappiness       60         10           read-only  Z       all
rings eth1          rx 1 tx 1  rx 8 tx 4    namespace  Z       all

as root on each host, until it boots again (kvlab sets none of them):
  sysctl -w net.core.somaxconn=65535
  echo always >/sys/kernel/mm/transparent_hugepage/enabled
  ethtool -G eth1 rx 8 tx 4
`
	if got := Row.Text(p); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if err := Row.Check("apply"); err == nil || err.Error() != "want show: it prints the commands that set a host" {
		t.Errorf("--tune apply: %v", err)
	}
}
