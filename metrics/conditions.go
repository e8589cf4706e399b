package metrics

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

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
	all := map[string]string{Durability: InMemory, Replicas: "0", connections: r.Workload[connections], counting: string(r.Counting), containment: cmp.Or(r.Contained.Class(), "none")}
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
