package loadgen

import (
	"strings"
	"testing"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/kvs/value"
	"kvlab/workload"
	"kvlab/workload/size"
)

// New refuses what Validate refuses: kvs/client's tests have each refusal, where the flags are
// parsed.
func TestNewValidates(t *testing.T) {
	c := DefaultConfig()
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
	c.Workers = 0
	if _, err := New(c); err == nil || err.Error() != c.Validate().Error() {
		t.Errorf("error %v, want %v", err, c.Validate())
	}
}

func TestConfigBorders(t *testing.T) {
	tests := map[string]func(*Config){
		"one of everything":         func(c *Config) { c.Workers, c.Batch, c.Workload.Records, c.WarmUp = 1, 1, 1, 0 },
		"last client":               func(c *Config) { c.Index, c.Clients = maxWorkers-1, maxWorkers },
		"smallest value":            func(c *Config) { c.ValueSize = size.Constant(value.HeaderLen) },
		"largest value":             func(c *Config) { c.ValueSize, c.Batch = size.Constant(kvs.MaxValueLen), 1 },
		"longest prefix":            func(c *Config) { c.KeyPrefix = strings.Repeat("k", kvs.MaxKeyLen-longestID) },
		"in process, without hosts": func(c *Config) { c.Transport, c.Hosts = driver.InProcess, nil },
		"a batch that adapts": func(c *Config) {
			c.AutoBatch, c.TargetLatency, c.ValueSize = true, time.Nanosecond, size.Constant(kvs.MaxValueLen)
		},
		"as many connections as workers": func(c *Config) { c.Connections = c.Workers },
		"seed's batch":                   func(c *Config) { c.Batch = 8092 * 32 },
		"a mix":                          func(c *Config) { c.Workload.Workload, c.Workload.Reads = workload.Mix, 0.7 },
		"no warm-up, a short window":     func(c *Config) { c.WarmUp, c.Window = 0, time.Nanosecond },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			c := DefaultConfig()
			change(&c)
			if err := c.Validate(); err != nil {
				t.Error(err)
			}
		})
	}
}
