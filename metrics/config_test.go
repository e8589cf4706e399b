package metrics

import (
	"slices"
	"testing"
)

// A flag has the class that the node's record says.
func TestFlagsOfAClass(t *testing.T) {
	config := &Config{Flags: Settings{"seed": "1", "dedup": "true", "hosts": "h", "max-frame": "5"},
		Classes: FlagClasses{Of: map[string]FlagClass{"seed": WorkFlag, "dedup": ShapeFlag, "hosts": OwnFlag}}}
	for class, want := range map[FlagClass][]string{WorkFlag: {"seed"}, ShapeFlag: {"dedup"}, OwnFlag: {"hosts"}, OtherFlag: {"max-frame"}} {
		if got := config.FlagsOf(class); !slices.Equal(got, want) {
			t.Errorf("class %s has %q, want %q", class, got, want)
		}
	}
}

// A foreign store has no model.
func TestModel(t *testing.T) {
	run := Run{Nodes: []RunNode{{Role: Server, Config: &Config{Flags: Settings{"model": "pool:4"}}}}}
	if got := run.Model(); got != "pool:4" {
		t.Errorf("model %q, want pool:4", got)
	}
	foreign := run
	foreign.Store = new(Store)
	for _, run := range []Run{{}, foreign} {
		if got := run.Model(); got != "" {
			t.Errorf("model %q, want none", got)
		}
	}
}
