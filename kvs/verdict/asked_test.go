package verdict

import (
	"fmt"
	"strings"
	"testing"

	"kvlab/metrics"
	"kvlab/workload"
)

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
		run.Workload = flags
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
