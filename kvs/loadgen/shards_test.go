package loadgen

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"kvlab/kvs/wire"
)

// Servers refuse the second of two clients that place keys differently: by the order of
// -hosts, by the router, or by the workload of the balanced router's table.
func TestClientsAgreeOnShards(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*Config)
		agree  bool
	}{
		{"alike", func(*Config) {}, true},
		{"another seed", func(c *Config) { c.Workload.Seed++ }, true},
		{"another order", func(c *Config) { slices.Reverse(c.Hosts) }, false},
		{"one server fewer", func(c *Config) { c.Hosts = c.Hosts[:1] }, false},
		{"another router", func(c *Config) { c.Router = "fnv" }, false},
		{"another theta", func(c *Config) { c.Workload.Theta = 0.5 }, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := small()
			c.Router, c.Clients = "balanced", 2
			_, c.Hosts = newStores(t, 2, c.Codec)
			connected(t, c)
			other := c
			other.Index, other.Node, other.Hosts = 1, "other", slices.Clone(c.Hosts)
			test.change(&other)
			g, err := New(other)
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			err = within(t, "Connect", func() error { return g.Connect(context.Background()) })
			if test.agree && err != nil || !test.agree && (!errors.Is(err, wire.ErrRefused) || !strings.Contains(err.Error(), "client other expects server")) {
				t.Errorf("error %v, agreed %t", err, test.agree)
			}
		})
	}
}
