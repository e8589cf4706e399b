package cluster

import (
	"testing"

	"kvlab/extra/contain"
)

// An open store is told of where others than this machine's processes reach it.
func TestOpenStore(t *testing.T) {
	at := configuration{open: "the store is open"}
	local, lab, contained := at, at, at
	local.plan.Local, lab.cfg.Lab.Hosts, contained.plan.Contain = true, 2, contain.Limits{Processes: 1}
	for _, test := range []struct {
		at   configuration
		want string
	}{{at, at.open}, {local, ""}, {lab, ""}, {contained, ""}} {
		if got := test.at.warning(); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}
