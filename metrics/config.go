package metrics

import (
	"cmp"
	"maps"
	"slices"
)

// Config is a node's first record: its flags and its machine.
type Config struct {
	Schema  int         `json:"schema"` // as in Run, for the whole file
	Args    []string    `json:"args"`
	Flags   Settings    `json:"flags"`                  // every flag's final value, by name
	Classes FlagClasses `json:"flag_classes"`           // of Flags
	Chosen  []Flag      `json:"chosen_flags,omitempty"` // those that were set to another value than their default, without OwnFlag
	Host    Host        `json:"host"`
	Binary  string      `json:"binary_sha256"`

	Process  ProcessID `json:"process"`
	Cores    string    `json:"allowed_cores,omitempty"` // the processors that the process may run on, as in cpuset(7)
	MaxProcs int       `json:"gomaxprocs,omitempty"`    // goroutines that run at a time

	Capabilities *Capabilities `json:"capabilities,omitempty"`
}

// ProcessID identifies one process of a machine until the machine restarts. A pid
// alone is reused.
type ProcessID struct {
	PID        int    `json:"pid"`
	StartTicks uint64 `json:"start_ticks"` // clock ticks from the machine's start to the process's (proc(5), field 22 of stat)
}

// Host describes a node's machine.
type Host struct {
	Hostname             string `json:"hostname"`
	CPUModel             string `json:"cpu_model"`
	Cores                int    `json:"cores"` // logical processors
	MemoryTotalBytes     uint64 `json:"memory_total_bytes"`
	MemoryAvailableBytes uint64 `json:"memory_available_bytes"` // when it was asked; without swapping
	Kernel               string `json:"kernel"`
	OS                   string `json:"os"`
	GoVersion            string `json:"go_version"`
	Version              string `json:"version"`    // kvlab's release
	GitCommit            string `json:"git_commit"` // of the build, "" when unknown
}

// Capabilities are a program's engine and what it can do. A verdict makes the
// checks that they allow.
type Capabilities struct {
	Engine string `json:"engine,omitempty"` // of a server: what keeps the keys, in words
	Store  bool   `json:"store"`            // a read returns what was written; false of a ceiling

	// Durability is what a server's engine on disk promises, with the name of the mode; "" of
	// one in memory.
	Durability string `json:"durability,omitempty"`

	// Of the host of a foreign store: the other witnesses of kvlab's own servers are missing.
	Driver   string            `json:"driver,omitempty"`        // its name; "" of kvlab's own servers
	Version  string            `json:"version,omitempty"`       // of the store
	Commit   string            `json:"git_commit,omitempty"`    // as Store.Commit
	Binary   string            `json:"binary_sha256,omitempty"` // as Store.Binary
	Settings map[string]string `json:"settings,omitempty"`      // as StoreCounts.Settings
	Counts   Counting          `json:"counts,omitempty"`        // at best; "" of kvlab's own servers, whose counts are exact

	Protocol  string `json:"protocol,omitempty"`  // that the clients speak to a server without a store, in words
	Unseen    string `json:"unseen,omitempty"`    // why its process is not sampled, in words; "" if it is
	Elsewhere bool   `json:"elsewhere,omitempty"` // as the host runs on another machine than the store
}

// AllCapabilities are those of a store.
var AllCapabilities = Capabilities{Store: true}

// FlagClass says what a program's flag is about.
type FlagClass string

// The classes of flags.
const (
	WorkFlag  FlagClass = "work"  // which operations each worker draws
	ShapeFlag FlagClass = "shape" // how the operations are offered and carried
	StoreFlag FlagClass = "store" // where keys live
	OwnFlag   FlagClass = "own"   // differs from process to process; the launcher sets it
	OtherFlag FlagClass = "other" // the rest: limits, faults, files
)

// Flag is a flag of a program, as the program describes it.
type Flag struct {
	Name    string    `json:"name"`
	Class   FlagClass `json:"class"`
	Bool    bool      `json:"bool,omitempty"` // it needs no value
	Default string    `json:"default"`
	Usage   string    `json:"usage"`
}

// FlagClasses are the classes of a program's flags.
type FlagClasses struct {
	Of   map[string]FlagClass `json:"of"`             // by the flag's name
	Main []string             `json:"main,omitempty"` // the flags that people set often and that name a benchmark, in their order
}

// FlagsOf returns the names of the flags of some classes, in order.
func (c *Config) FlagsOf(classes ...FlagClass) []string {
	names := slices.Sorted(maps.Keys(c.Flags))
	return slices.DeleteFunc(names, func(name string) bool { return !slices.Contains(classes, c.ClassOf(name)) })
}

// ClassOf returns the class of a flag; OtherFlag of a nil Config.
func (c *Config) ClassOf(flag string) FlagClass {
	if c == nil {
		return OtherFlag
	}
	return cmp.Or(c.Classes.Of[flag], OtherFlag)
}

// Settings returns the settings of the first node of a role that reported them; nil without
// one.
func (r Run) Settings(role Role) Settings {
	if config := r.Config(role); config != nil {
		return config.Flags
	}
	return nil
}

// DefaultModel is the servers' execution model without -model.
const DefaultModel = "conn"

// Model returns the servers' execution model; "" where it is not known, as of a foreign store.
func (r Run) Model() string {
	if r.Store != nil || r.Config(Server) == nil {
		return ""
	}
	return r.Settings(Server).Model()
}
