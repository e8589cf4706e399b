package metrics

import (
	"cmp"
	"maps"
	"slices"
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

// Model is the servers' execution model; "" where it is not known, as of a foreign store.
func (r Run) Model() string {
	if r.Store != nil || r.Config(Server) == nil {
		return ""
	}
	return r.Settings(Server).Model()
}
