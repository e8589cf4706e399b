package door

import (
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"kvlab/metrics/usage"
)

// redisVersion is the version of Redis that the gateway answers as.
const redisVersion = "7.0.0"

// tally is what a connection's commands did, in Redis's terms.
type tally struct {
	calls, failed, rejected [commands]uint64 // failed are among calls, and rejected are not
	hits, misses, failures  uint64           // keys that were read; error replies
}

func (t *tally) add(u *tally) {
	for i := range t.calls {
		t.calls[i] += u.calls[i]
		t.failed[i] += u.failed[i]
		t.rejected[i] += u.rejected[i]
	}
	t.hits += u.hits
	t.misses += u.misses
	t.failures += u.failures
}

// publish shows other connections what this one has counted. It precedes the replies.
func (c *conn) publish() {
	c.mu.Lock()
	c.published = c.tally
	c.mu.Unlock()
}

// snapshot is what all connections have published.
type snapshot struct {
	tally
	open   int               // connections
	errors map[string]uint64 // error replies by their codes
}

func (g *Gateway) snapshot() *snapshot {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := &snapshot{g.closed, len(g.conns), maps.Clone(g.errors)}
	for c := range g.conns {
		c.mu.Lock()
		s.add(&c.published)
		c.mu.Unlock()
	}
	return s
}

// list is CLIENT LIST.
func (g *Gateway) list() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var lines []string
	for c := range g.conns {
		lines = append(lines, fmt.Sprintf("id=%d addr=%s db=0\n", c.id, c.timer.Conn.RemoteAddr()))
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// sections are the sections of INFO. Without arguments INFO omits the unusual ones.
var sections = []struct {
	name    string
	unusual bool
	text    func(g *Gateway, s *snapshot) string
}{
	{"Server", false, func(g *Gateway, _ *snapshot) string {
		return fmt.Sprintf("redis_version:%s\nredis_mode:standalone\nserver_name:kvlab\nkvlab_engine:%s\nprocess_id:%d\nrun_id:%s\nuptime_in_seconds:%d\n",
			redisVersion, g.options.Engine, os.Getpid(), g.service.Instance(), int(time.Since(g.started).Seconds()))
	}},
	{"Clients", false, func(_ *Gateway, s *snapshot) string {
		return fmt.Sprintf("connected_clients:%d\nblocked_clients:0\n", s.open)
	}},
	{"Memory", false, func(*Gateway, *snapshot) string {
		memory, _ := usage.ResidentBytes() // 0 if the system does not tell
		return fmt.Sprintf("used_memory:%d\nmaxmemory:0\nmaxmemory_policy:noeviction\n", memory)
	}},
	{"Persistence", false, func(*Gateway, *snapshot) string {
		return "loading:0\nrdb_bgsave_in_progress:0\naof_enabled:0\naof_rewrite_in_progress:0\n"
	}},
	{"Stats", false, func(g *Gateway, s *snapshot) string {
		commands := uint64(0)
		for _, n := range s.calls {
			commands += n
		}
		return fmt.Sprintf("total_connections_received:%d\ntotal_commands_processed:%d\nexpired_keys:0\nevicted_keys:0\nkeyspace_hits:%d\nkeyspace_misses:%d\ntotal_error_replies:%d\n",
			g.accepted.Load(), commands, s.hits, s.misses, s.failures)
	}},
	{"Replication", false, func(*Gateway, *snapshot) string { return "role:master\nconnected_slaves:0\n" }},
	{"Commandstats", true, func(g *Gateway, s *snapshot) (text string) {
		for i, row := range g.table {
			if calls, rejected := s.calls[i], s.rejected[i]; calls+rejected > 0 {
				text += fmt.Sprintf("cmdstat_%s:calls=%d,rejected_calls=%d,failed_calls=%d\n", row.stat(), calls, rejected, s.failed[i])
			}
		}
		return text
	}},
	{"Errorstats", false, func(_ *Gateway, s *snapshot) (text string) {
		for _, code := range slices.Sorted(maps.Keys(s.errors)) {
			text += fmt.Sprintf("errorstat_%s:count=%d\n", code, s.errors[code])
		}
		return text
	}},
	{"Cluster", false, func(*Gateway, *snapshot) string { return "cluster_enabled:0\n" }},
	{"Keyspace", false, func(g *Gateway, _ *snapshot) string {
		if keys := g.service.Records(); keys > 0 {
			return fmt.Sprintf("db0:keys=%d,expires=0,avg_ttl=0\n", keys)
		}
		return ""
	}},
}

// info is INFO [section ...].
func info(c *conn, _ *row, args int) {
	c.publish()
	now := c.gateway.snapshot()
	var parts []string
	for _, s := range sections {
		wanted := args == 1 && !s.unusual
		for i := 1; i < args; i++ {
			wanted = wanted || c.is(i, s.name) || c.is(i, "all") || c.is(i, "everything") || c.is(i, "default") && !s.unusual
		}
		if wanted {
			parts = append(parts, strings.ReplaceAll("# "+s.name+"\n"+s.text(c.gateway, now), "\n", "\r\n"))
		}
	}
	c.text(strings.Join(parts, "\r\n"))
}

// settings are the settings that CONFIG GET tells.
var settings = [][2]string{
	{"save", ""}, {"appendonly", "no"}, {"appendfsync", "no"}, {"maxmemory", "0"}, {"maxmemory-policy", "noeviction"}, {"databases", "1"},
}

// config is CONFIG GET pattern ...
func config(c *conn, _ *row, args int) {
	if args < 3 || !c.is(1, "get") {
		c.fail(fmt.Sprintf("ERR unknown subcommand '%.64s'. Only CONFIG GET is known", c.commands.Arg(1)))
		return
	}
	var found [][2]string
	for _, s := range settings {
		for i := 2; i < args; i++ {
			// A pattern that is malformed fits nothing.
			if ok, _ := path.Match(strings.ToLower(string(c.commands.Arg(i))), s[0]); ok {
				found = append(found, s)
				break
			}
		}
	}
	c.pairs(len(found))
	for _, s := range found {
		c.text(s[0])
		c.text(s[1])
	}
}

// command is COMMAND [COUNT | DOCS ...]: it describes none.
func command(c *conn, _ *row, args int) {
	switch {
	case args > 1 && c.is(1, "count"):
		c.integer(len(c.gateway.table))
	case args > 1 && c.is(1, "docs"):
		c.pairs(0)
	default:
		c.array(0)
	}
}

func dbsize(c *conn, _ *row, _ int) { c.integer(c.gateway.service.Records()) }

func cluster(c *conn, _ *row, _ int) {
	c.fail("ERR This instance has cluster support disabled")
}
