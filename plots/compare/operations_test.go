package compare

import (
	"fmt"
	"testing"

	"kvlab/metrics"
	"kvlab/plots/folder"
)

// drew returns a run whose clients kept digests: one for each power of two, and whole for
// all operations.
func drew(id string, seed int, whole string, powers ...int) *folder.Run {
	r := &folder.Run{Run: metrics.Run{ID: id, Workload: map[string]string{"seed": fmt.Sprint(seed), "theta": "0.99", "batch": id}}}
	r.Nodes = []metrics.RunNode{{Role: metrics.Server, Summary: &metrics.Summary{}}}
	config := &metrics.Config{Classes: metrics.FlagClasses{Of: map[string]metrics.FlagClass{"seed": metrics.WorkFlag}}}
	for client, n := range powers {
		s := &metrics.Summary{Digests: []string{whole, fmt.Sprint(client)}}
		for k := range n {
			s.Prefixes = append(s.Prefixes, fmt.Sprint(seed, client, k))
		}
		r.Nodes = append(r.Nodes, metrics.RunNode{Role: metrics.Client, Summary: s, Config: config})
	}
	return r
}

func TestSameOperations(t *testing.T) {
	strayed := drew("strayed", 1, "y", 28, 28)
	strayed.Nodes[2].Summary.Prefixes[10] = "else"
	for _, test := range []struct {
		name string
		runs []*folder.Run
		want string
	}{
		{"the same", []*folder.Run{drew("a", 1, "x", 28, 29), drew("b", 1, "y", 30, 30)}, "same operations: the first 2^27 of each worker"},
		{"to the last", []*folder.Run{drew("a", 1, "x", 9), drew("b", 1, "x", 9)}, "same operations: all of each worker"},
		{"the shortest of three", []*folder.Run{drew("a", 1, "x", 20), drew("b", 1, "x", 20), drew("c", 1, "z", 12)}, "same operations: the first 2^11 of each worker"},
		{"another seed", []*folder.Run{drew("a", 1, "x", 28), drew("b", 2, "y", 28)}, "different operations: seed 1 and 2"},
		{"another number of clients", []*folder.Run{drew("a", 1, "x", 28), drew("b", 1, "x", 28, 28)}, "different operations: clients 1 and 2"},
		{"seeds and clients", []*folder.Run{drew("a", 1, "x", 28), drew("b", 2, "x", 28, 28)}, "different operations: clients 1 and 2, seed 1 and 2"},
		{"astray", []*folder.Run{drew("a", 1, "x", 28, 28), strayed}, "different operations, though the flags are the same: two runs share the first 2^9"},
		{"of no operation", []*folder.Run{drew("a", 1, "x", 28), drew("none", 1, "x", 0)}, "cannot tell whether the operations are the same: a run has no digests of them"},
	} {
		if got := sameOperations(test.runs); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
