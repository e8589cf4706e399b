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
	} {
		today := base()
		test.change(&today)
		err := CheckSame(base(), today)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("error %v, want %q", err, test.want)
		}
	}
}
