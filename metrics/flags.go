package metrics

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"
)

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

// FlagValues are the values of flags by name.
type FlagValues map[string]string

// RivalValue is the key of what a program lacks and that of extra/rivals has. It is no flag.
const RivalValue = "extra/rivals"

// Is reports whether a flag is set.
func (v FlagValues) Is(flag string) bool { return v[flag] == "true" }

// SavesBytes reports whether replies leave out values that the client has: -dedup, -cache.
func (v FlagValues) SavesBytes() bool { return v.Is("dedup") || v.Caches() }

// Caches reports whether the client has a cache.
func (v FlagValues) Caches() bool { return v["cache"] != "" && v["cache"] != "0" }

// Number is a flag's value; 0 without one.
func (v FlagValues) Number(flag string) uint64 {
	n, _ := strconv.ParseUint(v[flag], 10, 64)
	return n
}

// Length is a length in the form of the client's flags: a number of seconds, or a duration
// with its unit. It is negative for anything else.
func (v FlagValues) Length(flag string) time.Duration {
	for _, text := range []string{v[flag] + "s", v[flag]} {
		if d, err := time.ParseDuration(text); err == nil {
			return d
		}
	}
	return -1
}

// Setting is the value of a flag on the first node of a role; "" where it is not known.
func (r Run) Setting(role Role, flag string) string {
	if config := r.Config(role); config != nil {
		return config.Flags[flag]
	}
	return ""
}

// EngineFlag is the servers' flag that says where keys live.
const EngineFlag = "engine"

// DefaultModel is the servers' execution model without -model.
const DefaultModel = "conn"

// Model is the servers' execution model; "" where it is not known, as of a foreign store.
func (r Run) Model() string {
	if r.Store != nil || r.Config(Server) == nil {
		return ""
	}
	return r.Setting(Server, "model")
}
