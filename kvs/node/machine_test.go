package node

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/procfs"

	"kvlab/metrics"
)

// fixture returns a machine made of files.
func fixture(t *testing.T, files map[string]string) machine {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "proc"), 0o755); err != nil {
		t.Fatal(err)
	}
	proc, err := procfs.NewFS(filepath.Join(dir, "proc"))
	if err != nil {
		t.Fatal(err)
	}
	return machine{proc: proc, sys: filepath.Join(dir, "sys"), controlFile: filepath.Join(dir, "controlif")}
}

const routes = `Iface	Destination	Gateway 	Flags	RefCnt	Use	Metric	Mask		MTU	Window	IRTT
eno1d1	0001010A	00000000	0001	0	0	0	00FFFFFF	0	0	0
eno1	00000000	01C06880	0003	0	0	0	00000000	0	0	0
eno1	0000A8C0	00000000	0001	0	0	0	0000FFFF	0	0	0
`

func TestControlInterface(t *testing.T) {
	two := map[string]string{
		"proc/net/route":              routes,
		"sys/class/net/eno1/device/x": "", "sys/class/net/eno1d1/device/x": "",
		"sys/class/net/eno1/speed": "1000\n", "sys/class/net/eno1/mtu": "1500\n",
		"sys/class/net/eno1d1/speed": "10000\n", "sys/class/net/eno1d1/mtu": "9000\n",
	}
	with := func(name, text string) map[string]string {
		files := map[string]string{name: text}
		for n, t := range two {
			files[n] = t
		}
		return files
	}
	for _, tt := range []struct {
		name    string
		files   map[string]string
		want    metrics.Link
		guessed bool
	}{
		{"testbed", with("controlif", "eno1\n"), metrics.Link{Name: "eno1", BitsPerS: 1e9, MTUBytes: 1500}, false},
		{"default route", two, metrics.Link{Name: "eno1", BitsPerS: 1e9, MTUBytes: 1500}, true},
		{"one interface", map[string]string{"proc/net/route": routes, "sys/class/net/eno1/device/x": "", "sys/class/net/lo/mtu": "65536\n"}, metrics.Link{}, false},
		{"no route", map[string]string{"proc/net/route": routes[:strings.Index(routes, "\n")+1]}, metrics.Link{}, false},
	} {
		got, guessed, err := fixture(t, tt.files).control()
		if got != tt.want || guessed != tt.guessed || err != nil {
			t.Errorf("%s: %+v, guessed %v, %v; want %+v, %v", tt.name, got, guessed, err, tt.want, tt.guessed)
		}
	}
	if _, _, err := fixture(t, nil).control(); err == nil {
		t.Error("no error without /proc/net/route")
	}
}

func TestLinkSpeed(t *testing.T) {
	for text, want := range map[string]uint64{"10000\n": 10e9, "-1\n": 0, "": 0, "fast\n": 0, "0\n": 0} {
		m := fixture(t, map[string]string{"sys/class/net/x9/speed": text, "sys/class/net/x9/mtu": "1500\n"})
		if got := m.link("x9"); got != (metrics.Link{Name: "x9", BitsPerS: want, MTUBytes: 1500}) {
			t.Errorf("speed %q: %+v, want %d bits per second", text, got, want)
		}
	}
}

// Lines as the kernel writes them: 127.0.0.1:8080, every IPv4 address, an
// established connection, [::1]:8081, and ::ffff:10.10.1.1.
const tcpTable = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 27050 1 00000000cfa23c57 100 0 0 10 0
   1: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1598 1 000000008123ce14 100 0 0 10 0
   2: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1000        0 27051 1 00000000cfa23c57 20 4 30 10 -1
   3: 00000000000000000000000001000000:1F91 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000 7 0 31 1 0 100 0 0 10 0
   4: 0000000000000000FFFF000001010A0A:1F92 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000 7 0 32 1 0 100 0 0 10 0
`

// The owner of a listener that only root could see is its user.
func TestListeningAddresses(t *testing.T) {
	m := fixture(t, map[string]string{"proc/net/tcp": tcpTable})
	for address, want := range map[string]int{"127.0.0.1:8080": 1000, "192.0.2.1:22": 0, "127.0.0.2:22": 0, "[::1]:8081": 7, "10.10.1.1:8082": 7} {
		if got := m.listeners(address); !reflect.DeepEqual(got, []metrics.Process{{User: userName(want)}}) {
			t.Errorf("%s: owners %+v, want user %d", address, got, want)
		}
	}
	if got := m.listeners("127.0.0.2:8080"); got != nil {
		t.Errorf("another address has owners %+v", got)
	}
}

func TestProgramFolder(t *testing.T) {
	for program, want := range map[string]string{
		"/tmp/kvlab-me/0123456789abcdef/kvsserver": "/tmp/kvlab-me",
		"/home/me/kvlab/bin/kvsclient":             "/home/me/kvlab/bin",
		"/usr/bin/kvsserver":                       "/usr/bin",
	} {
		if got, _ := programFolder(program, nil); got != want {
			t.Errorf("programs of %s are in %s, want %s", program, got, want)
		}
	}
}

func TestOnNetwork(t *testing.T) {
	for id, name := range fileSystems {
		remote := slices.Contains([]int64{0x6969, 0xff534d42, 0xfe534d42, 0x517b, 0x5346414f, 0x00c36400}, id) // statfs(2)
		if OnNetwork(name) != remote {
			t.Errorf("%s (%#x): on network %v", name, id, !remote)
		}
	}
}

// Processes that run a program of ours are found, as what they are: with a
// parent, without one, stopped. Others are not.
func TestPrograms(t *testing.T) {
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip("no sleep on this machine")
	}
	content, err := os.ReadFile(sleep)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	inner := filepath.Join(folder, "0123")
	if err := os.Mkdir(inner, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"kvsserver", "kvsclient", "other"} {
		if err := os.WriteFile(filepath.Join(inner, name), content, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	begun := time.Now()
	child := startProcess(t, filepath.Join(inner, "kvsserver"), "1000")
	startProcess(t, filepath.Join(inner, "other"), "1000")
	stopped := startProcess(t, filepath.Join(inner, "kvsclient"), "1000")
	if err := syscall.Kill(stopped, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	// A shell that starts another in the background and ends leaves an orphan.
	out, err := exec.Command("sh", "-c", inner+`/kvsclient 1000 >/dev/null 2>&1 & echo $!`).Output()
	var orphan int
	if _, scanErr := fmt.Sscan(string(out), &orphan); err != nil || scanErr != nil {
		t.Fatalf("start an orphan: %q, %v, %v", out, err, scanErr)
	}
	t.Cleanup(func() { syscall.Kill(orphan, syscall.SIGKILL) })
	if err := os.Remove(filepath.Join(inner, "kvsserver")); err != nil { // as a build beside the run does
		t.Fatal(err)
	}

	deadline := time.Now().Add(2 * time.Minute)
	for {
		got := make(map[int]metrics.Process)
		for _, p := range thisMachine.programs(folder) {
			got[p.PID] = p
		}
		want := map[int][2]bool{child: {false, false}, stopped: {false, true}, orphan: {true, false}}
		right := len(got) == len(want)
		for pid, w := range want {
			p := got[pid]
			right = right && p.Orphaned == w[0] && p.Stopped == w[1] && p.User == userName(os.Getuid()) && p.Started.After(begun.Add(-5*time.Second))
		}
		if right {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("found %+v, want %v", got, want)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// A process that was started to answer a question is told from one that is a node.
func TestAnswers(t *testing.T) {
	for line, want := range map[string]bool{
		"/tmp/x/kvsserver\x00-probe\x00":                  true,
		"/tmp/x/kvsclient\x00-settings\x00-secs\x003\x00": true,
		"/tmp/x/kvsclient\x00-control\x00":                false,
		"/tmp/x/kvsserver\x00-listen\x00-probe\x00":       false,
		"/tmp/x/kvsserver\x00":                            false,
		"":                                                false,
	} {
		m := fixture(t, map[string]string{"proc/7/cmdline": line})
		if got := answers(m.processes()[0]); got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
	if answers(procfs.Proc{PID: 1 << 30}) {
		t.Error("a process that has gone answers")
	}
}

func startProcess(t *testing.T, name string, args ...string) (pid int) {
	t.Helper()
	cmd := exec.Command(name, args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd.Process.Pid
}
