package loadgen

import (
	"math"
	"testing"

	"kvlab/workload"
)

// The sampled frames are those of the closed formula: a header of 32 bytes; of
// each operation a kind and a key length (2 bytes) and the key; a value behind its
// length there and back; one byte for what a Put stored.
func TestSampleFrames(t *testing.T) {
	const records, digits = 1000, (10*1 + 90*2 + 900*3) / 1000.0 // of the ids 0 to 999
	tests := []struct {
		name                   string
		workload               string
		reads                  float64 // of the operations, those that read
		writes                 float64 // those that carry a value
		value, length, found   int     // bytes: a value, its length in a batch and in a reply
		batch, servers, prefix int
	}{
		{name: "reads only", workload: "YCSB-C", reads: 1, value: 128, length: 2, found: 2, batch: 8192, servers: 1},
		{name: "half writes", workload: "YCSB-A", reads: 0.5, writes: 0.5, value: 100, length: 1, found: 2, batch: 512, servers: 1},
		{name: "one at a time", workload: "YCSB-B", reads: 0.95, writes: 0.05, value: 24, length: 1, found: 1, batch: 1, servers: 1},
		{name: "read-modify-write", workload: "YCSB-F", reads: 1, writes: 0.5, value: 1000, length: 2, found: 2, batch: 64, servers: 1},
		{name: "servers and a prefix", workload: "YCSB-B", reads: 0.95, writes: 0.05, value: 128, length: 2, found: 2, batch: 1024, servers: 3, prefix: 4},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := DefaultConfig()
			c.Workload.Workload, c.Workload.Distribution, c.Workload.Records = test.workload, "uniform", records
			c.Batch, c.ValueSize, c.KeyPrefix = test.batch, test.value, "user"[:test.prefix]
			c.Hosts = make([]string, test.servers)
			for i := range c.Hosts {
				c.Hosts[i] = "host:1"
			}
			f, err := SampleFrames(c)
			if err != nil {
				t.Fatal(err)
			}
			ops := float64(test.batch)
			request := 32 + ops*(2+float64(test.prefix)+digits+test.writes*float64(test.length+test.value))
			reply := 32 + ops*(test.reads*float64(test.found+test.value)+(1-test.reads))
			if f.Ops != ops || math.Abs(f.Request/request-1) > 0.02 || math.Abs(f.Reply/reply-1) > 0.02 {
				t.Errorf("%+v, want %.0f operations in %.1f bytes, and %.1f back", f, ops, request, reply)
			}
		})
	}
}

func TestSampleFramesErrors(t *testing.T) {
	for _, spoil := range []func(*Config){
		func(c *Config) { c.Batch = 0 },
		func(c *Config) { c.Router = "none" },
		func(c *Config) { c.Workload = workload.Config{} },
	} {
		c := DefaultConfig()
		spoil(&c)
		if f, err := SampleFrames(c); err == nil {
			t.Errorf("%+v and no error", f)
		}
	}
}
