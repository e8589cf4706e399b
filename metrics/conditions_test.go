package metrics

import "testing"

// What stands beside a ranking is told in words, and the names of stores are none of it.
func TestUnlikeStores(t *testing.T) {
	store := func(name, durability, connections string) *Run {
		return &Run{Result: Result{Counting: CountsExact, Store: &Store{Name: name, Driver: "redis", Settings: map[string]string{Durability: durability, Replicas: "0"}}}, Workload: Settings{"connections": connections}}
	}
	own, twice := &Run{Result: Result{Counting: CountsExact}, Workload: Settings{"connections": "1"}}, &Run{Result: Result{Counting: CountsExact}, Workload: Settings{"connections": "2"}}
	redis, etcd := store("redis", InMemory, "16"), store("etcd", EachAnswer, "1")
	unknown := store("team-7", "", "16")
	unknown.Counting = CountsNone
	for _, test := range []struct {
		name   string
		runs   []*Run
		varied string
		want   string
	}{
		{"two branches of one team", []*Run{store("team-7", "", "1"), store("team-7-cache", "", "1")}, "", ""},
		{"in memory", []*Run{redis, store("memcached", InMemory, "16")}, "", ""},
		{"on disk", []*Run{redis, etcd, redis}, "", "these stores differ in durability (in memory, on disk before each answer) and connections (16, 1)"},
		{"connections are swept", []*Run{redis, etcd}, "connections", "these stores differ in durability (in memory, on disk before each answer)"},
		{"kvlab's own", []*Run{own, twice}, "", ""},
		{"kvlab's own and a lab's", []*Run{own, unknown}, "", "these stores differ in connections (1, 16) and counts (exact, none)"},
		{"none", nil, "", ""},
	} {
		if got := UnlikeStores(test.runs, test.varied); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
