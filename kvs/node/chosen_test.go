package node

import (
	"testing"

	"kvlab/metrics"
)

// The flags that were chosen are those with another value than the default: also by a former
// name, not those that were given their default, and not those of OwnFlag.
func TestChosen(t *testing.T) {
	flags := NewFlags("x")
	flags.Class(metrics.OwnFlag)
	flags.String("node", "server", "its `name`")
	flags.Class(metrics.WorkFlag)
	flags.Int("batch", 8192, "operations")
	flags.Int("workers", 64, "goroutines")
	flags.Bool("dedup", false, "send a value once")
	if err := flags.Parse([]string{"-node", "a", "-workers", "64", "-batch", "64", "-coalesce"}, nil); err != nil {
		t.Fatal(err)
	}
	got := flags.Chosen()
	if len(got) != 2 || got[0].Name != "batch" || got[0].Default != "8192" || got[0].Usage != "operations" || got[1].Name != "dedup" {
		t.Errorf("%+v", got)
	}
}
