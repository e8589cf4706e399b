package metrics

import (
	"os"
	"strings"
	"testing"
)

// fixture is testdata/name as a /proc.
func fixture(name string) procFS { return procFS("testdata/" + name) }

func TestParsersReadAFixture(t *testing.T) {
	s, err := fixture("proc-1").stat()
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
	m, err := fixture("proc-1").meminfo()
	if want := (meminfo{16000000 << 10, 11000000 << 10}); err != nil || m != want {
		t.Errorf("meminfo = %+v, %v, want %+v", m, err, want)
	}
	links, err := fixture("proc-1").links()
	want := link{"eno1d1", 5125000000, 5100000, 7250000000, 6900000}
	if err != nil || len(links) != 3 || links[2] != want {
		t.Errorf("links = %+v, %v, want the third of three to be %+v", links, err, want)
	}
	if s, err := fixture("proc-1").segments(); err != nil || s != (segments{again: 10, first: 3578}) {
		t.Errorf("segments = %+v, %v, want 10 of 3578", s, err)
	}
	if n, err := fixture("proc-1").residentBytes(); err != nil || n != 2048*uint64(os.Getpagesize()) {
		t.Errorf("resident = %d, %v, want 2048 pages", n, err)
	}
}

// parsers are all of them, each with its fixture and without its result.
var parsers = []struct {
	file  string
	parse func(procFile) error
}{
	{"stat", func(f procFile) error { _, err := parseStat(f); return err }},
	{"meminfo", func(f procFile) error { _, err := parseMeminfo(f); return err }},
	{"net/dev", func(f procFile) error { _, err := parseNetDev(f); return err }},
	{"net/snmp", func(f procFile) error { _, err := parseSegments(f); return err }},
	{"self/statm", func(f procFile) error { _, err := parseResident(f, 4096); return err }},
}

func parseText(parse func(procFile) error, path, text string) error {
	f, err := newProcFile(path, text)
	if err != nil {
		return err
	}
	return parse(f)
}

func TestParsersNameFileAndLineOfAFault(t *testing.T) {
	const devHeader = "Inter-| Receive\n face |bytes packets\n"
	for _, tt := range []struct{ name, file, text, want string }{
		{"empty", "stat", "", "p/stat: empty file"},
		{"no total", "stat", "cpu0 1 2 3 4 5 6 7 8\nctxt 5\n", "p/stat:2: no cpu line up to the end of the file"},
		{"no core", "stat", "cpu  1 2 3 4 5 6 7 8\nctxt 5\n", "p/stat:2: no cpu0 line up to the end of the file"},
		{"no switches", "stat", "cpu  1 2 3 4 5 6 7 8\ncpu0 1 2 3 4 5 6 7 8\n", "p/stat:2: no ctxt line up to the end of the file"},
		{"few times", "stat", "cpu  1 2 3 4\n", "p/stat:1: cpu has 4 times, want at least 8"},
		{"no number", "stat", "cpu  1 2 3 x 5 6 7 8\n", `p/stat:1: cpu idle is "x", want an unsigned number`},
		{"negative", "stat", "cpu  1 2 3 4 5 6 7 8\ncpu0 1 2 3 4 5 6 -7 8\n", `p/stat:2: cpu0 softirq is "-7", want an unsigned number`},
		{"core name", "stat", "cpux 1 2 3 4 5 6 7 8\n", `p/stat:1: core name "cpux", want cpu and a number`},
		{"core twice", "stat", "cpu0 1 2 3 4 5 6 7 8\ncpu0 1 2 3 4 5 6 7 8\n", "p/stat:2: second line for cpu0"},
		{"no runnable", "stat", "cpu  1 2 3 4 5 6 7 8\ncpu0 1 2 3 4 5 6 7 8\nctxt 5\n", "p/stat:3: no procs_running line up to the end of the file"},
		{"bad switches", "stat", "ctxt many\n", `p/stat:1: ctxt is "many", want an unsigned number`},
		{"cut short", "stat", "cpu  1 2 3 4 5 6 7 8\ncpu0 1 2 3", `p/stat:2: cut short after "cpu0 1 2 3"`},

		{"no unit", "meminfo", "MemTotal: 12\n", `p/meminfo:1: MemTotal is " 12", want a number of kB`},
		{"no number", "meminfo", "MemTotal: much kB\n", `p/meminfo:1: MemTotal is "much", want an unsigned number`},
		{"no total", "meminfo", "MemFree: 12 kB\n", "p/meminfo:1: no MemTotal line up to the end of the file"},
		{"no available", "meminfo", "MemTotal: 12 kB\nMemFree: 12 kB\n", "p/meminfo:2: no MemAvailable line up to the end of the file"},
		{"too available", "meminfo", "MemTotal: 12 kB\nMemAvailable: 13 kB\n", "p/meminfo:2: MemAvailable 13312 is more than MemTotal 12288 bytes"},
		{"overflow", "meminfo", "MemTotal: 18446744073709551615 kB\n", "p/meminfo:1: MemTotal of 18446744073709551615 kB is no machine's memory"},

		{"no header", "net/dev", "lo: 1 2 3\n", "p/net/dev:1: no header of two lines"},
		{"wrong header", "net/dev", "a\nb\n", "p/net/dev:2: no header of two lines"},
		{"no colon", "net/dev", devHeader + "eth0 1 2\n", `p/net/dev:3: no colon after an interface name in "eth0 1 2"`},
		{"few counters", "net/dev", devHeader + "eth0: 1 2\n", `p/net/dev:3: interface "eth0" has 2 counters, want 16`},
		{"no name", "net/dev", devHeader + " : 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n", `p/net/dev:3: interface "" has 16 counters, want 16`},
		{"no number", "net/dev", devHeader + "eth0: 1 2 3 4 5 6 7 8 9 x 11 12 13 14 15 16\n", `p/net/dev:3: eth0 transmitted packets is "x", want an unsigned number`},
		{"twice", "net/dev", devHeader + strings.Repeat("eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n", 2), "p/net/dev:4: second line for interface eth0"},

		{"no tcp", "net/snmp", "Ip: A\nIp: 1\n", "p/net/snmp:2: no Tcp: line up to the end of the file"},
		{"no column", "net/snmp", "Ip: A\nIp: 1\nTcp: InSegs\nTcp: 1\n", "p/net/snmp:3: no column RetransSegs"},
		{"no sent", "net/snmp", "Tcp: RetransSegs\nTcp: 1\n", "p/net/snmp:1: no column OutSegs"},
		{"no values", "net/snmp", "Tcp: RetransSegs\n", "p/net/snmp:1: no line of values after the line of names"},
		{"few values", "net/snmp", "Tcp: InSegs RetransSegs\nTcp: 1\n", "p/net/snmp:2: 2 columns, want Tcp: and 2 values as the line before names them"},
		{"other protocol", "net/snmp", "Tcp: RetransSegs\nUdp: 1\n", "p/net/snmp:2: 2 columns, want Tcp: and 1 values as the line before names them"},
		{"no number", "net/snmp", "Tcp: RetransSegs\nTcp: -1\n", `p/net/snmp:2: RetransSegs is "-1", want an unsigned number`},

		{"few fields", "self/statm", "1 2 3\n", "p/self/statm:1: 3 fields, want 7"},
		{"no number", "self/statm", "1 x 3 4 5 6 7\n", `p/self/statm:1: resident is "x", want an unsigned number`},
		{"overflow", "self/statm", "1 18446744073709551615 3 4 5 6 7\n", "p/self/statm:1: resident set of 18446744073709551615 pages is no machine's memory"},
	} {
		t.Run(tt.file+" "+tt.name, func(t *testing.T) {
			for _, p := range parsers {
				if p.file != tt.file {
					continue
				}
				if err := parseText(p.parse, "p/"+tt.file, tt.text); err == nil || err.Error() != tt.want {
					t.Errorf("error %q, want %q", err, tt.want)
				}
			}
		})
	}
}

// TestParsersRefuseEveryTruncation cuts each fixture off after every byte: all
// that is read before the end of the last line that counts must be an error.
func TestParsersRefuseEveryTruncation(t *testing.T) {
	lastThatCounts := map[string]string{
		"stat": "procs_running", "meminfo": "MemAvailable", "net/snmp": "Tcp: 1", "self/statm": "4765",
	}
	for _, p := range parsers {
		whole, err := os.ReadFile("testdata/proc-0/" + p.file)
		if err != nil {
			t.Fatal(err)
		}
		text := string(whole)
		if err := parseText(p.parse, p.file, text); err != nil {
			t.Fatalf("whole file: %v", err)
		}
		end := strings.Index(text, lastThatCounts[p.file])
		if p.file == "net/dev" { // any number of whole lines is a right file
			end = strings.Index(text, "face")
		}
		end += strings.Index(text[end:], "\n") + 1
		for n := range len(text) {
			cutLine := n == 0 || text[n-1] != '\n'
			if err := parseText(p.parse, p.file, text[:n]); (n < end || cutLine) && err == nil {
				t.Errorf("%s cut after byte %d is taken for whole", p.file, n)
			}
		}
	}
}

func FuzzProcParsers(f *testing.F) {
	for _, p := range parsers {
		for _, dir := range []string{"proc-0", "proc-1", "proc-2"} {
			text, err := os.ReadFile("testdata/" + dir + "/" + p.file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(text), string(text))
		}
	}
	f.Fuzz(func(t *testing.T, before, after string) {
		for _, p := range parsers {
			if err := parseText(p.parse, "f", before); err != nil && !strings.HasPrefix(err.Error(), "f:") {
				t.Errorf("%s: error %q does not begin with the file", p.file, err)
			}
		}
		was, errWas := statOf(before)
		is, errIs := statOf(after)
		if errWas != nil || errIs != nil {
			return
		}
		if percent := is.all.since(was.all).percent(); !(percent >= 0 && percent <= 100) {
			t.Errorf("CPU %v %%, want 0 to 100", percent)
		}
	})
}

func statOf(text string) (stat, error) {
	f, err := newProcFile("f", text)
	if err != nil {
		return stat{}, err
	}
	return parseStat(f)
}
