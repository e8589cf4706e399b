package usage

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"kvlab/metrics"
)

// A machine with every file shows each trait, and one without files that none is there.
func TestTraits(t *testing.T) {
	root := t.TempDir()
	for path, text := range map[string]string{
		"sys/class/dmi/id/product_name":                   "PowerEdge R6525\n",
		"sys/class/dmi/id/bios_version":                   "2.14.1\n",
		processors + "online":                             "0-31\n",
		processors + "isolated":                           "\n",
		processors + "intel_pstate/no_turbo":              "1\n",
		processors + "cpu0/cpufreq/scaling_driver":        "intel_pstate\n",
		processors + "cpu1/cpufreq/scaling_driver":        "acpi-cpufreq\n",
		processors + "cpu2/cpufreq/scaling_driver":        "acpi-cpufreq\n",
		processors + "smt/control":                        "on\n",
		processors + "vulnerabilities/meltdown":           "Not affected\n",
		processors + "vulnerabilities/spectre_v2":         "Mitigation: Enhanced IBRS\n",
		processors + "vulnerabilities/l1tf":               "Vulnerable\n",
		"sys/devices/system/node/online":                  "0-1\n",
		"sys/kernel/mm/transparent_hugepage/defrag":       "always defer [madvise] never\n",
		"sys/class/net/eth9/queues/rx-0/rps_cpus":         "00,0000ffff\n",
		"sys/class/net/eth9/queues/rx-1/rps_cpus":         "00,00000000\n",
		"sys/class/net/eth9/queues/tx-0/xps_cpus":         "0\n",
		"proc/cpuinfo":                                    "processor\t: 0\nmodel name\t: X\nmicrocode\t: 0x2b000590\nflags\t: fpu\n\nprocessor\t: 1\n",
		"proc/swaps":                                      "Filename\tType\tSize\tUsed\tPriority\n/dev/sda2 partition\t8388604\t17\t-2\n/swap\\040file file\t1024\t0\t-3\n",
		"proc/cmdline":                                    "quiet  mitigations=auto\n",
		"proc/self/cgroup":                                "4:memory:/a\n3:cpu,cpuacct:/jobs/7/step\n0::/jobs\n",
		"sys/fs/cgroup/cpu/jobs/7/step/cpu.cfs_quota_us":  "-1\n",
		"sys/fs/cgroup/cpu/jobs/7/step/cpu.cfs_period_us": "100000\n",
		"sys/fs/cgroup/cpu/jobs/cpu.cfs_quota_us":         "150000\n",
		"sys/fs/cgroup/cpu/jobs/cpu.cfs_period_us":        "100000\n",
		"sys/fs/cgroup/jobs/cpu.max":                      "max 100000\n",
	} {
		put(t, filepath.Join(root, path), text)
	}
	if err := os.MkdirAll(filepath.Join(root, "sys/class/net/eth9/device"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../../../../bus/pci/drivers/mlx5_core", filepath.Join(root, "sys/class/net/eth9/device/driver")); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"machine": "PowerEdge R6525", "firmware": "2.14.1", "processors online": "0-31", "processors isolated": "none",
		"processor limit": "150000 100000", "turbo off": "1", "scaling driver": "acpi-cpufreq,intel_pstate", "smt": "on",
		"microcode": "0x2b000590", "mitigations": "l1tf: Vulnerable, spectre_v2: Mitigation: Enhanced IBRS", "numa nodes": "0-1",
		"thp defrag": "madvise", "swap": "partition 8388604, file 1024", "kernel command line": "quiet mitigations=auto",
		"nic driver": "mlx5_core", "nic rx queues": "2", "nic tx queues": "1", "nic rps": "00,00000000,00,0000ffff", "nic xps": "0",
	}
	got := Traits(root, "eth9")
	if len(got) != len(traits) {
		t.Errorf("%d traits of %d", len(got), len(traits))
	}
	maps.DeleteFunc(got, func(_, value string) bool { return value == metrics.Absent })
	if !maps.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for name, value := range Traits(t.TempDir(), "") {
		if value != metrics.Absent {
			t.Errorf("a machine without files has %s %q", name, value)
		}
	}
}

// A limit of version 2 of cgroups counts, and the nearest one does.
func TestProcessorLimit(t *testing.T) {
	for _, test := range []struct {
		files map[string]string
		want  string
	}{
		{map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/cpu.max": "max 100000\n", "sys/fs/cgroup/a/cpu.max": "50000 100000\n"}, "50000 100000"},
		{map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "200000 100000\n"}, "200000 100000"}, // a container
		{map[string]string{"proc/self/cgroup": "0::/../..\n", "sys/fs/cgroup/cpu.stat": "\n"}, "none"},                 // outside of the namespace's root
		{nil, metrics.Absent},
	} {
		root := t.TempDir()
		for path, text := range test.files {
			put(t, filepath.Join(root, path), text)
		}
		if got := Traits(root, "")["processor limit"]; got != test.want {
			t.Errorf("%q: %q, want %q", test.files, got, test.want)
		}
	}
}
