package metrics

import "testing"

func TestCeilingOver(t *testing.T) {
	for _, test := range []struct {
		ceiling *Ceiling
		want    string
	}{
		{nil, ""},
		{Ceiling{NullOpsPerS: 14.2e6, InprocOpsPerS: 22e6}.Over(4.58e6, false), "3.10x as fast without a store (null engine 14.2M ops/s, in process 22M ops/s)"},
		{Ceiling{NullOpsPerS: 3e6}.Over(2e6, false), "1.50x as fast without a store (null engine 3M ops/s)"},
		{Ceiling{NullOpsPerS: 2.98e6, Note: "in process not measured: killed"}.Over(2e6, false), "CLIENT-BOUND: 1.49x as fast without a store (null engine 2.98M ops/s): in process not measured: killed"},
		{Ceiling{InprocOpsPerS: 3e6, Note: "null engine: node1 died"}.Over(2e6, false), "ceiling not measured (in process 3M ops/s): null engine: node1 died"},
		{Ceiling{NullOpsPerS: 3e6}.Over(0, false), "ceiling not measured (null engine 3M ops/s)"},
		{Ceiling{Note: "--no-ceiling"}.Over(2e6, false), "ceiling not measured: --no-ceiling"},
		{Ceiling{NullOpsPerS: 3e6}.Over(4e6, false), "ceiling not usable: it is below the result (null engine 3M ops/s)"},
		{Ceiling{NullOpsPerS: 2.9e6}.Over(3e6, false), "CLIENT-BOUND: 0.97x as fast without a store (null engine 2.9M ops/s)"},
		{Ceiling{NullOpsPerS: 3e6}.Over(2.9e6, true), "1.03x as fast without a store (null engine 3M ops/s)"},
		{Ceiling{NullOpsPerS: 2.9e6}.Over(3e6, true), "0.97x as fast without a store (null engine 2.9M ops/s)"},
		{Ceiling{NullOpsPerS: 3e6}.Over(4e6, false).Over(1e6, false), "3.00x as fast without a store (null engine 3M ops/s)"},
		{Ceiling{NullOpsPerS: 2.5e6, Protocol: "RESP"}.Over(2e6, false), "CLIENT-BOUND: 80 % of what RESP allows (null store 2.5M ops/s)"},
	} {
		if got := test.ceiling.String(); got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
	}
}
