package usage

import (
	"os"
	"strings"
	"testing"

	"github.com/prometheus/procfs"
)

// fixture returns testdata/name as a /proc.
func fixture(t testing.TB, name string) procFS {
	t.Helper()
	t.Setenv("HOST_PROC", "testdata/"+name)
	return must(hostProc())(t)
}

func TestReadersReadAFixture(t *testing.T) {
	proc := fixture(t, "proc-1")
	s, err := proc.stat()
	if err != nil {
		t.Fatal(err)
	}
	if want := (cpuTicks{busy: 1800, idle: 8400, interrupts: 105, stolen: 105}); s.all != want {
		t.Errorf("all = %+v, want %+v", s.all, want)
	}
	if want := (cpuTicks{busy: 870, idle: 4230, interrupts: 55, stolen: 55}); len(s.cores) != 2 || s.cores[1] != want {
		t.Errorf("cores = %+v, want two with core 1 = %+v", s.cores, want)
	}
	if s.contextSwitches != 112345 || s.runnable != 3 {
		t.Errorf("context switches = %d and %d runnable, want 112345 and 3", s.contextSwitches, s.runnable)
	}
	m, err := proc.memory()
	if want := (memory{16000000 << 10, 11000000 << 10}); err != nil || m != want {
		t.Errorf("memory = %+v, %v, want %+v", m, err, want)
	}
	links, err := proc.links()
	want := procfs.NetDevLine{Name: "eno1d1", RxBytes: 5125000000, RxPackets: 5100000, TxBytes: 7250000000, TxPackets: 6900000}
	if err != nil || len(links) != 3 || links["eno1d1"] != want {
		t.Errorf("links = %+v, %v, want three and one of them to be %+v", links, err, want)
	}
	if s, err := proc.segments(); err != nil || s != (segments{again: 10, first: 3578}) {
		t.Errorf("segments = %+v, %v, want 10 of 3578", s, err)
	}
	if n, err := proc.residentBytes(); err != nil || n != 8192<<10 {
		t.Errorf("resident = %d, %v, want 8 MiB", n, err)
	}
}

// procReaders are all of them, each with its file and without its result.
var procReaders = []struct {
	file string
	read func(procFS) error
}{
	{"stat", func(fs procFS) error { _, err := fs.stat(); return err }},
	{"meminfo", func(fs procFS) error { _, err := fs.memory(); return err }},
	{"net/dev", func(fs procFS) error { _, err := fs.links(); return err }},
	{"self/net/snmp", func(fs procFS) error { _, err := fs.segments(); return err }},
	{"self/status", func(fs procFS) error { _, err := fs.residentBytes(); return err }},
}

func TestReadersNameTheFileOfAFault(t *testing.T) {
	const devHeader = "Inter-| Receive\n face |bytes packets\n"
	for _, tt := range []struct{ name, file, text, want string }{
		{"empty", "stat", "", "/stat: no cpu, cpu0, ctxt or procs_running"},
		{"no total", "stat", "cpu0 1 2 3 4 5 6 7 8\nctxt 5\nprocs_running 1\n", "/stat: no cpu, "},
		{"no core", "stat", "cpu  1 2 3 4 5 6 7 8\nctxt 5\nprocs_running 1\n", "/stat: no cpu, "},
		{"no switches", "stat", "cpu  1 2 3 4 5 6 7 8\ncpu0 1 2 3 4 5 6 7 8\nprocs_running 1\n", "/stat: no cpu, "},
		{"no runnable", "stat", "cpu  1 2 3 4 5 6 7 8\ncpu0 1 2 3 4 5 6 7 8\nctxt 5\n", "/stat: no cpu, "},
		{"no number", "stat", "cpu  1 2 3 x 5 6 7 8\n", "/stat: "},
		{"core name", "stat", "cpux 1 2 3 4 5 6 7 8\n", "/stat: "},
		{"bad switches", "stat", "ctxt many\n", "/stat: "},

		{"no number", "meminfo", "MemTotal: much kB\n", "/meminfo: "},
		{"empty", "meminfo", "", "/meminfo: no MemTotal or no MemAvailable"},
		{"no total", "meminfo", "MemFree: 12 kB\n", "/meminfo: no MemTotal or no MemAvailable"},
		{"no available", "meminfo", "MemTotal: 12 kB\nMemFree: 12 kB\n", "/meminfo: no MemTotal or no MemAvailable"},

		{"few counters", "net/dev", devHeader + "eth0: 1 2\n", `/net/dev: interface "eth0": EOF`},
		{"no number", "net/dev", devHeader + "eth0: 1 2 3 4 5 6 7 8 9 x 11 12 13 14 15 16\n", `/net/dev: interface "eth0": expected integer`},

		{"no tcp", "self/net/snmp", "Ip: A\nIp: 1\n", "/self/net/snmp: no RetransSegs or no OutSegs"},
		{"no column", "self/net/snmp", "Tcp: InSegs OutSegs\nTcp: 1 2\n", "/self/net/snmp: no RetransSegs or no OutSegs"},
		{"no sent", "self/net/snmp", "Tcp: RetransSegs\nTcp: 1\n", "/self/net/snmp: no RetransSegs or no OutSegs"},
		{"few values", "self/net/snmp", "Tcp: InSegs RetransSegs\nTcp: 1\n", "/self/net/snmp: "},
		{"no number", "self/net/snmp", "Tcp: RetransSegs\nTcp: x\n", "/self/net/snmp: "},

		{"no resident set", "self/status", "Name:\tkvsserver\n", "/self/status: no VmRSS"},
		{"no number", "self/status", "Uid:\tx\n", "/self/status: "},
	} {
		t.Run(tt.file+" "+tt.name, func(t *testing.T) {
			dir := newFakeProc(t, "proc-0")
			dir.write(tt.file, tt.text)
			fs := must(hostProc())(t)
			for _, p := range procReaders {
				err := p.read(fs)
				switch {
				case p.file != tt.file && err != nil:
					t.Errorf("%s: %v", p.file, err)
				case p.file == tt.file && (err == nil || !strings.HasPrefix(err.Error(), dir.dir+tt.want)):
					t.Errorf("error %v, want one that begins with %q", err, tt.want)
				}
			}
		})
	}
}

// FuzzProcReaders: no text of a file makes a reader panic, and two of them never
// make a share of the processors below 0 or above 100.
func FuzzProcReaders(f *testing.F) {
	for _, p := range procReaders {
		for _, dir := range []string{"proc-0", "proc-1", "proc-2"} {
			text, err := os.ReadFile("testdata/" + dir + "/" + p.file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(text), string(text))
		}
	}
	f.Fuzz(func(t *testing.T, before, after string) {
		dir := newFakeProc(t, "proc-0")
		fs := must(hostProc())(t)
		read := func(text string) (stat, error) {
			for _, p := range procReaders {
				dir.write(p.file, text)
				if err := p.read(fs); err != nil && !strings.HasPrefix(err.Error(), dir.dir+"/"+p.file) {
					t.Errorf("%s: error %q does not begin with the file", p.file, err)
				}
			}
			return fs.stat()
		}
		was, errWas := read(before)
		is, errIs := read(after)
		if errWas != nil || errIs != nil {
			return
		}
		if percent := is.all.busyPercent(was.all); !(percent >= 0 && percent <= 100) {
			t.Errorf("CPU %v %%, want 0 to 100", percent)
		}
	})
}
