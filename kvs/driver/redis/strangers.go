package redis

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"kvlab/metrics"
)

// operations are the commands of operations and of transactions, by their names in commandstats.
var operations = []string{"get", "set", "del", "watch", "multi", "exec"}

// harmless are the commands that change neither a key nor what the run's commands do, by their
// names in commandstats: those of connections, health checks, replicas, sentinels and exporters,
// and reads. A name without a subcommand has all of them: Redis 6 counts them together.
var harmless = []string{
	"auth", "hello", "ping", "echo", "quit", "reset", "select", "client", "command", "info", "role", "time", "lastsave", "wait",
	"replconf", "psync", "sync", "subscribe", "psubscribe", "unsubscribe", "punsubscribe", "publish", "pubsub", "monitor",
	"slowlog", "latency", "memory", "object", "module|list", "config", "config|get", "dbsize", "asking", "readonly", "readwrite",
	"cluster", "cluster|info", "cluster|nodes", "cluster|slots", "cluster|shards", "cluster|myid", "cluster|links", "cluster|replicas", "cluster|slaves",
	"cluster|keyslot", "cluster|countkeysinslot", "cluster|getkeysinslot", "script|exists", "function|list", "function|stats", "acl|whoami", "acl|list", "acl|getuser", "acl|log",
	"exists", "type", "ttl", "pttl", "expiretime", "pexpiretime", "strlen", "getrange", "substr", "getbit", "bitcount", "mget", "keys", "scan", "randomkey", "dump",
	"hget", "hmget", "hgetall", "hkeys", "hvals", "hlen", "hexists", "hscan", "llen", "lrange", "lindex", "scard", "sismember", "smembers", "sscan",
	"zcard", "zcount", "zrange", "zrangebyscore", "zscore", "zscan", "xlen", "xrange", "xinfo",
}

// strangers returns the commands of others: those that may change something, and the harmless
// ones but for some of this connection's own.
func (i info) strangers(own map[string]uint64) (others, beside map[string]uint64) {
	others, beside = make(map[string]uint64), make(map[string]uint64)
	for name, stats := range i {
		command, ok := strings.CutPrefix(name, "cmdstat_")
		if !ok || slices.Contains(operations, command) {
			continue
		}
		container, _, isSub := strings.Cut(command, "|")
		into := others
		if slices.Contains(harmless, command) || isSub && container != "config" && container != "cluster" && slices.Contains(harmless, container) {
			into = beside
		}
		if calls := field(stats, "calls"); calls > own[command] {
			into[strings.ToUpper(strings.ReplaceAll(command, "|", " "))] = calls - own[command]
		}
	}
	return others, beside
}

// The bounds of what is asked and kept of the connections of others.
const (
	mostListed = 2000 // connections: CLIENT LIST has some 350 bytes of each, and a reply at most maxText
	mostPeers  = 8
)

// look asks for the connections when there are new ones, or when others have changed something,
// and keeps those that no client of the run made. A connection that is closed by then is missed.
func (c *counter) look(i info, s *metrics.StoreCounts) {
	sum := uint64(0)
	for _, n := range s.Others {
		sum += n
	}
	if connected := i["total_connections_received"]; (connected != c.connected || sum != c.others) && i.number("connected_clients") <= mostListed && c.named {
		c.connected, c.others = connected, sum
		if list, err := c.do("CLIENT", "LIST"); err == nil {
			c.peers = peers(list.Text, c.peers)
		}
		c.asked["client|list"]++
		c.asked["client"]++
	}
	for _, addr := range slices.Sorted(maps.Keys(c.peers)) {
		s.Peers = append(s.Peers, fmt.Sprintf("%s (%s)", addr, c.peers[addr]))
	}
}

// peers adds the connections of a list that have not the driver's name to those that are known.
func peers(list []byte, known map[string]string) map[string]string {
	for line := range strings.Lines(string(list)) {
		fields := make(map[string]string)
		for _, text := range strings.Fields(line) {
			name, value, _ := strings.Cut(text, "=")
			fields[name] = value
		}
		if addr := fields["addr"]; fields["name"] != connectionName && addr != "" && (known[addr] != "" || len(known) < mostPeers) {
			known[addr] = strings.ToUpper(strings.ReplaceAll(fields["cmd"], "|", " "))
		}
	}
	return known
}
