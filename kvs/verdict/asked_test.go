package verdict

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"kvlab/metrics"
	"kvlab/workload"
)

// A node that reports other flags than it was given, or a window of another length than it
// was told, is found; the flags that differ from process to process are not compared.
func TestAskedFlags(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(run *judged, server, client metrics.Settings)
		want  string
	}{
		"nothing":                             {func(*judged, metrics.Settings, metrics.Settings) {}, ""},
		"the hosts":                           {func(_ *judged, _, c metrics.Settings) { c["hosts"] = "127.0.0.1:4242" }, ""},
		"half of the workers, and it says so": {func(_ *judged, _, c metrics.Settings) { c["workers"] = "1" }, `the client has -workers "1", the launcher asked for "2"`},
		"another seed, and it says so":        {func(_ *judged, _, c metrics.Settings) { c["seed"] = "8" }, `-seed "8", the launcher asked for "7"`},
		"no -crc":                             {func(_ *judged, _, c metrics.Settings) { c["crc"] = "false" }, `-crc "false", the launcher asked for "true"`},
		"another batch than the lowered one":  {func(_ *judged, _, c metrics.Settings) { c["batch"] = "8192" }, `-batch "8192", the launcher asked for "64"`},
		"a flag that it does not report":      {func(_ *judged, _, c metrics.Settings) { delete(c, "verify") }, `-verify "", the launcher asked for "full"`},
		"half of -secs":                       {func(run *judged, _, _ metrics.Settings) { run.Nodes[1].Summary.WindowLengthS = 5 }, "window is 5.000 s long, the launcher asked for 10.000 s"},
		"a longer window than told":           {func(run *judged, _, _ metrics.Settings) { run.Nodes[1].Summary.WindowLengthS = 11 }, "window is 11.000 s long, the launcher asked for 10.000 s"},
		"told late, without a warm-up": {func(run *judged, _, c metrics.Settings) {
			run.Nodes[1].Summary.WindowLengthS, c["warmup"], run.Asked[metrics.Client]["warmup"] = 11, "0", "0"
		}, ""},
		"a server of another engine":    {func(_ *judged, s, _ metrics.Settings) { s["engine"] = "slab" }, `the server has -engine "slab", the launcher asked for "syncmap"`},
		"a server that keeps its store": {func(_ *judged, s, _ metrics.Settings) { s["reopen"] = "true" }, `-reopen "true"`},
		"a server in place of a killed one": {func(run *judged, s, _ metrics.Settings) {
			s["reopen"], run.Restart = "true", &metrics.Restart{Server: "s0"}
		}, ""},
		"no flags of the servers": {func(run *judged, _, _ metrics.Settings) { delete(run.Asked, metrics.Server) }, "run.json does not say which flags"},
		"no flags at all":         {func(run *judged, _, _ metrics.Settings) { run.Asked = nil }, "run.json does not say which flags"},
		"no length of the window": {func(run *judged, _, _ metrics.Settings) { run.Window = nil }, "run.json does not say which flags"},
	} {
		run := witnessed()
		run.Asked = map[metrics.Role]metrics.Settings{
			metrics.Server: {"engine": "syncmap", "reopen": "false", "listen": "127.0.0.1:0"},
			metrics.Client: {"workers": "2", "seed": "7", "crc": "true", "verify": "full", "batch": "64", "warmup": "5", "hosts": "127.0.0.1:0"},
		}
		server, client := maps.Clone(run.Asked[metrics.Server]), maps.Clone(run.Asked[metrics.Client])
		run.Nodes[0].Config.Flags, run.Nodes[1].Config.Flags = server, client
		test.spoil(run, server, client)
		if v := run.made(rows("asked")); v.Valid != (test.want == "") || !strings.Contains(v.Reason, test.want) {
			t.Errorf("%s: %s, want %q", name, v, test.want)
		}
	}
}

// The launcher holds what a client says of its work against the flags.
func TestAsked(t *testing.T) {
	config := workload.DefaultConfig()
	config.Seed, config.Records = 7, 1000
	for _, test := range []struct {
		name  string
		spoil func(flags map[string]string, s *metrics.Summary)
		want  string
	}{
		{"nothing", func(map[string]string, *metrics.Summary) {}, ""},
		{"half of the workers", func(_ map[string]string, s *metrics.Summary) { s.Workers = s.Workers[:1] }, "the client has 1 workers, -workers is 2"},
		{"another seed", func(flags map[string]string, _ *metrics.Summary) { flags["seed"] = "8" }, "not those of -seed 8"},
		{"another worker's stream", func(_ map[string]string, s *metrics.Summary) { s.Workers[1].Opening = s.Workers[0].Opening }, "worker 1's first operations are not those of -seed 7"},
		{"another skew", func(flags map[string]string, _ *metrics.Summary) { flags["theta"] = "0.5" }, "not those of -seed 7"},
		{"a digest of few", func(_ map[string]string, s *metrics.Summary) { s.Workers[0].OpeningOps = 1 }, "tells the digest of 1 first operations of 100"},
		{"no digest", func(_ map[string]string, s *metrics.Summary) { s.Workers[1].OpeningOps, s.Workers[1].Opening = 0, "" }, "tells the digest of 0"},
		{"-verify full at 1 in 64", func(_ map[string]string, s *metrics.Summary) { s.Verification.Compared = 160 }, "160 of 10000 values were compared in full, -verify full compares 10000 at least"},
		{"1 in 64, compared 1 in 64", func(flags map[string]string, s *metrics.Summary) {
			flags["verify"], s.Verification.Compared = "64", 130
		}, ""},
		{"1 in 64, compared 1 in 128", func(flags map[string]string, s *metrics.Summary) { flags["verify"], s.Verification.Compared = "64", 78 }, "-verify 64 compares 109 at least"},
	} {
		flags := map[string]string{"seed": "7", "records": "1000", "workers": "2", "verify": "full"}
		plan, err := workload.New(config)
		if err != nil {
			t.Fatal(err)
		}
		s := &metrics.Summary{Verification: metrics.Verification{Checked: 10_000, Compared: 10_000}}
		for i := range 2 {
			source := plan.Source(workload.Place{Nodes: 1, Worker: i, Workers: 2})
			source.Fill(make([]workload.Op, 64))
			s.Workers = append(s.Workers, metrics.WorkerAccount{Drawn: 100, OpeningOps: 64, Opening: fmt.Sprintf("%016x", source.Digest())})
		}
		test.spoil(flags, s)
		run := &judged{}
		run.Workload, run.Window = flags, new(metrics.WindowLength)
		run.Asked = map[metrics.Role]metrics.Settings{metrics.Server: {}, metrics.Client: {}}
		run.Nodes = []metrics.RunNode{{Name: "s0", Role: metrics.Server}, {Name: "c0", Role: metrics.Client, Summary: s}}
		if run.expected, err = expect(flags, 1); err != nil {
			t.Fatal(err)
		}
		v := run.made(rows("asked", "compared"))
		if v.Valid != (test.want == "") || !strings.Contains(v.Reason, test.want) {
			t.Errorf("%s: %s, want %q", test.name, v, test.want)
		}
	}
}

// A run that ends with its operations has exactly as many, and each worker its share; one that
// -secs end has a part.
func TestOps(t *testing.T) {
	config := workload.DefaultConfig()
	config.Ops = 10
	plan, err := workload.New(config)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name      string
		secs      string
		used      float64
		first     uint64 // drawn by the first of four workers; the others draw 3, 2 and 2
		ops       uint64 // counted
		want      string // of a finding that failed
		unlimited bool
	}{
		{name: "exact", secs: "0", used: 1, first: 3, ops: 10},
		{name: "exact, before -secs", secs: "5", used: 1, first: 3, ops: 10},
		{name: "cut by -secs", secs: "5", used: 5, first: 1, ops: 8},
		{name: "one fewer", secs: "0", used: 1, first: 2, ops: 9, want: "worker 0 sent 2 operations, its share of -ops 10 is 3"},
		{name: "one fewer, before -secs", secs: "5", used: 4.9, first: 2, ops: 9, want: "worker 0 sent 2 operations"},
		{name: "one more", secs: "0", used: 1, first: 4, ops: 11, want: "worker 0 sent 4 operations"},
		{name: "one more, cut by -secs", secs: "5", used: 5, first: 4, ops: 11, want: "worker 0 sent 4 operations"},
		{name: "one counted twice", secs: "0", used: 1, first: 3, ops: 11, want: "11 operations are counted, -ops is 10"},
		{name: "one not counted", secs: "0", used: 1, first: 3, ops: 9, want: "9 operations are counted, -ops is 10"},
		{name: "no -ops", secs: "5", used: 5, first: 9, ops: 16, unlimited: true},
	} {
		run := &judged{expected: &expectation{stream: plan}}
		run.Workload, run.Window, run.Ops = metrics.Settings{"ops": "10", "secs": test.secs}, &metrics.WindowLength{UsedS: test.used}, test.ops
		if test.unlimited {
			delete(run.Workload, "ops")
		}
		drawn := [][]uint64{{test.first, 2}, {3, 2}}
		run.Nodes = []metrics.RunNode{{Name: "s0", Role: metrics.Server}}
		for i := range drawn {
			s := &metrics.Summary{}
			for _, n := range drawn[i] {
				s.Workers = append(s.Workers, metrics.WorkerAccount{Drawn: n})
			}
			run.Nodes = append(run.Nodes, metrics.RunNode{Name: fmt.Sprint("c", i), Role: metrics.Client, Summary: s})
		}
		f := checkOps(run)
		if f.failed() != (test.want != "") || !strings.HasPrefix(f.Evidence, test.want) || test.unlimited != (f.Outcome == metrics.CheckInapplicable) {
			t.Errorf("%s: %+v, want %q", test.name, f, test.want)
		}
	}
}
