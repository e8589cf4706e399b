package metrics

import (
	"encoding/json"
	"slices"
	"testing"
)

// Records of earlier programs are read with the flags' present names and classes.
func TestEarlierFlags(t *testing.T) {
	var run Run
	text := `{"workload": {"coalesce": "true", "batch": "64"}, "nodes": [{"role": "client", "config": {"flags": {"coalesce": "true", "check": "false", "seed": "1", "hosts": "h", "max-frame": "5"}}}]}`
	if err := json.Unmarshal([]byte(text), &run); err != nil {
		t.Fatal(err)
	}
	if len(run.Workload) != 2 || run.Workload["dedup"] != "true" || run.Setting(Client, "dedup") != "true" || run.Setting(Client, "linearizable") != "false" || run.Setting(Server, "dedup") != "" {
		t.Errorf("workload %v, client %v", run.Workload, run.Nodes[0].Config.Flags)
	}
	config := run.Config(Client)
	for class, want := range map[FlagClass][]string{WorkFlag: {"seed"}, ShapeFlag: {"dedup"}, OwnFlag: {"hosts"}, OtherFlag: {"linearizable", "max-frame"}} {
		if got := config.FlagsOf(class); !slices.Equal(got, want) {
			t.Errorf("class %s has %q, want %q", class, got, want)
		}
	}
	config.Classes = &FlagClasses{Of: map[string]FlagClass{"seed": OwnFlag}}
	if config.ClassOf("seed") != OwnFlag || config.ClassOf("dedup") != OtherFlag || run.Config(Server).ClassOf("seed") != WorkFlag {
		t.Error("the record's own classes are not taken")
	}
}

// Earlier servers had the default model, and a foreign store has none.
func TestModel(t *testing.T) {
	server := func(flags map[string]string) Run {
		return Run{Nodes: []RunNode{{Role: Server, Config: &Config{Flags: flags}}}}
	}
	foreign := server(nil)
	foreign.Store = new(Store)
	for want, run := range map[string]Run{"conn": server(nil), "pool:4": server(map[string]string{"model": "pool:4"})} {
		if got := run.Model(); got != want {
			t.Errorf("model %q, want %q", got, want)
		}
	}
	for _, run := range []Run{{}, foreign} {
		if got := run.Model(); got != "" {
			t.Errorf("model %q, want none", got)
		}
	}
}
