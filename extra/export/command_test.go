package export

import (
	"bytes"
	"strings"
	"testing"

	"kvlab/plots/command"
)

func TestCommand(t *testing.T) {
	kvsplot := command.Program{Commands: []command.Command{Command}}
	_, run, _ := exported(t)
	out := t.TempDir()
	for _, test := range []struct {
		args             []string
		want             int
		wantOut, wantErr string
	}{
		{[]string{"export", "-h"}, 0, "all tables into this folder", ""},
		{[]string{"export"}, 2, "", "kvsplot: no run folder named: want kvsplot export RUN"},
		{[]string{"export", run, "--table", "second"}, 2, "", `kvsplot: --table "second": want runs, trials, seconds, histogram`},
		{[]string{"export", out}, 2, "", "not a run folder"},
		{[]string{"export", run, "--table", "histogram"}, 0, "id,latency,from_us,to_us,count\n", ""},
		{[]string{"-out", out, "export", run}, 0, out + "/seconds.csv\n", ""},
	} {
		var stdout, stderr bytes.Buffer
		status := kvsplot.Main(test.args, &stdout, &stderr)
		if status != test.want || !strings.Contains(stdout.String(), test.wantOut) || !strings.Contains(stderr.String(), test.wantErr) {
			t.Errorf("%q: exit status %d\n%.300s%s", test.args, status, stdout.String(), stderr.String())
		}
	}
}
