package claim

import (
	"math"
	"testing"
	"time"

	"kvlab/metrics"
)

func TestRate(t *testing.T) {
	for _, test := range []struct {
		role          metrics.Role
		pattern, line string
		want          float64 // negative: none
	}{
		{metrics.Client, "", "throughput 8970.25 ops/s", 8970.25},
		{metrics.Client, "", "  throughput 8.97k ops/s ", 8970},
		{metrics.Client, "", "throughput 8.97 kop/s", 8970},
		{metrics.Client, "", "throughput: 1,234,567", 1234567},
		{metrics.Client, "", "throughput 2.5e+06 ops/s", 2.5e6},
		{metrics.Client, "", "node0 median 1234 op/s", 1234},
		{metrics.Client, "", "my throughput 5", -1},
		{metrics.Client, "done ([0-9.]+)", "all done 3.5 Mops/s", 3.5e6},
		{metrics.Client, "done ([0-9.]+)", "all done 100 GETs", 100},
		{metrics.Client, "done ([0-9.]+)", "all done 1.2.3", -1},
		{metrics.Server, "", "ops/s 12.5", 12.5},
		{metrics.Server, "", "get/s 12.5", -1},
	} {
		got, ok := NewReader(test.role, test.pattern).Rate(test.line)
		if !ok {
			got = -1
		}
		if math.Abs(got-test.want) > 1e-6 {
			t.Errorf("%q in %q: %v, want %v", test.pattern, test.line, got, test.want)
		}
	}
}

// The last line of a client counts. What a server's lines add up to is no less than what it did,
// even where a line comes late.
func TestClaimed(t *testing.T) {
	client := NewReader(metrics.Client, "")
	for _, line := range []string{"throughput 5", "hello", "throughput 7 ops/s"} {
		client.Add(line, 0)
	}
	if c := client.Claimed(); c.OpsPerS != 7 || c.Lines != 2 || c.Line != "throughput 7 ops/s" || c.Most != 0 {
		t.Errorf("%+v", c)
	}
	server := NewReader(metrics.Server, "")
	for i, line := range []string{"ops/s 0", "ops/s 100", "get/s 90", "ops/s 200", "ops/s 50"} {
		server.Add(line, []time.Duration{0, 1000, 1000, 2900, 3000}[i]*time.Millisecond)
	}
	c := server.Claimed()
	if did := uint64(100 + 200 + 50); c.Lines != 4 || c.OpsPerS != 87.5 || c.Ops != 100+380+5 || c.Most < did || c.Most != 200+380+20+20 {
		t.Errorf("%+v", c)
	}
}

// A server with transactions tells its commits and aborts, by either of the course's words. Its
// operations, if it tells them, stay what they are.
func TestTransactions(t *testing.T) {
	for _, test := range []struct {
		lines           []string
		commits, aborts float64
		ops             float64
		counted         int
	}{
		{[]string{"commit/s 10", "abort/s 2", "", "commit/s 30.5", "abort/s 4"}, 20.25, 3, 20.25, 2},
		{[]string{"commits/s 10.00", "aborts/s 5.00", "ops/s 15.00"}, 10, 5, 15, 1},
		{[]string{"aborts/s (retries) 7", "aborts/s (error) 8", "aborts/s 3", "ops/s 9", "commits/s 1"}, 1, 3, 9, 1},
		{[]string{"recommit/s 5", "Total: 5 commit/s"}, 0, 0, 0, 0},
	} {
		server := NewReader(metrics.Server, "")
		for i, line := range test.lines {
			server.Add(line, time.Duration(i)*time.Second)
		}
		c := server.Claimed()
		if n, _ := server.Lines(); c.CommitsPerS != test.commits || c.AbortsPerS != test.aborts || c.OpsPerS != test.ops || c.Lines != test.counted || n != test.counted {
			t.Errorf("%q: %+v", test.lines, c)
		}
	}
}
