package memcached

import (
	"context"
	"fmt"
	"strconv"

	"kvlab/kvs/driver/pipeline"
	"kvlab/metrics"
)

// What stats counts, besides the operations of a run. A flush is in cmd_flush. What an earlier one
// has dropped is freed during a run, and counts then in get_flushed and expired_unfetched.
var (
	fixed = []string{"evictions", "evicted_unfetched", "get_expired", "cmd_flush",
		"store_too_large", "store_no_memory", "response_obj_oom", "read_buf_oom", "malloc_fails"}
	others = []string{"cmd_touch", "incr_hits", "incr_misses", "decr_hits", "decr_misses", "cas_hits", "cas_misses", "cas_badval"}
	beside = []string{"cmd_meta", "auth_cmds"} // a meta command counts as a get, set or delete, too
	shown  = []string{"maxbytes", "num_threads", "reqs_per_event", "evictions", "cas_enabled"}
)

// Counter connects to a server.
func (m *memcached) Counter(ctx context.Context, server int) (c pipeline.Counter, err error) {
	_, err = m.connect(ctx, server, func(met *control) error { c = met; return nil })
	return c, err
}

// Counts returns a server's counters. cmd_get counts keys, and cmd_set every store,
// whatever asked for it.
func (c *control) Counts() (counts metrics.StoreCounts, err error) {
	stats, err := c.ask("stats")
	if err != nil {
		return counts, err
	}
	settings, err := c.ask("stats settings")
	if err != nil {
		return counts, err
	}
	return countsOf(stats, settings)
}

// countsOf returns the counts in the answers to stats and stats settings.
func countsOf(stats, settings map[string]string) (metrics.StoreCounts, error) {
	var err error
	sum := func(names ...string) (total uint64) {
		for _, name := range names {
			n, wrong := strconv.ParseUint(stats[name], 10, 64)
			if wrong != nil && stats[name] != "" { // older releases lack some
				err = fmt.Errorf("stats: %s is %q, want a number", name, stats[name])
			}
			total += n
		}
		return total
	}
	c := metrics.StoreCounts{
		Counts: metrics.Counts{Gets: sum("cmd_get"), Puts: sum("cmd_set"), Deletes: sum("delete_hits", "delete_misses"),
			Hits: sum("get_hits", "delete_hits"), Misses: sum("get_misses", "delete_misses")},
		Records: sum("curr_items"), Others: map[string]uint64{}, Beside: map[string]uint64{}, Instance: instance(stats), Version: "memcached " + stats["version"],
		Fixed: map[string]uint64{}, Settings: map[string]string{metrics.Durability: metrics.InMemory, metrics.Replicas: "0"},
	}
	for _, name := range fixed {
		c.Fixed[name] = sum(name)
	}
	for _, name := range others {
		c.Others[name] = sum(name)
	}
	for _, name := range beside {
		c.Beside[name] = sum(name)
	}
	for _, name := range shown {
		c.Settings[name] = settings[name]
	}
	return c, err
}

// instance returns a server's process: its id and when it started, by its clock.
func instance(stats map[string]string) string {
	now, err := strconv.ParseUint(stats["time"], 10, 64)
	uptime, err2 := strconv.ParseUint(stats["uptime"], 10, 64)
	if err != nil || err2 != nil || stats["pid"] == "" {
		return ""
	}
	return fmt.Sprintf("pid %s since %d", stats["pid"], now-uptime)
}
