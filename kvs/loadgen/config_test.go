package loadgen

import (
	"slices"
	"strings"
	"testing"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/kvs/value"
	"kvlab/workload"
	"kvlab/workload/size"
)

func TestDefaultConfig(t *testing.T) {
	if err := DefaultConfig().Validate(); err != nil {
		t.Error(err)
	}
}

// Every error names the flag at fault, and New returns it too.
func TestConfigErrors(t *testing.T) {
	tests := []struct {
		want   string
		change func(*Config)
	}{
		{"-transport \"udp\": want one of tcp, inproc", func(c *Config) { c.Transport = "udp" }},
		{"-clients 0: want 1 to 65536", func(c *Config) { c.Clients = 0 }},
		{"-clients 65537: want 1 to 65536", func(c *Config) { c.Clients = maxWorkers + 1 }},
		{"-client -1: want 0 to 0, one less than -clients", func(c *Config) { c.Index = -1 }},
		{"-client 3: want 0 to 2, one less than -clients", func(c *Config) { c.Index, c.Clients = 3, 3 }},
		{"-workers 0: want 1 to 65536", func(c *Config) { c.Workers = 0 }},
		{"-batch 0: want", func(c *Config) { c.Batch = 0 }},
		{"-batch -5: want", func(c *Config) { c.Batch = -5 }},
		{"-target-latency 1ms: want it only with -batch auto", func(c *Config) { c.TargetLatency = time.Millisecond }},
		{"-target-latency 0s: want more than 0", func(c *Config) { c.AutoBatch = true }},
		{"-target-latency -1ms: want more than 0", func(c *Config) { c.AutoBatch, c.TargetLatency = true, -time.Millisecond }},
		{"-batch: want at most 0 operations: with -value-size 1048576 and 100 servers", func(c *Config) {
			c.AutoBatch, c.TargetLatency, c.ValueSize, c.Hosts = true, time.Millisecond, size.Constant(kvs.MaxValueLen), slices.Repeat([]string{"a:1"}, 100)
		}},
		{"-connections 65: want 1 to 64 (-workers), or 0", func(c *Config) { c.Connections = 65 }},
		{"-connections -1: want", func(c *Config) { c.Connections = -1 }},
		{"-socket-buffer -1: want", func(c *Config) { c.SocketBuffer = -1 }},
		{"-value-size 23: want 24", func(c *Config) { c.ValueSize = size.Constant(value.HeaderLen - 1) }},
		{"-value-size 1048577: want", func(c *Config) { c.ValueSize = size.Constant(kvs.MaxValueLen + 1) }},
		{"-key-prefix", func(c *Config) { c.KeyPrefix = strings.Repeat("k", kvs.MaxKeyLen-longestID+1) }},
		{"-verify -1: want full", func(c *Config) { c.Verify = -1 }},
		{"-warmup -1s: want 0", func(c *Config) { c.WarmUp = -time.Second }},
		{"-secs 0s: want more than 0", func(c *Config) { c.Window = 0 }},
		{"-secs -1s: want more than 0", func(c *Config) { c.Window = -time.Second }},
		{"-inflight 0: want 1 to 64", func(c *Config) { c.InFlight = 0 }},
		{"-inflight 65: want 1 to 64", func(c *Config) { c.InFlight = maxInFlight + 1 }},
		{"-crc: -codec gob does not support it", func(c *Config) { c.Codec, c.CRC = "gob", true }},
		{"-codec \"json\"", func(c *Config) { c.Codec = "json" }},
		{"-router \"rendezvous\"", func(c *Config) { c.Router = "rendezvous" }},
		{"-engine \"redis\"", func(c *Config) { c.Transport, c.Engine = driver.InProcess, "redis" }},
		{"-hosts", func(c *Config) { c.Hosts = nil }},
		{"-hosts", func(c *Config) { c.Hosts = []string{"a:1", ""} }},
		{"-theta 0", func(c *Config) { c.Workload.Theta = 0 }},
		{"-records 0", func(c *Config) { c.Workload.Records = 0 }},
		{"-workload \"YCSB-Z\"", func(c *Config) { c.Workload.Workload = "YCSB-Z" }},
		{"-reads", func(c *Config) { c.Workload.Reads = 0.5 }},
		// All of a round may go to one server, whose reply must fit a frame.
		{"-batch: want at most 63 operations: with -value-size 1048576", func(c *Config) { c.Batch, c.ValueSize = 64, size.Constant(kvs.MaxValueLen) }},
		{"-batch: want at most 31 operations: with -value-size 1048576 and 2 servers", func(c *Config) {
			c.Batch, c.ValueSize, c.Hosts = 40, size.Constant(kvs.MaxValueLen), []string{"a:1", "b:1"}
		}},
	}
	for _, test := range tests {
		t.Run(test.want, func(t *testing.T) {
			c := DefaultConfig()
			test.change(&c)
			if _, err := New(c); err == nil || !strings.HasPrefix(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want it to begin with %q", err, test.want)
			}
		})
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
