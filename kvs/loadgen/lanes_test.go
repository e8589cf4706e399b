package loadgen

import (
	"testing"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/kvs/wire"
	"kvlab/workload"
	"kvlab/workload/size"
)

func TestLanes(t *testing.T) {
	auto := func(c *Config) { c.AutoBatch, c.TargetLatency = true, time.Millisecond }
	tests := []struct {
		name   string
		change func(*Config)
		want   int
	}{
		{"large calls", func(*Config) {}, 64},
		{"one operation", func(c *Config) { c.Batch = 1 }, 4},
		{"one operation, 65 workers", func(c *Config) { c.Batch, c.Workers = 1, 65 }, 5},
		{"one operation, one worker", func(c *Config) { c.Batch, c.Workers = 1, 1 }, 1},
		{"still small", func(c *Config) { c.Batch, c.ValueSize = wire.MaxGroup/128, size.Constant(100) }, 4},
		{"not small", func(c *Config) { c.Batch, c.ValueSize = wire.MaxGroup/128+1, size.Constant(100) }, 64},
		{"one large operation", func(c *Config) { c.Batch, c.ValueSize = 1, size.Constant(kvs.MaxValueLen) }, 64},
		{"auto", auto, 4},
		{"said", func(c *Config) { c.Connections = 5 }, 5},
		{"said, one operation", func(c *Config) { c.Batch, c.Connections = 1, 64 }, 64},
		{"no network", func(c *Config) { c.Transport, c.Batch = driver.InProcess, 1 }, 64},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := DefaultConfig()
			test.change(&c)
			if err := c.Validate(); err != nil {
				t.Fatal(err)
			}
			plan, err := workload.New(c.Workload)
			if err != nil {
				t.Fatal(err)
			}
			if got, use := c.Conns(), c.use(plan, ""); got != test.want || use.Shared != (got < c.Workers) {
				t.Errorf("%d connections, shared %t; want %d", got, use.Shared, test.want)
			}
		})
	}
}
