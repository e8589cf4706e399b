package cluster

import (
	"context"
	"strings"
	"testing"
	"time"

	"kvlab/metrics"
)

// A node that lets ssh in and then says nothing cannot be reached, and what its
// login said until then is told. One that has spoken has more time.
func TestLoginThatHangs(t *testing.T) {
	const limit = 500 * time.Millisecond
	program := script(t, "kvsserver", "exit 0")
	for _, tt := range []struct{ node, want string }{
		{"echo 'quota: no answer from the file server' >&2; exec sleep 60", "cannot be reached: the login gets no further within 500ms: quota: no answer from the file server"},
		{"echo kvlab system; sleep 1", `is a "" machine`},
	} {
		r, err := newRemote(ssh{program: script(t, "ssh", tt.node)}, map[metrics.Role]string{metrics.Server: program}, limit)
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		err = r.Prepare(context.Background(), []Place{{Name: "node0", Role: metrics.Server, Node: Node{Name: "node0", SSH: "node0"}}})
		if err == nil || !strings.Contains(err.Error(), tt.want) || time.Since(begun) > 30*time.Second {
			t.Errorf("%q: %v after %v, want %q", tt.node, err, time.Since(begun), tt.want)
		}
	}
}
