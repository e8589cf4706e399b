package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"kvlab/kvs/driver/pipeline"
	"kvlab/kvs/resp"
	"kvlab/kvs/route"
	"kvlab/metrics"
)

// counter is a control connection over which a server's counters are read.
type counter struct {
	*control
	cluster  bool // the server is a cluster's
	settings map[string]string
	asked    map[string]uint64 // the commands that it has sent, by their names in commandstats

	connected string            // total_connections_received at the last look at the connections
	others    uint64            // commands of others that change something, then
	peers     map[string]string // the last commands of connections that no client of the run made, by address
}

// settings are the settings of a Redis that a fair comparison shows.
var settings = []string{"save", "appendonly", "appendfsync", "io-threads", "maxmemory", "maxmemory-policy"}

// uncounted says what to do with a store that lacks the counters.
const uncounted = ": its counters cannot be compared with what the clients verify; add ?counts=none to the target, or counts = \"none\" below [settings], to measure it without them"

// durability says what the settings promise; "" where they are hidden.
func durability(settings map[string]string) string {
	switch {
	case settings["appendonly"] == "":
		return ""
	case settings["appendonly"] == `"no"` && settings["save"] == `""`:
		return metrics.InMemory
	case settings["appendonly"] == `"no"`:
		return "in memory, with snapshots"
	}
	return cmp.Or(map[string]string{`"always"`: metrics.EachAnswer, `"everysec"`: metrics.EachSecond}[settings["appendfsync"]], "on disk when the kernel writes it")
}

// Counter connects to a server, and reads the settings, which a managed Redis may hide. The
// server must have the counters.
func (r *redis) Counter(ctx context.Context, server int) (pipeline.Counter, error) {
	conn, err := r.control(ctx, server, func(*control) error { return nil })
	if err != nil {
		return nil, err
	}
	c := &counter{control: conn, cluster: r.cluster, settings: make(map[string]string), asked: make(map[string]uint64), peers: make(map[string]string)}
	for _, name := range settings { // one by one: Redis 6 takes no more
		if reply, err := conn.do("CONFIG", "GET", name); err == nil && len(reply.elements) == 2 {
			c.settings[name] = strconv.Quote(string(reply.elements[1].Text))
		}
	}
	reply, err := conn.do("INFO", "all")
	for _, line := range []string{"run_id", "cmdstat_", "keyspace_hits"} {
		if err == nil && !strings.Contains(string(reply.Text), "\n"+line) {
			err = errors.New("INFO has no " + line)
		}
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("server %s: %w%s", r.options.Hosts[server], err, uncounted)
	}
	return c, nil
}

// Counts returns what a server's INFO counts. Puts are all SETs: those with GET, which are
// ReadModifyWrites, are not counted apart. Hits and Misses are of Gets and
// ReadModifyWrites, and not of Deletes.
func (c *counter) Counts() (metrics.StoreCounts, error) {
	reply, err := c.do("INFO", "all") // one reply shows all sections at one moment
	if err != nil {
		return metrics.StoreCounts{}, err
	}
	info := parseInfo(reply.Text)
	if info["run_id"] == "" {
		return metrics.StoreCounts{}, fmt.Errorf("%w: INFO has no run_id", resp.ErrProtocol)
	}
	s := metrics.StoreCounts{
		Counts: metrics.Counts{
			Gets: info.executed("get"), Puts: info.executed("set"), Deletes: info.executed("del"),
			Hits: info.number("keyspace_hits"), Misses: info.number("keyspace_misses"),
		},
		Records:  field(info["db0"], "keys"),
		Instance: info["run_id"],
		Version:  cmp.Or(info["server_name"], "redis") + " " + cmp.Or(info["valkey_version"], info["redis_version"]),
		Settings: maps.Clone(c.settings),
		Fixed:    map[string]uint64{"role is " + info["role"]: 1},
	}
	s.Settings[metrics.Replicas] = info["connected_slaves"]
	if promise := durability(c.settings); promise != "" {
		s.Settings[metrics.Durability] = promise
	}
	for _, name := range []string{"evicted_keys", "expired_keys"} {
		s.Fixed[name] = info.number(name)
	}
	s.Others, s.Beside = info.strangers(c.asked)
	c.asked["info"]++ // which this reply does not count yet
	c.look(info, &s)
	if c.cluster {
		slots, err := ownSlots(c.control)
		if err != nil {
			return s, err
		}
		s.Fixed["hash of the slots"] = route.Hash([]byte(fmt.Sprint(slots)))
	}
	return s, nil
}

// info are the lines of a reply to INFO, by name.
type info map[string]string

func parseInfo(text []byte) info {
	lines := make(info)
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			lines[name] = value
		}
	}
	return lines
}

func (i info) number(name string) uint64 {
	n, _ := strconv.ParseUint(i[name], 10, 64) // 0 where a release has no such line
	return n
}

// executed returns how often a command was executed without an error.
func (i info) executed(command string) uint64 {
	stats := i["cmdstat_"+command]
	return field(stats, "calls") - field(stats, "failed_calls")
}

// field returns a number of a line such as "keys=2,expires=0"; 0 if it has none of the name.
func field(line, name string) uint64 {
	for pair := range strings.SplitSeq(line, ",") {
		if value, ok := strings.CutPrefix(pair, name+"="); ok {
			n, _ := strconv.ParseUint(value, 10, 64)
			return n
		}
	}
	return 0
}
