package cluster

import (
	"context"
	"strings"
	"testing"
	"time"

	"kvlab/kvs/cluster/nodes"
	"kvlab/kvs/cluster/plan"
	"kvlab/metrics"
)

// A node that lets ssh in and then says nothing cannot be reached, and what its
// login said until then is told. One that has spoken has more time.
func TestLoginThatHangs(t *testing.T) {
	const limit = 5 * time.Second
	program := script(t, "kvsserver", "exit 0")
	for name, tt := range map[string]struct{ node, want string }{
		"mute":  {"echo 'quota: no answer from the file server' >&2; exec sleep 60", "cannot be reached: the login gets no further within 5s: quota: no answer from the file server"},
		"spoke": {"echo kvlab system; sleep 6", `is a "" machine`},
	} {
		carrier := ssh{program: script(t, "ssh", tt.node)}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := newRemote(carrier, map[metrics.Role]string{metrics.Server: program}, limit)
			if err != nil {
				t.Fatal(err)
			}
			begun := time.Now()
			err = r.Prepare(context.Background(), []plan.Place{{Name: "node0", Role: metrics.Server, Node: nodes.Node{Name: "node0", Way: nodes.Way{Kind: nodes.SSH, To: "node0"}}}})
			if err == nil || !strings.Contains(err.Error(), tt.want) || time.Since(begun) > 50*time.Second {
				t.Errorf("%v after %v, want %q", err, time.Since(begun), tt.want)
			}
		})
	}
}
