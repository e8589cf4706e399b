package trial

import (
	"bytes"
	"io"
	"testing"
	"time"

	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/node"
	"kvlab/metrics"
	"kvlab/metrics/clock"
)

// Each place whose arguments ask for TLS gets a separate certificate from one
// authority. The others get none.
func TestCredentials(t *testing.T) {
	c := new(Controller)
	place := plan.Place{Name: "node0", Role: metrics.Server, Data: "10.10.1.1"}
	if none, err := c.credentials(place, []string{"-node", "node0"}); none != nil || err != nil {
		t.Errorf("without -tls: %v, %v", none, err)
	}
	one, err := c.credentials(place, []string{"-tls"})
	if err != nil {
		t.Fatal(err)
	}
	other, err := c.credentials(place, []string{"-tls=true"})
	if err != nil {
		t.Fatal(err)
	}
	if one.Authority != other.Authority || one.Key == other.Key || one.Certificate == other.Certificate {
		t.Error("two places have one certificate, or two authorities")
	}
	if _, err := one.Config(); err != nil {
		t.Error(err)
	}
}

// Each node receives the same date as a time of its monotonic clock, for any distance
// between the clocks.
func TestEpochs(t *testing.T) {
	const ahead = int64(1000 * time.Second)
	near, far := &pipe{}, &pipe{}
	client := func(name string, in *pipe) *process {
		return &process{Place: plan.Place{Name: name, Role: metrics.Client}, stdin: in}
	}
	c := New(Setup{Timeouts: DefaultTimeouts(), Stderr: io.Discard})
	c.processes = []*process{client("near", near), client("far", far)}
	machine := func(name string, least, most int64) metrics.Machine {
		return metrics.Machine{Nodes: []string{name}, ClockBefore: &metrics.ClockOffset{OffsetS: -1e6, Monotonic: metrics.ClockOffsetBounds{LeastNs: least, MostNs: most}}}
	}
	c.Preflight = &metrics.Preflight{Machines: []metrics.Machine{machine("near", -10, 10), machine("far", ahead-50, ahead+50)}}
	here := clock.New()
	one, other := c.epoch(here, "near"), c.epoch(here, "far")
	if !one.Date.Equal(c.began) || !other.Date.Equal(c.began) || other.MonotonicNS-one.MonotonicNS != ahead {
		t.Errorf("epochs %+v and %+v, want %v and monotonic clocks 1000 s apart", one, other, c.began)
	}
	c.sendAt(c.began.Add(time.Minute), node.Command{Do: node.Go})
	if !bytes.Equal(near.Bytes(), far.Bytes()) || !near.told(t).At.Equal(c.began.Add(time.Minute)) {
		t.Errorf("told %q and %q", near, far)
	}
}
