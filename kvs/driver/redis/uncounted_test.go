package redis_test

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"kvlab/internal/redistest"
	"kvlab/internal/wiretest"
	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/kvs/driver/drivertest"
	"kvlab/kvs/driver/redis"
	"kvlab/kvs/resp"
)

// A Redis whose counters cannot be compared says what to add, and is measured without them. One
// that hides only its settings is counted.
func TestUncounted(t *testing.T) {
	hidden := redistest.Start(t, "--rename-command", "INFO", "")
	d := open(t, options(redis.Row, hidden.Addr))
	for _, err := range []error{
		func() error { _, _, err := d.Dial(t.Context(), 0, 0); return err }(),
		func() error { _, err := d.(driver.Counter).Counts(t.Context(), 0); return err }(),
	} {
		if err == nil || !strings.Contains(err.Error(), "add ?counts=none to the target") || !strings.Contains(err.Error(), "unknown command") {
			t.Errorf("error %v", err)
		}
	}
	o := options(redis.Row, hidden.Addr)
	o.Settings = map[string]string{"counts": "none"}
	if results, err := drivertest.Do(drivertest.Dial(t, open(t, o), 0), kvs.Op{Kind: kvs.Get, Key: []byte("k")}); err != nil || results[0].Found {
		t.Errorf("%v, %v", results, err)
	}
	o.Settings["counts"] = "some"
	if err := o.Validate(driver.Use{Kinds: kinds}); err == nil || !strings.Contains(err.Error(), "want none, or leave it out") {
		t.Errorf("error %v", err)
	}
	renamed := redistest.Start(t, "--rename-command", "CONFIG", "")
	if c := counts(t, open(t, options(redis.Row, renamed.Addr)), 0); c.Instance == "" || len(c.Settings) != 1 {
		t.Errorf("without CONFIG: %+v", c)
	}
}

// Servers that only resemble Redis 7 answer INFO all as this: an old Redis, KeyDB and Dragonfly.
func TestOldCounts(t *testing.T) {
	for name, c := range map[string]struct {
		info, want string // an error
	}{
		"Redis 6":   {"# Server\r\nrun_id:x\r\nredis_version:6.0.16\r\nrole:master\r\nkeyspace_hits:5\r\nkeyspace_misses:1\r\ncmdstat_get:calls=6,usec=9\r\ncmdstat_config:calls=7,usec=1\r\ncmdstat_incr:calls=2,usec=1\r\n", ""},
		"KeyDB":     {"# Server\r\nrun_id:x\r\nredis_version:6.3.4\r\nrole:active-replica\r\nkeyspace_hits:5\r\nkeyspace_misses:1\r\ncmdstat_get:calls=7,usec=9,usec_per_call=1,rejected_calls=3,failed_calls=1\r\ncmdstat_config:calls=7\r\ncmdstat_incr:calls=2\r\n", ""},
		"Dragonfly": {"# Server\r\nredis_version:6.2.11\r\ndragonfly_version:df-v1.21\r\nrole:master\r\nkeyspace_hits:5\r\ncmdstat_get:calls=6\r\n", "INFO has no run_id"},
		"a proxy":   {"# Server\r\nrun_id:x\r\nredis_version:7.0.0\r\nkeyspace_hits:5\r\n", "INFO has no cmdstat_"},
	} {
		t.Run(name, func(t *testing.T) {
			server := wiretest.Start(t, func(conn net.Conn) { answerInfo(conn, c.info) })
			got, err := open(t, options(redis.Row, server.Addr().String())).(driver.Counter).Counts(t.Context(), 0)
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "counts=none") {
					t.Errorf("error %v, want %q", err, c.want)
				}
				return
			}
			if err != nil || got.Counts.Gets != 6 || got.Others["INCR"] != 2 || got.Beside["CONFIG"] != 7 {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

// answerInfo answers INFO with a text, and other commands with an error.
func answerInfo(conn net.Conn, text string) {
	in := resp.Commands{Limits: resp.Limits{Args: 16, Bulk: 1 << 10, Size: 1 << 12}}
	for {
		args, err := in.Next()
		switch {
		case err != nil:
			return
		case args == 0:
			if in.Read(conn) != nil {
				return
			}
		case string(in.Arg(0)) == "INFO":
			fmt.Fprintf(conn, "$%d\r\n%s\r\n", len(text), text)
		default:
			fmt.Fprintf(conn, "-ERR no %s\r\n", in.Arg(0))
		}
	}
}
