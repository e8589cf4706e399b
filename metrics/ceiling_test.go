package metrics

import "testing"

func TestCeilingOver(t *testing.T) {
	for _, test := range []struct {
		ceiling *Ceiling
		want    string
	}{
		{nil, ""},
		{Ceiling{NullOpsPerS: 14.2e6, InprocOpsPerS: 22e6}.Over(4.58e6), "harness ceiling 3.10x (null engine 14.2M ops/s, in process 22M ops/s)"},
		{Ceiling{NullOpsPerS: 3e6}.Over(2e6), "harness ceiling 1.50x (null engine 3M ops/s)"},
		{Ceiling{NullOpsPerS: 2.98e6, Note: "in process not measured: killed"}.Over(2e6), "CLIENT-BOUND: harness ceiling 1.49x (null engine 2.98M ops/s): in process not measured: killed"},
		{Ceiling{InprocOpsPerS: 3e6, Note: "null engine: node1 died"}.Over(2e6), "ceiling not measured (in process 3M ops/s): null engine: node1 died"},
		{Ceiling{NullOpsPerS: 3e6}.Over(0), "ceiling not measured (null engine 3M ops/s)"},
		{Ceiling{Note: "--no-ceiling"}.Over(2e6), "ceiling not measured: --no-ceiling"},
		{Ceiling{NullOpsPerS: 3e6}.Over(4e6).Over(1e6), "harness ceiling 3.00x (null engine 3M ops/s)"},
	} {
		if got := test.ceiling.String(); got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
	}
}
