package metrics

import (
	"bytes"
	"errors"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

func sampleRecords() []Record {
	at := time.Date(2026, 11, 21, 15, 30, 0, 123456789, time.UTC)
	p50 := 12.5
	// As long as one in which nearly every counter is in use.
	histogram := Histogram{Name: OpLatency, Phase: Window, StartS: 1, LengthS: 1, HDR: strings.Repeat("HISTFAAA", 32<<10)}
	return []Record{
		{Node: "node0", Role: Server, Time: at, Config: &Config{Schema: Schema,
			Args: []string{"-listen", "a b\n\"c\""}, Flags: map[string]string{"engine": "syncmap"},
			Host: Host{Hostname: "h", Cores: 16, MemoryTotalBytes: math.MaxUint64}, Binary: "ab12"}},
		{Node: "node1", Role: Client, Time: at, Interval: &Interval{Phase: Window, StartS: 0.1, LengthS: 1.0000001,
			Counts: Counts{Gets: 1, Puts: 2, ReadModifyWrites: 3, Hits: 4, Misses: 5, Calls: math.MaxUint64}}},
		{Node: "node1", Role: Client, Time: at, Usage: &Usage{Phase: Window, CorePercent: []float64{0, 99.9},
			Interfaces: []InterfaceUsage{{Name: "lo", RxBytesPerS: 1e9 / 3}}, DataInterface: "lo", Process: ProcessUsage{GCCycles: 7}}},
		{Node: "node1", Role: Client, Time: at, Histogram: &histogram},
		{Node: "node1", Role: Client, Time: at, Summary: &Summary{WindowStart: at, WindowLengthS: 30,
			Peers: []PeerCounts{{Peer: "node0", Counts: Counts{Gets: 1}}}, Latency: map[string]Quantiles{CallLatency: {Count: 5, P50: &p50}},
			Digests: []string{"ff"}, Verification: Verification{First: "<key> & \u2028"}}},
	}
}

func readAll(name string, in io.Reader) (records []Record, err error) {
	for r, err := range ReadRecords(name, in) {
		if err != nil {
			return records, err
		}
		records = append(records, r)
	}
	return records, nil
}

func TestRecordsRoundTrip(t *testing.T) {
	want := sampleRecords()
	var file bytes.Buffer
	for _, r := range want {
		if err := WriteRecord(&file, r); err != nil {
			t.Fatal(err)
		}
	}
	if lines := strings.Count(file.String(), "\n"); lines != len(want) {
		t.Errorf("%d lines for %d records", lines, len(want))
	}
	got, err := readAll("f", &file)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("read back %+v, %v, want %+v", got, err, want)
	}
}

// TestReadRecordsOfATruncatedFile cuts a file off after every byte, as an abort may.
func TestReadRecordsOfATruncatedFile(t *testing.T) {
	var file bytes.Buffer
	var ends []int // of the records, without their newlines
	for range 3 {
		if err := WriteRecord(&file, Record{Node: "n", Role: Client, Interval: &Interval{}}); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, file.Len()-1)
	}
	text := file.String()
	for n := range len(text) {
		whole, cutShort := 0, true
		for i, end := range ends {
			if n >= end {
				whole = i + 1
			}
			if n == 0 || n == end || n == end+1 {
				cutShort = false
			}
		}
		got, err := readAll("f.jsonl", strings.NewReader(text[:n]))
		if len(got) != whole || errors.Is(err, ErrCutShort) != cutShort || !cutShort && err != nil {
			t.Fatalf("after %d bytes: %d records, %v, want %d and cut short %v", n, len(got), err, whole, cutShort)
		}
		if cutShort && !strings.HasPrefix(err.Error(), "f.jsonl:"+string(rune('1'+whole))+": ") {
			t.Fatalf("after %d bytes: error %q without file and line", n, err)
		}
	}
}

func TestReadRecordsNamesFileAndLineOfAFault(t *testing.T) {
	const good = `{"node":"n","role":"server","time":"2026-11-21T15:30:00Z","interval":{}}` + "\n"
	for _, tt := range []struct{ name, line, want string }{
		{"no JSON", "hello\n", "f:2: not a record: invalid character 'h'"},
		{"wrong type", strings.Replace(good, `"n"`, "7", 1), "f:2: not a record: json: cannot unmarshal number"},
		{"nothing in it", strings.Replace(good, `,"interval":{}`, "", 1), "f:2: record of n has 0 of config"},
		{"two in it", strings.Replace(good, `"interval":{}`, `"interval":{},"usage":{}`, 1), "f:2: record of n has 2 of config"},
		{"no node", strings.Replace(good, `"n"`, `""`, 1), "f:2: record without a node name"},
		{"no role", strings.Replace(good, "server", "sever", 1), `f:2: record of n has role "sever", want "server" or "client"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := readAll("f", strings.NewReader(good+tt.line+good))
			if len(got) != 1 || err == nil || !strings.HasPrefix(err.Error(), tt.want) || errors.Is(err, ErrCutShort) {
				t.Errorf("%d records, error %q, want 1 and %q", len(got), err, tt.want)
			}
		})
	}
	broken := errors.New("disk gone")
	if got, err := readAll("f", &brokenFile{strings.NewReader(good), broken}); len(got) != 1 || !errors.Is(err, broken) {
		t.Errorf("%d records, %v, want 1 and %v", len(got), err, broken)
	}
	unknown := strings.Replace(good, `"interval"`, `"colour":"blue","interval"`, 1)
	if got, err := readAll("f", strings.NewReader(unknown)); len(got) != 1 || err != nil {
		t.Errorf("a field of a later release: %d records, %v", len(got), err)
	}
}

// brokenFile fails where its text ends.
type brokenFile struct {
	text *strings.Reader
	err  error
}

func (f *brokenFile) Read(p []byte) (int, error) {
	if f.text.Len() == 0 {
		return 0, f.err
	}
	return f.text.Read(p)
}

func TestWriteRecordRefuses(t *testing.T) {
	for name, r := range map[string]Record{
		"empty":    {},
		"no role":  {Node: "n", Interval: &Interval{}},
		"no node":  {Role: Client, Interval: &Interval{}},
		"nothing":  {Node: "n", Role: Client},
		"two":      {Node: "n", Role: Client, Interval: &Interval{}, Usage: &Usage{}},
		"NaN":      {Node: "n", Role: Client, Interval: &Interval{LengthS: math.NaN()}},
		"infinity": {Node: "n", Role: Client, Usage: &Usage{CPUPercent: math.Inf(1)}},
	} {
		var file bytes.Buffer
		if err := WriteRecord(&file, r); err == nil || file.Len() != 0 {
			t.Errorf("%s: error %v, %d bytes written, want an error and none", name, err, file.Len())
		}
	}
	full := errors.New("disk full")
	if err := WriteRecord(fullDisk{full}, Record{Node: "n", Role: Client, Interval: &Interval{}}); !errors.Is(err, full) {
		t.Errorf("error %v, want %v", err, full)
	}
}

// FuzzReadRecords reads anything: what it accepts, WriteRecord writes, and
// it reads back the same.
func FuzzReadRecords(f *testing.F) {
	for _, r := range sampleRecords() {
		if r.Histogram != nil {
			r.Histogram.HDR = "x" // a long line slows the fuzzer
		}
		var line bytes.Buffer
		if err := WriteRecord(&line, r); err != nil {
			f.Fatal(err)
		}
		f.Add(line.Bytes())
	}
	f.Add([]byte("{}\n{"))
	f.Fuzz(func(t *testing.T, text []byte) {
		first, err := readAll("f", bytes.NewReader(text))
		if err != nil && !strings.HasPrefix(err.Error(), "f:") {
			t.Errorf("error %q without the file", err)
		}
		var file bytes.Buffer
		for _, r := range first {
			if err := WriteRecord(&file, r); err != nil {
				t.Fatalf("write what was read: %v", err)
			}
		}
		written := file.String()
		second, err := readAll("f", &file)
		if err != nil {
			t.Fatalf("read what was written: %v", err)
		}
		for _, r := range second {
			if err := WriteRecord(&file, r); err != nil {
				t.Fatal(err)
			}
		}
		if file.String() != written {
			t.Errorf("records changed on their way:\n%s\n%s", written, &file)
		}
	})
}

// fullDisk takes no write.
type fullDisk struct{ err error }

func (d fullDisk) Write([]byte) (int, error) { return 0, d.err }
