package metrics

import "testing"

func TestStoreTitle(t *testing.T) {
	store := &Store{Name: "redis", Driver: "redis", Version: "redis 7", Settings: map[string]string{"save": `""`, "appendonly": `"no"`}, Connections: 16}
	if got := store.RankClass(); got != `redis 7 (appendonly "no", save ""), 16 connections` {
		t.Errorf("%q", got)
	}
	if title := (&Store{Name: "team-7", Driver: "lab", Version: "1"}).Title(); title != "team-7, 1" {
		t.Error(title)
	}
}

func TestStoreCountsSince(t *testing.T) {
	before := StoreCounts{Instance: "a", Counts: Counts{Gets: 5, Puts: 3, Hits: 4}, Others: map[string]uint64{"INCR": 2}, Beside: map[string]uint64{"PING": 1}}
	for want, change := range map[string]func(*StoreCounts){
		"": func(c *StoreCounts) { c.Counts.Gets++ },
		"the store was restarted: its counters began again":  func(c *StoreCounts) { c.Instance = "b" },
		"the store's counter of puts was reset":              func(c *StoreCounts) { c.Counts.Puts = 0 },
		"the store's counter of commands was reset":          func(c *StoreCounts) { c.Others = nil },
		"the store's counters of hits and misses were reset": func(c *StoreCounts) { c.Counts.Hits = 0 },
	} {
		after := before
		if change(&after); after.Since(before) != want {
			t.Errorf("%q, want %q", after.Since(before), want)
		}
	}
}
