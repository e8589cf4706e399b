package metrics

import "testing"

func TestVerdictString(t *testing.T) {
	for _, tt := range []struct {
		v    Verdict
		want string
	}{
		{Verdict{Valid: true}, "VALID"},
		{Verdict{Reason: "no operations"}, "INVALID(no operations)"},
		{Verdict{Reason: "exit status 2", Node: "node3"}, "INVALID(exit status 2, node3)"},
	} {
		if got := tt.v.String(); got != tt.want {
			t.Errorf("%+v prints %q, want %q", tt.v, got, tt.want)
		}
	}
}

func TestRunCount(t *testing.T) {
	r := Run{Nodes: []RunNode{{Role: Server}, {Role: Client}, {Role: Client}}}
	if s, c := r.Count(Server), r.Count(Client); s != 1 || c != 2 {
		t.Errorf("%d servers and %d clients, want 1 and 2", s, c)
	}
}
