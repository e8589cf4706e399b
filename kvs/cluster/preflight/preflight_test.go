package preflight

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kvlab/kvs/cluster/nodes"
	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/cluster/remote"
	"kvlab/metrics"
)

// The offset is exact when both ways take the same time, and within its bound
// when they do not.
func TestClockOffset(t *testing.T) {
	asked := time.Unix(1_000_000, 0)
	for _, tt := range []struct{ shift, there, back time.Duration }{
		{0, time.Millisecond, time.Millisecond},
		{3 * time.Hour, 5 * time.Millisecond, 5 * time.Millisecond},
		{-70 * time.Millisecond, 0, 8 * time.Millisecond},
		{time.Second, 30 * time.Millisecond, 0},
	} {
		received := asked.Add(tt.there + tt.shift)
		sent := received.Add(time.Second) // thinks for a while
		got := offset(asked, received, sent, sent.Add(tt.back-tt.shift))
		miss := math.Abs(got.OffsetS - tt.shift.Seconds())
		if want := (tt.there + tt.back).Seconds() / 2; math.Abs(got.BoundS-want) > 1e-9 || miss > got.BoundS+1e-9 || tt.there == tt.back && miss > 1e-9 {
			t.Errorf("%+v: %+v", tt, got)
		}
	}
}

// shiftedProbe is a probe whose wall clock is 7 s ahead and whose monotonic clock is
// always at 5 s. Its shell prints a greeting before the first answer.
const shiftedProbe = `echo 'Welcome to {this} machine'
while read -r question; do
	now=$(($(date +%s%N) + 7000000000))
	monotonic=",\"received_monotonic_ns\":5000000000,\"sent_monotonic_ns\":5000000000"
	echo "{\"event\":\"answered\",\"answer\":{\"received_ns\":$now,\"sent_ns\":$now$monotonic}}"
done
`

// runnerHere runs a script as the server of this machine.
func runnerHere(t *testing.T, text string) *remote.Runner {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kvsserver")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	r := remote.New(remote.Programs{}, plan.Programs{metrics.Server: path})
	if err := r.Deploy(t.Context(), []plan.Place{{Role: metrics.Server}}); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestShiftedClock(t *testing.T) {
	p, err := startProbe(runnerHere(t, shiftedProbe), plan.Place{Role: metrics.Server})
	if err != nil {
		t.Fatal(err)
	}
	defer p.end(time.Second)
	got, err := p.clock(context.Background())
	if err != nil || math.Abs(got.OffsetS-7) > got.BoundS {
		t.Errorf("offset %+v, %v; want 7 s", got, err)
	}
	if since := time.Since(got.Zero); since < -2*time.Second || since > time.Minute {
		t.Errorf("its monotonic clock began %v ago; want 2 s from now, 7 ahead and 5 since", since)
	}
}

func TestProbeThatEnds(t *testing.T) {
	p, err := startProbe(runnerHere(t, "echo no such thing >&2; exit 3"), plan.Place{Role: metrics.Server})
	if err != nil {
		t.Fatal(err)
	}
	defer p.end(time.Second)
	if _, err := p.clock(context.Background()); err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "no such thing") {
		t.Errorf("error %v", err)
	}
}

// fit returns a machine without findings.
func fit(name string, role metrics.Role) *machine {
	at := nodes.Node{Name: name, Way: nodes.Way{Kind: nodes.SSH, To: name}}
	return &machine{
		way:   remote.New(remote.Programs{}, nil).Way(at),
		place: plan.Place{Node: at, Name: name, Role: role, Data: "10.10.1.1"},
		Machine: metrics.Machine{
			Nodes: []string{name}, Roles: []metrics.Role{role}, ClockBefore: &metrics.ClockOffset{OffsetS: 0.001, BoundS: 0.0001},
			Facts: &metrics.Facts{
				Host:      metrics.Host{CPUModel: "D-1548", Cores: 16, Kernel: "6.1", MemoryAvailableBytes: 60e9},
				Governors: []string{"performance"}, Data: metrics.Link{Name: "eno1d1", BitsPerS: 10e9, MTUBytes: 1500},
				Control: metrics.Link{Name: "eno1"}, OpenFilesLimit: 1024, FileSystem: "ext4", FreeBytes: 10e9,
			},
		},
	}
}

func TestFindings(t *testing.T) {
	need := plan.Needs{OpenFiles: map[metrics.Role]uint64{metrics.Server: 1000, metrics.Client: 900}, Bytes: 1e9, Of: "the values alone"}
	rtts := []metrics.RTT{{From: "a", To: "b", US: 90}, {From: "b", To: "c", US: 100}, {From: "c", To: "a", US: 95}}
	for _, tt := range []struct {
		name  string
		spoil func(b *machine, rtts []metrics.RTT, n *plan.Needs)
		want  string // grade, fact, a part of the text; "" for no finding
	}{
		{"nothing", func(*machine, []metrics.RTT, *plan.Needs) {}, ""},
		{"clock", func(b *machine, _ []metrics.RTT, _ *plan.Needs) { b.ClockBefore.OffsetS = -3 }, "warn clock 3.001 s behind"},
		{"clock, a little", func(b *machine, _ []metrics.RTT, _ *plan.Needs) { b.ClockBefore.OffsetS = 0.9 }, ""},
		{"clock, an hour", func(b *machine, _ []metrics.RTT, _ *plan.Needs) { b.ClockBefore.OffsetS = 3600 }, "warn clock 3599.999 s ahead of"},
		{"clock within its bound", func(b *machine, _ []metrics.RTT, _ *plan.Needs) {
			*b.ClockBefore = metrics.ClockOffset{OffsetS: 2, BoundS: 2}
		}, ""},
		{"control", func(b *machine, _ []metrics.RTT, _ *plan.Needs) { b.Facts.Control.Name = "eno1d1" }, "fail data is on eno1d1, the control network's"},
		{"control, with what to paste", func(b *machine, _ []metrics.RTT, _ *plan.Needs) {
			b.Facts.Control.Name, b.Facts.Others, b.place.Way = "eno1d1", []string{"10.10.1.2"}, nodes.Way{Kind: nodes.SSH, To: "me@pc2", Port: "22"}
		}, `fail data want the line "b ssh=me@pc2:22 addr=10.10.1.2" in a --hosts file`},
		{"control, guessed", func(b *machine, _ []metrics.RTT, _ *plan.Needs) {
			b.Facts.Control.Name, b.Facts.ControlGuessed = "eno1d1", true
		}, "warn data default route"},
		{"control, allowed", func(b *machine, _ []metrics.RTT, n *plan.Needs) { b.Facts.Control.Name, n.Public = "eno1d1", true }, "warn data control network"},
		{"governor", func(b *machine, _ []metrics.RTT, _ *plan.Needs) {
			b.Facts.Governors = []string{"performance", "powersave"}
		}, "warn governor powersave"},
		{"files", func(b *machine, _ []metrics.RTT, _ *plan.Needs) { b.Facts.OpenFilesLimit = 999 }, "fail files needs 1000 open files, and 999"},
		{"memory", func(b *machine, _ []metrics.RTT, _ *plan.Needs) { b.Facts.Host.MemoryAvailableBytes = 1e9 - 1 }, "fail memory the values alone take 1.0 GB"},
		{"memory for a trace", func(b *machine, _ []metrics.RTT, n *plan.Needs) { n.Bytes, n.Of = 612e9, "the trace's records" }, "fail memory the trace's records take 612.0 GB, and 60.0 GB are available"},
		{"kernel", func(b *machine, _ []metrics.RTT, _ *plan.Needs) { b.Facts.Host.Kernel = "5.15" }, "warn kernel has 5.15, and a has 6.1"},
		{"disk", func(b *machine, _ []metrics.RTT, _ *plan.Needs) { b.Facts.FreeBytes = 1e6 }, "warn disk only 1 MB"},
		{"nfs", func(b *machine, _ []metrics.RTT, _ *plan.Needs) { b.Facts.FileSystem = "nfs" }, "warn disk network file system"},
		{"port", func(b *machine, _ []metrics.RTT, _ *plan.Needs) {
			b.Facts.Ports = []metrics.Port{{Address: "10.10.1.1:8080", Error: "in use", Owners: []metrics.Process{{PID: 7, Name: "nc", User: "eve"}}}}
		}, "fail port 10.10.1.1:8080 is taken by process 7 (nc of eve)"},
		{"orphan", func(b *machine, _ []metrics.RTT, _ *plan.Needs) {
			b.Facts.Processes = []metrics.Process{{PID: 7, Orphaned: true}}
		}, "fail leftover an earlier run has left process 7"},
		{"other run", func(b *machine, _ []metrics.RTT, _ *plan.Needs) { b.Facts.Processes = []metrics.Process{{PID: 7}} }, "warn leftover another run is under way"},
		{"no way", func(_ *machine, rtts []metrics.RTT, _ *plan.Needs) { rtts[1].Err = "no route to host" }, "fail rtt cannot reach c over the data network: no route"},
		{"long way", func(_ *machine, rtts []metrics.RTT, _ *plan.Needs) { rtts[1].US = 20_000 }, "warn rtt is 20.0 ms away from c"},
	} {
		machines := []*machine{fit("a", metrics.Client), fit("b", metrics.Server), fit("c", metrics.Client)}
		ways, n := append([]metrics.RTT(nil), rtts...), need
		tt.spoil(machines[1], ways, &n)
		got := findings(machines, ways, n)
		if tt.want == "" {
			if len(got) != 0 {
				t.Errorf("%s: %+v", tt.name, got)
			}
			continue
		}
		grade, rest, _ := strings.Cut(tt.want, " ")
		fact, text, _ := strings.Cut(rest, " ")
		if len(got) != 1 || string(got[0].Grade) != grade || got[0].Fact != fact || got[0].Node != "b" || !strings.Contains(got[0].Text, text) || got[0].Type == "" {
			t.Errorf("%s: %+v, want %s", tt.name, got, tt.want)
		}
	}
}

// The page has a row for every fact of a finding.
func TestEveryFactIsExplained(t *testing.T) {
	text, err := os.ReadFile("../../../" + page)
	if err != nil {
		t.Fatal(err)
	}
	for fact := range look {
		if !strings.Contains(string(text), "\n| "+fact+" | ") {
			t.Errorf("%s has no row for %q", page, fact)
		}
	}
}
