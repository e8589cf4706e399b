package metrics

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"kvlab/metrics/format"
)

// Counting says how strong the comparison of what clients verified with what servers
// executed is.
type Counting string

// The strengths of the comparison.
const (
	CountsExact   Counting = "exact"   // equal, for every server and kind
	CountsBounded Counting = "bounded" // between what was acknowledged and what was sent, as connections broke or a server was killed
	CountsNone    Counting = "none"    // the store counts nothing
)

// StoreWitness is what a foreign store's server counted itself, from the moment when it was
// ready until the last client had ended.
type StoreWitness struct {
	Before StoreCounts `json:"before"`
	After  StoreCounts `json:"after"`
	Fault  string      `json:"fault,omitempty"` // why the difference does not say what was executed: a restart, a counter that was set back, no answer
}

// Executed returns the operations between the two readings.
func (w *StoreWitness) Executed() Counts { return w.After.Counts.Sub(w.Before.Counts) }

// StoreCounts are what a foreign store's server counts itself, since its start.
type StoreCounts struct {
	Counts   Counts            `json:"counts"`             // the operations that it executed without an error; no calls
	Records  uint64            `json:"records"`            // the keys that it holds
	Instance string            `json:"instance"`           // differs after a restart
	RMWGets  bool              `json:"rmw_gets,omitzero"`  // the Gets include all ReadModifyWrites, which are Puts too
	Others   map[string]uint64 `json:"others,omitempty"`   // commands that no client of the run sends, and that may change the store or its counts, by name
	Beside   map[string]uint64 `json:"beside,omitempty"`   // those that change nothing, such as of a health check, a replica or an exporter
	Peers    []string          `json:"peers,omitempty"`    // connections that no client of the run made, each with its last command, where the store tells them
	Fixed    map[string]uint64 `json:"fixed,omitempty"`    // counters that no valid run moves, such as evictions, by the store's name
	Version  string            `json:"version,omitempty"`  // of the store's program
	Settings map[string]string `json:"settings,omitempty"` // of the store that a fair comparison shows, such as its durability
}

// Since returns in words why c is no later reading of the counters of before: another
// instance, or a counter that went backwards; "" if it is one.
func (c StoreCounts) Since(before StoreCounts) string {
	if c.Instance != before.Instance {
		return "the store was restarted: its counters began again"
	}
	now, then := c.Counts.ByKind(), before.Counts.ByKind()
	for k, name := range KindNames {
		if now[k] < then[k] {
			return "the store's counter of " + name + "s was reset"
		}
	}
	switch {
	case len(grown(c.Others, before.Others)) > 0 || len(grown(c.Beside, before.Beside)) > 0:
		return "the store's counter of commands was reset"
	case c.Counts.Hits < before.Counts.Hits || c.Counts.Misses < before.Counts.Misses:
		return "the store's counters of hits and misses were reset"
	}
	return ""
}

// grown returns by how much each counter of after is above that of before.
func grown(before, after map[string]uint64) map[string]uint64 {
	more := make(map[string]uint64)
	for name, n := range after {
		if n > before[name] {
			more[name] = n - before[name]
		}
	}
	return more
}

// Reads returns how many of the verified operations the store counts as Gets.
func (w *StoreWitness) Reads(verified Counts) uint64 {
	if w.After.RMWGets {
		return verified.Gets + verified.ReadModifyWrites
	}
	return verified.Gets
}

// Strangers returns the commands between the two readings that no client of the run sent: those
// that may have changed something, and the others.
func (w *StoreWitness) Strangers() (others, beside map[string]uint64) {
	return grown(w.Before.Others, w.After.Others), grown(w.Before.Beside, w.After.Beside)
}

// Store is what of a foreign store stands in a run's result: runs of different stores are
// separate classes.
type Store struct {
	Name        string            `json:"name"`                      // the target's
	Driver      string            `json:"driver"`                    // its name
	Version     string            `json:"version,omitempty"`         // of the first server
	Commit      string            `json:"git_commit,omitempty"`      // of its program, where its process is seen and Go built it in a checkout (go version -m)
	Binary      string            `json:"binary_sha256,omitempty"`   // of its program, where its process is seen
	Settings    map[string]string `json:"settings,omitempty"`        // likewise
	Connections int               `json:"connections"`               // of each client to each server
	Missing     []string          `json:"checks_not_made,omitempty"` // for which the store has no witness, in words
}

// RankClass names the store, its version, settings and connections: results of different
// classes are not ranked without saying so. That of nil is kvlab's own.
func (s *Store) RankClass() string {
	if s == nil {
		return ownStore
	}
	var settings []string
	for _, name := range slices.Sorted(maps.Keys(s.Settings)) {
		settings = append(settings, name+" "+s.Settings[name])
	}
	text := s.Title()
	if len(settings) > 0 {
		text += " (" + strings.Join(settings, ", ") + ")"
	}
	return text + ", " + format.Plural(s.Connections, "connection")
}

// Title names the store and its version.
func (s *Store) Title() string {
	switch {
	case s == nil:
		return ownStore
	case s.Version == "":
		return s.Name
	case s.Name == s.Driver:
		return s.Version
	}
	return s.Name + ", " + s.Version
}

const ownStore = "kvlab's own store"

// RankClass says in a few words how programs were contained, and which walls did not hold: ""
// of those that were not.
func (c *Containment) RankClass() string {
	if c == nil {
		return ""
	}
	var missing []string
	for _, wall := range c.Walls {
		if !wall.Held {
			missing = append(missing, wall.Name)
		}
	}
	text := "contained (" + strings.ReplaceAll(c.Limits, ",", " ")
	if len(missing) > 0 {
		text += "; not held: " + strings.Join(missing, " ")
	}
	return text + ")"
}

// The conditions of a result: what stands beside a ranking, in the order in which a sentence
// names them. The first two are also settings of a foreign store, where its driver knows them.
const (
	Durability  = "durability"  // when a write that was acknowledged is safe
	Replicas    = "replicas"    // copies of each key beside the first
	connections = "connections" // of each client to each server
	counting    = "counts"      // how strongly the store's counts were compared with the clients'
	containment = "containment" // of the store's program
)

// The durabilities of foreign stores.
const (
	InMemory   = "in memory"
	EachSecond = "on disk within a second"
	EachAnswer = "on disk before each answer"
)

// Conditions returns the conditions of a run's result, by name. One that is not known is
// absent.
func (r Run) Conditions() map[string]string {
	all := map[string]string{Durability: InMemory, Replicas: "0", connections: r.Workload[connections], counting: string(r.Counting), containment: cmp.Or(r.Contained.RankClass(), "none")}
	if r.Store != nil {
		all[Durability], all[Replicas] = r.Store.Settings[Durability], r.Store.Settings[Replicas]
	}
	all[Durability] = cmp.Or(r.Durability, all[Durability])
	maps.DeleteFunc(all, func(_, value string) bool { return value == "" })
	return all
}

// UnlikeStores says in which conditions runs of several stores differ, as in "these stores
// differ in durability (in memory, on disk before each answer) and connections (16, 1)"; ""
// for none. It leaves out the conditions that a sweep varies, and the connections to kvlab's
// own store.
func UnlikeStores(runs []*Run, varied ...string) string {
	var differ []string
	for _, name := range []string{Durability, Replicas, connections, counting, containment} {
		var values []string
		foreign := false
		for _, r := range runs {
			if value := r.Conditions()[name]; value != "" && !slices.Contains(values, value) {
				values = append(values, value)
			}
			foreign = foreign || r.Store != nil
		}
		if len(values) > 1 && !slices.Contains(varied, name) && (foreign || name != connections) {
			differ = append(differ, name+" ("+strings.Join(values, ", ")+")")
		}
	}
	if len(differ) == 0 {
		return ""
	}
	text := "these stores differ in " + differ[0]
	for i, name := range differ[1:] {
		joint := ", "
		if i == len(differ)-2 {
			joint = " and "
		}
		text += joint + name
	}
	return text
}
