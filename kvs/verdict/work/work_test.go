package work

import (
	"strings"
	"testing"

	"kvlab/metrics"
)

func TestCheckRestart(t *testing.T) {
	for _, test := range []struct {
		flags metrics.Settings
		want  string
	}{
		{metrics.Settings{"workload": "YCSB-A"}, ""},
		{metrics.Settings{"workload": "YCSB-F", "records": "1000"}, ""},
		{metrics.Settings{"workload": "YCSB-D"}, "--restart-at: -workload YCSB-D inserts, deletes or scans: want only gets, puts and read-modify-writes"},
		{metrics.Settings{"workload": "YCSB-E"}, "--restart-at: -workload YCSB-E inserts"},
		{metrics.Settings{"workload": "x"}, "-workload"},
	} {
		err := CheckRestart(test.flags)
		if got := err != nil; got != (test.want != "") || got && !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%v: %v, want %q", test.flags, err, test.want)
		}
	}
}
