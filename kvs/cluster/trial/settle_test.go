package trial

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/node"
	"kvlab/metrics"
	"kvlab/metrics/account"
)

// pipe keeps the commands to a process.
type pipe struct{ bytes.Buffer }

func (*pipe) Close() error { return nil }

// told returns the last command.
func (p *pipe) told(t *testing.T) (c node.Command) {
	t.Helper()
	for decoder := json.NewDecoder(&p.Buffer); ; {
		err := decoder.Decode(&c)
		if err == io.EOF {
			return c
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// warmUp reports a client's seconds of warm-up, and a short rest of one.
func (m *process) warmUp(rates ...float64) {
	for _, rate := range rates {
		m.keepRecord(&metrics.Record{Interval: &metrics.Interval{Phase: metrics.WarmUp, LengthS: 1, Counts: metrics.Counts{Gets: uint64(rate)}}})
	}
	m.keepRecord(&metrics.Record{Interval: &metrics.Interval{Phase: metrics.WarmUp, LengthS: 0.1, Counts: metrics.Counts{Gets: 1}}})
}

// The clients' seconds are added up, and the same is decided for all.
func TestSettle(t *testing.T) {
	rising, falling, flat := []float64{1, 100, 110, 120, 130}, []float64{1, 130, 120, 110, 100}, []float64{1, 100, 100, 100, 100}
	for _, test := range []struct {
		name          string
		first, second []float64 // of the two clients
		extend        bool
		more          []float64 // of both, in the extension
		stamp         string    // how the test's text begins; "" for no test
	}{
		{"flat", flat, flat, false, nil, "stationary: the last 4 s"},
		{"flat together", rising, falling, false, nil, "stationary: the last 4 s"},
		{"settles", rising, flat, true, []float64{130, 130, 130, 130, 130}, "stationary: the last 5 s"},
		{"does not settle", rising, rising, true, []float64{140, 150, 160, 170, 180}, "NON-STATIONARY: the last 5 s"},
		{"too short", rising[:4], rising[:4], false, nil, ""},
		{"one second is missing", rising, flat[:4], false, nil, ""},
		{"nothing yet", nil, flat, false, nil, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := New(Setup{})
			pipes := []*pipe{{}, {}}
			for i, p := range pipes {
				place := plan.Place{Name: fmt.Sprint(i), Role: metrics.Client}
				log, err := openNodeLog(Folder(t.TempDir()), place, false)
				if err != nil {
					t.Fatal(err)
				}
				defer log.close()
				c.processes = append(c.processes, &process{Place: place, log: log, stdin: p, phase: metrics.WarmUp})
			}
			c.enter(metrics.WarmUp)
			a, b := c.processes[0], c.processes[1]
			a.warmUp(test.first...)
			b.warmUp(test.second...)
			if f := c.settle(a, 0); f != nil || pipes[0].Len() > 0 {
				t.Fatalf("%v: one client alone was answered", f)
			}
			if f := c.settle(b, 0); f != nil {
				t.Fatal(f)
			}
			for i, p := range pipes {
				if told := p.told(t); told.Do != node.Settle || told.Extend != test.extend {
					t.Errorf("client %d was told %+v, want extend %v", i, told, test.extend)
				}
			}
			a.warmUp(test.more...)
			b.warmUp(test.more...)
			c.enter(metrics.Window)
			run := metrics.Run{Nodes: []metrics.RunNode{{Role: metrics.Client}, {Role: metrics.Client}}}
			account.Fill(&run, reportsOf(c.processes), false)
			if found := run.WarmUp; (found == nil) != (test.stamp == "") || found != nil && !strings.HasPrefix(found.String(), test.stamp) {
				t.Errorf("%v, want %q", found, test.stamp)
			}
			if run.WarmUp != nil && run.WarmUp.Extended != test.extend {
				t.Errorf("extended is %v", run.WarmUp.Extended)
			}
			if f := c.settle(a, 0); f == nil || !strings.Contains(f.Reason, "out of turn") {
				t.Errorf("asking twice: %v", f)
			}
		})
	}
}

// A server has no warm-up.
// A longer window fits 12 rounds, in an experiment half as many more for its other trials.
// The window of an experiment stays while it has 10.
func TestWindowOfAnExperiment(t *testing.T) {
	for _, test := range []struct{ window, round, want time.Duration }{
		{0, 100 * time.Millisecond, 2 * time.Second}, {0, time.Second, 12 * time.Second},
		{2 * time.Second, 200 * time.Millisecond, 2 * time.Second}, {2 * time.Second, time.Second, 18 * time.Second},
		{18 * time.Second, 1800 * time.Millisecond, 18 * time.Second}, {18 * time.Second, 2 * time.Second, 36 * time.Second},
		{2 * time.Second, 9 * time.Second, metrics.LongestWindow},
	} {
		c := New(Setup{Window: test.window})
		c.processes = []*process{{Place: plan.Place{Role: metrics.Client}, round: test.round, Reported: account.Reported{Config: &metrics.Config{Flags: metrics.Settings{"secs": "2"}}}}}
		if f := c.fitWindow(); f != nil || c.opening.length != test.want {
			t.Errorf("%+v: %v, %v", test, c.opening.length, f)
		}
	}
}

func TestSettleOutOfTurn(t *testing.T) {
	c := New(Setup{})
	for _, m := range []*process{
		{Place: plan.Place{Role: metrics.Server}, phase: metrics.WarmUp},
		{Place: plan.Place{Role: metrics.Client}, phase: metrics.Load},
	} {
		if f := c.settle(m, 0); f == nil || m.warm {
			t.Errorf("a %s in %s was heard", m.Role, m.phase)
		}
	}
	if got := account.WarmUpRates(nil); got != nil {
		t.Errorf("rates %v without clients", got)
	}
}

// The seconds in which a client looks for its peak are not held against it.
func TestUnsettledSeconds(t *testing.T) {
	for _, test := range []struct {
		rate, warmUp string
		want         int
	}{{"", "5", 1}, {"200000", "5", 1}, {"70%", "5", 3}, {"70%", "20", 11}, {"70%", "", 1}} {
		m := &process{Reported: account.Reported{Config: &metrics.Config{Flags: map[string]string{"rate": test.rate, "warmup": test.warmUp}}}}
		if got := m.unsettled(); got != test.want {
			t.Errorf("-rate %q -warmup %q: %d seconds, want %d", test.rate, test.warmUp, got, test.want)
		}
	}
	if got := (&process{}).unsettled(); got != 1 {
		t.Errorf("without a configuration: %d seconds, want 1", got)
	}
}
