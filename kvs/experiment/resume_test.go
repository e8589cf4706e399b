package experiment

import (
	"strings"
	"testing"

	"kvlab/metrics"
)

func TestCheckSame(t *testing.T) {
	base := func() metrics.Sweep {
		return metrics.Sweep{
			Command: []string{"run-cluster.sh", "--trials", "5"}, GitCommit: "abc", Seed: 1,
			Programs: map[metrics.Role]string{metrics.Server: "s1", metrics.Client: "c1"},
			Class:    &metrics.Class{BudgetS: 60, Entries: []metrics.Entry{{Name: "ref"}, {Name: "team-7", Kind: metrics.TargetEntry, Sum: "p1", Source: "f1"}}},
		}
	}
	for _, test := range []struct {
		change func(*metrics.Sweep)
		want   string // part of the error; "" for none
	}{
		{func(s *metrics.Sweep) { s.Seed = 2 }, ""}, // drawn again, and not used
		{func(s *metrics.Sweep) { s.Command[2] = "6" }, `there ["run-cluster.sh" "--trials" "5"], here ["run-cluster.sh" "--trials" "6"]`},
		{func(s *metrics.Sweep) { s.Command = s.Command[:1] }, `here ["run-cluster.sh"]`},
		{func(s *metrics.Sweep) { s.Command = append(s.Command, "--local") }, `here ["run-cluster.sh" "--trials" "5" "--local"]`},
		{func(s *metrics.Sweep) { s.GitCommit = "" }, "git commit differs: there abc, here unknown"},
		{func(s *metrics.Sweep) { s.Programs[metrics.Client] = "c2" }, "client's program differs: sha256 there c1, here c2"},
		{func(s *metrics.Sweep) { s.Programs[metrics.Server] = "s2" }, "server's program differs"},
		{func(s *metrics.Sweep) { s.Class.BudgetS = 120 }, ""},
		{func(s *metrics.Sweep) { s.Class.Entries[1].Sum = "p2" }, ""}, // what a build command makes may differ each time
		{func(s *metrics.Sweep) { s.Class.Entries[1].Source = "f2" }, "the entry team-7 has changed since: measure a new version with --only team-7"},
		{func(s *metrics.Sweep) { s.Class.Entries[1].Broken = "x" }, "the entry team-7 has changed since"},
		{func(s *metrics.Sweep) { s.Class.MemoryMB = 5 }, "the class's file has changed"},
		{func(s *metrics.Sweep) { s.Class.Entries = s.Class.Entries[:1] }, "the class has other entries"},
	} {
		today := base()
		test.change(&today)
		err := CheckSame(base(), today)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("error %v, want %q", err, test.want)
		}
	}
}
