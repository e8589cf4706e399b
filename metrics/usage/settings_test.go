package usage

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"kvlab/metrics"
)

// fresh are the settings of a machine as it comes, with their files.
var fresh = map[string]string{
	"proc/sys/net/core/somaxconn":                           "4096\n",
	"proc/sys/net/core/rmem_max":                            "4194304\n",
	"proc/sys/net/core/netdev_max_backlog":                  "1000\n",
	"proc/sys/net/ipv4/tcp_rmem":                            "4096\t131072\t33554432\n",
	"proc/sys/net/ipv4/tcp_wmem":                            "4096\t16384\t4194304\n",
	"proc/sys/vm/swappiness":                                "1\n",
	"sys/kernel/mm/transparent_hugepage/enabled":            "always [madvise] never\n",
	"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor":  "powersave\n",
	"sys/devices/system/cpu/cpu12/cpufreq/scaling_governor": "ondemand\n",
}

// fakeRoot returns a folder with the files of a fresh machine.
func fakeRoot(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for path, text := range fresh {
		put(t, filepath.Join(root, path), text)
	}
	return root
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func named(t *testing.T, all []metrics.HostSetting, name string) metrics.HostSetting {
	t.Helper()
	i := slices.IndexFunc(all, func(s metrics.HostSetting) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("no setting %s in %+v", name, all)
	}
	return all[i]
}

func TestSettings(t *testing.T) {
	root := fakeRoot(t)
	if err := os.Chmod(filepath.Join(root, "proc/sys/net/core/rmem_max"), 0o444); err != nil {
		t.Fatal(err)
	}
	all := Settings(root, "lo")
	for _, want := range []metrics.HostSetting{
		{Name: "net.core.somaxconn", Value: "4096", Want: "65535", Setter: metrics.SetInNamespace, Source: antCache},
		{Name: "net.ipv4.tcp_rmem", Value: "4096 131072 33554432", Want: "4096 131072 33554432", Setter: metrics.SetInNamespace, Source: network},
		{Name: "net.ipv4.tcp_wmem", Value: "4096 16384 4194304", Want: "4096 16384 16777216", Setter: metrics.SetInNamespace, Source: network},
		{Name: "net.core.rmem_max", Value: "4194304", Want: "134217728", Setter: metrics.SetByNobody, Source: embarcadero},
		{Name: "net.core.wmem_max", Setter: metrics.SetAbsent, Source: embarcadero},
		{Name: "vm.swappiness", Value: "1", Want: "1", Setter: metrics.SetOnHost, Source: throughput},
		{Name: "thp", Value: "madvise", Want: "always", Setter: metrics.SetOnHost, Source: throughput},
		{Name: "governor", Value: "ondemand,powersave", Want: "performance", Setter: metrics.SetOnHost, Source: throughput},
		{Name: "rings", Setter: metrics.SetAbsent, Source: redHat},
	} {
		if got := named(t, all, want.Name); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	if limit := named(t, all, "descriptors"); limit.Value == "" || limit.Setter != metrics.SetByProcess {
		t.Errorf("%+v", limit)
	}
}
