package tune

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"kvlab/metrics"
)

// TestMain runs the tests, or in a child of killed a process that applies the settings,
// restores them, and is killed at a step.
func TestMain(m *testing.M) {
	if root := os.Getenv("KVLAB_TUNE_ROOT"); root != "" {
		step, _ := strconv.Atoi(os.Getenv("KVLAB_TUNE_STEP"))
		fmt.Println(tunedOnce(root, step))
		return
	}
	os.Exit(m.Run())
}

// tunedOnce applies and restores the settings below a root, and returns the number of
// writes. At a step below twice that number the process is killed: at an even one before
// a write, at an odd one after it.
func tunedOnce(root string, step int) int {
	writes, host := 0, New(root, "")
	write := host.write
	die := func(at int) {
		if at == step {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	host.write = func(path, text string) error {
		die(2 * writes)
		err := write(path, text)
		die(2*writes + 1)
		writes++
		return err
	}
	held, _, err := host.Apply()
	if err == nil {
		_, err = held.Release()
	}
	if err != nil {
		panic(err)
	}
	return writes
}

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
	if err := os.MkdirAll(filepath.Join(root, "proc/self/ns"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"net": "net:[77]", "pid": "pid:[4026531836]"} {
		if err := os.Symlink(target, filepath.Join(root, "proc/self/ns", name)); err != nil {
			t.Fatal(err)
		}
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

// values are the values of the fresh machine's files below a root.
func values(t *testing.T, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for path := range fresh {
		value, err := get(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		all[path] = value
	}
	return all
}

// same fails the test if values differ.
func same(t *testing.T, got, want map[string]string) {
	t.Helper()
	for path, value := range want {
		if got[path] != value {
			t.Errorf("%s is %q, want %q", path, got[path], value)
		}
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
	all := New(root, "lo").Settings()
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

func TestApplyAndRelease(t *testing.T) {
	root := fakeRoot(t)
	before := values(t, root)
	held, all, err := New(root, "").Apply()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if s.Name != "descriptors" && (s.Error != "" || !s.Meets()) { // a process without CAP_SYS_RESOURCE has its limit
			t.Errorf("%+v", s)
		}
	}
	if s := named(t, all, "net.core.somaxconn"); s.Was != "4096" || s.Value != "65535" {
		t.Errorf("%+v", s)
	}
	if s := named(t, all, "vm.swappiness"); s.Was != "" {
		t.Errorf("a setting that meets its recommendation was set: %+v", s)
	}
	if left, err := held.Release(); err != nil || len(left) > 0 {
		t.Errorf("%q, %v", left, err)
	}
	same(t, values(t, root), before)
	if _, err := os.Stat(filepath.Join(root, "run/kvlab")); !os.IsNotExist(err) {
		t.Errorf("the journal is left: %v", err)
	}
	if lines, err := New(root, "").Recover(); len(lines) > 0 || err != nil {
		t.Errorf("without a journal: %q, %v", lines, err)
	}
}

// Processes that apply and release at the same time, each with a journal that another may
// just have removed, leave the old values and no journal.
func TestAtTheSameTime(t *testing.T) {
	root := fakeRoot(t)
	before := values(t, root)
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for range 4 {
				held, _, err := New(root, "").Apply()
				if err == nil {
					_, err = held.Release()
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	same(t, values(t, root), before)
	if _, err := os.Stat(filepath.Join(root, "run/kvlab")); !os.IsNotExist(err) {
		t.Errorf("the journal is left: %v", err)
	}
}

// The last of several processes restores, and the settings of one that was killed stay
// while another uses them.
func TestSeveralProcesses(t *testing.T) {
	root := fakeRoot(t)
	before := values(t, root)
	a, _, err := New(root, "").Apply()
	if err != nil {
		t.Fatal(err)
	}
	b, all, err := New(root, "").Apply()
	if err != nil {
		t.Fatal(err)
	}
	if s := named(t, all, "net.core.somaxconn"); s.Was != "4096" {
		t.Errorf("the second does not know what it was: %+v", s)
	}
	tuned := values(t, root)
	a.journal.close() // as the kernel does for a process that is killed
	if lines, err := New(root, "").Recover(); len(lines) > 0 || err != nil {
		t.Errorf("restored beside a user: %q, %v", lines, err)
	}
	same(t, values(t, root), tuned)
	if _, err := b.Release(); err != nil {
		t.Fatal(err)
	}
	same(t, values(t, root), before)
}

func TestChangedMeanwhile(t *testing.T) {
	root := fakeRoot(t)
	held, _, err := New(root, "").Apply()
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(root, "proc/sys/net/core/somaxconn"), "1000\n")
	lines, err := held.Release()
	if err != nil || !slices.Equal(lines, []string{"net.core.somaxconn is 1000, which somebody else has set: it is left, and was 4096"}) {
		t.Errorf("%q, %v", lines, err)
	}
	want := values(t, fakeRoot(t))
	want["proc/sys/net/core/somaxconn"] = "1000"
	same(t, values(t, root), want)
}

// A container's root sets no setting of the host, and none that the kernel changes.
func TestRefused(t *testing.T) {
	root := fakeRoot(t)
	link := filepath.Join(root, "proc/self/ns/pid")
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("pid:[4026532000]", link); err != nil {
		t.Fatal(err)
	}
	host := New(root, "")
	host.write = func(path, text string) error {
		if text == "65535" {
			text = "32768"
		}
		return os.WriteFile(path, []byte(text), 0o644)
	}
	held, all, err := host.Apply()
	if err != nil {
		t.Fatal(err)
	}
	defer held.Release()
	for name, want := range map[string]string{"vm.overcommit_memory": "", "thp": "only the host itself", "net.core.somaxconn": "the kernel makes it 32768", "net.ipv4.tcp_wmem": ""} {
		if s := named(t, all, name); !strings.HasPrefix(s.Error, want) || want == "" && s.Error != "" || want != "" && s.Was != "" {
			t.Errorf("%+v, want the error %q", s, want)
		}
	}
	if now := values(t, root)["proc/sys/net/core/somaxconn"]; now != "4096" {
		t.Errorf("somaxconn is %s, want what it was", now)
	}
}

func TestBesideTuned(t *testing.T) {
	root := fakeRoot(t)
	put(t, filepath.Join(root, "run/tuned/tuned.pid"), "4711\n")
	held, _, err := New(root, "").Apply()
	if err != nil {
		t.Fatalf("its process does not exist: %v", err)
	}
	held.Release()
	put(t, filepath.Join(root, "proc/4711/stat"), "")
	if _, _, err := New(root, "").Apply(); err == nil || !strings.Contains(err.Error(), "process 4711") {
		t.Errorf("error %v", err)
	}
}

// A line whose writer was killed is removed, and the entries before it hold.
func TestTornJournal(t *testing.T) {
	for cut := 1; cut < 60; cut += 7 {
		root := fakeRoot(t)
		before := values(t, root)
		held, _, err := New(root, "").Apply()
		if err != nil {
			t.Fatal(err)
		}
		j := held.journal.file
		line := `{"path":"` + filepath.Join(root, "proc/sys/net/core/somaxconn") + `","was":"7"`
		if _, err := j.WriteString(line[:cut]); err != nil {
			t.Fatal(err)
		}
		held.journal.close()
		if lines, err := New(root, "").Recover(); err != nil || !slices.Contains(lines, "net.core.somaxconn is 4096 again") {
			t.Fatalf("%q, %v", lines, err)
		}
		same(t, values(t, root), before)
	}
}

// kills is how often a test kills a process.
func kills() int {
	if os.Getenv("KVLAB_LONG") == "1" {
		return 50
	}
	return 6
}

// killed starts a process that tunes a root and is killed at a step, and returns what it
// prints if it lives.
func killed(t *testing.T, root string, step int) string {
	t.Helper()
	child := exec.Command("/proc/self/exe")
	child.Env = append(os.Environ(), "KVLAB_TUNE_ROOT="+root, "KVLAB_TUNE_STEP="+strconv.Itoa(step))
	out, err := child.Output()
	if status := child.ProcessState.Sys().(syscall.WaitStatus); err != nil && status.Signal() != syscall.SIGKILL {
		t.Fatalf("step %d: %v: %s", step, err, out)
	}
	return strings.TrimSpace(string(out))
}

// Whatever step a process is killed at, Recover restores the old values.
func TestKilledAtAnyStep(t *testing.T) {
	root := fakeRoot(t)
	before := values(t, root)
	writes, err := strconv.Atoi(killed(t, root, -1))
	if err != nil || writes < 2*6 {
		t.Fatalf("%d writes, %v", writes, err)
	}
	random := rand.New(rand.NewPCG(16, 0))
	for range kills() {
		step := random.IntN(2 * writes)
		if out := killed(t, root, step); out != "" {
			t.Errorf("step %d: the process lives: %s", step, out)
		}
		if _, err := New(root, "").Recover(); err != nil {
			t.Errorf("step %d: %v", step, err)
		}
		same(t, values(t, root), before)
	}
}

// The same in a network namespace of the test's own, with the kernel's settings. A process
// that applies after a kill restores, too.
func TestKilledInNamespace(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root makes a network namespace")
	}
	runtime.LockOSThread() // for good: the thread ends with the test's goroutine
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Skipf("no network namespace: %v", err)
	}
	outside := New("/", "").settings()
	writes, _ := strconv.Atoi(killed(t, "/", -1))
	if writes < 6 {
		t.Fatalf("%d writes", writes)
	}
	random := rand.New(rand.NewPCG(17, 0))
	for range kills() {
		step := random.IntN(2 * writes)
		if out := killed(t, "/", step); out != "" {
			t.Errorf("step %d: the process lives: %s", step, out)
		}
		killed(t, "/", -1) // it begins with Recover's work
		for i, s := range New("/", "").settings() {
			if s.HostSetting != outside[i].HostSetting {
				t.Errorf("step %d: %+v, want %+v", step, s, outside[i])
			}
		}
	}
}
