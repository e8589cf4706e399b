package metrics

// Config is a node's first record: its flags and its machine.
type Config struct {
	Schema  int         `json:"schema"` // as in Run, for the whole file
	Args    []string    `json:"args"`
	Flags   Settings    `json:"flags"`        // every flag's final value, by name
	Classes FlagClasses `json:"flag_classes"` // of Flags
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
